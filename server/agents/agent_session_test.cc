#include "server/agents/agent_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "base/log.h"
#include "formats/api_version.h"
#include "formats/kernel_folder.h"
#include "server/agents/agent_limits.h"
#include "server/store/fake_stores.h"
#include "server/store/faulty_stores.h"
#include "server/test_folder.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

// What the daemon sent to one agent.
class Outbox {
 public:
  AgentSession::Send Send() {
    return [this](v1::AttachResponse message) {
      std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
      changed_.notify_all();
    };
  }
  v1::AttachResponse Next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !messages_.empty(); });
    v1::AttachResponse message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<v1::AttachResponse> messages_;
};

class AgentSessionTest : public ::testing::Test {
 protected:
  AgentSessionTest() {
    folder_.WriteKernel("copy");
    const auto kernel = LoadKernelFolder(folder_ / "kernels/copy");
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    files_.name = "copy";
    files_.fingerprint = std::string(64, 'a');
    files_.dimensions = kernel->spec.dimensions;
    files_.source =
        std::make_shared<const v1::KernelSource>(KernelSourceOf(*kernel));
    items_ = {{{16, 4}, {.extents = {64, 128}}},
              {{32, 8}, {.extents = {64, 128}}}};
  }

  static v1::AttachRequest Hello(int32_t api_version = kApiVersion,
                                 const std::string& uuid = "CPU-1") {
    v1::AttachRequest message;
    v1::AgentHello* const hello = message.mutable_hello();
    hello->set_api_version(api_version);
    hello->set_agent_name("node1/42");
    v1::DeviceFacts* const device = hello->add_devices();
    device->set_uuid(uuid);
    device->set_label("a CPU");
    device->set_backend("opencl");
    device->set_multiprocessors(4);
    return message;
  }

  static v1::AttachRequest SampleOf(uint64_t batch_id, int index,
                                    double latency_us) {
    v1::AttachRequest message;
    message.mutable_sample()->set_batch_id(batch_id);
    message.mutable_sample()->set_index(index);
    message.mutable_sample()->mutable_sample()->set_latency_us(latency_us);
    return message;
  }

  static v1::AttachRequest StateOf(const std::string& busy) {
    v1::AttachRequest message;
    message.mutable_state()->set_device_uuid("CPU-1");
    message.mutable_state()->mutable_state()->set_busy(busy);
    message.mutable_state()->mutable_state()->set_sm_clock_mhz(1980);
    return message;
  }

  static v1::AttachRequest Done(uint64_t batch_id,
                                const std::string& error = "",
                                bool cancelled = false) {
    v1::AttachRequest message;
    message.mutable_done()->set_batch_id(batch_id);
    message.mutable_done()->set_error(error);
    message.mutable_done()->set_cancelled(cancelled);
    return message;
  }

  std::unique_ptr<AgentSession> Session(Outbox& outbox,
                                        double heartbeat_timeout_s = 30) {
    return std::make_unique<AgentSession>(
        &directory_,
        AgentSession::Options{"1.0", heartbeat_timeout_s, /*idle_grace_s=*/0},
        outbox.Send(), [this](const absl::Status& status) {
          std::lock_guard lock(mutex_);
          ended_ = status;
        });
  }

  // Measures items_ on another thread; outcomes are described in outcomes_.
  std::future<absl::Status> MeasureAsync(bool go_on = true) {
    return std::async(std::launch::async, [this, go_on] {
      const auto executor = directory_.Find("CPU-1", 5);
      if (executor == nullptr) return absl::InternalError("no executor");
      return executor->Measure(
          files_, items_, if_busy_,
          [&](const MeasurementExecutor::Outcome& outcome) {
            std::lock_guard lock(mutex_);
            outcomes_.push_back(
                outcome.sample != nullptr
                    ? absl::StrCat(outcome.index, ": ",
                                   outcome.sample->latency_us)
                    : absl::StrCat(outcome.index, ": ", outcome.failure,
                                   outcome.exclude ? " (excluded)" : ""));
            return go_on;
          });
    });
  }

  TestFolder folder_;
  KernelFiles files_;
  std::vector<MeasureItem> items_;
  FakeDeviceStore store_;
  FaultyDeviceStore faulty_store_{&store_};
  FakeClock clock_;
  AgentDirectory directory_{&faulty_store_, &clock_};
  Outbox outbox_;
  std::mutex mutex_;
  std::vector<std::string> outcomes_;
  MeasurementExecutor::IfBusy if_busy_ = MeasurementExecutor::IfBusy::kYield;
  absl::Status ended_;
};

TEST_F(AgentSessionTest, GreetsAndAttachesTheDevices) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  EXPECT_EQ(outbox_.Next().hello().api_version(), kApiVersion);
  EXPECT_THAT(directory_.Attached(), ElementsAre("CPU-1"));
  EXPECT_EQ(store_.List()->size(), 1u);
  session->OnClosed("test");
  EXPECT_TRUE(directory_.Attached().empty());
  EXPECT_EQ(directory_.List().size(), 1u);  // Known, not attached.
}

TEST_F(AgentSessionTest, DevicesThatAFullStoreRefusedAreStoredLater) {
  faulty_store_.writes().Fail(absl::ResourceExhaustedError("disk full"));
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  directory_.SaveDevices();
  EXPECT_TRUE(store_.List()->empty());
  faulty_store_.writes().Heal();
  directory_.SaveDevices();
  EXPECT_EQ(store_.List()->size(), 1u);
  session->OnClosed("test");
}

// What a work queue would do later.
class LaterWork {
 public:
  AgentDirectory::Later Later() {
    return [this](std::function<void()> work) {
      waiting_.push_back(std::move(work));
    };
  }
  size_t waiting() const { return waiting_.size(); }
  void DoAll() {
    for (const auto& work : std::exchange(waiting_, {})) work();
  }

 private:
  std::vector<std::function<void()>> waiting_;
};

v1::AttachRequest FactsReport(v1::DeviceFacts facts, double power_limit_w) {
  v1::AttachRequest message;
  facts.set_power_limit_w(power_limit_w);
  message.mutable_device()->set_device_uuid(facts.uuid());
  *message.mutable_device()->mutable_facts() = std::move(facts);
  return message;
}

TEST_F(AgentSessionTest, OneWriteWaitsForADeviceHoweverOftenItIsReported) {
  LaterWork later;
  AgentDirectory directory(&store_, &clock_, later.Later());
  AgentSession session(&directory, {"1.0"}, outbox_.Send(),
                       [](const absl::Status&) {});
  ASSERT_TRUE(session.OnMessage(Hello()).ok());
  for (int i = 1; i <= 50; ++i) {
    ASSERT_TRUE(
        session.OnMessage(FactsReport(Hello().hello().devices(0), i)).ok());
  }
  EXPECT_EQ(later.waiting(), 1U);
  later.DoAll();
  ASSERT_EQ(store_.List()->size(), 1U);
  EXPECT_EQ(store_.List()->front().facts.power_limit_w, 50);
  ASSERT_TRUE(
      session.OnMessage(FactsReport(Hello().hello().devices(0), 7)).ok());
  later.DoAll();
  EXPECT_EQ(store_.List()->front().facts.power_limit_w, 7);
  // What has not changed need not be written.
  ASSERT_TRUE(
      session.OnMessage(FactsReport(Hello().hello().devices(0), 7)).ok());
  EXPECT_EQ(later.waiting(), 0U);
  session.OnClosed("test");
  later.DoAll();
}

TEST_F(AgentSessionTest, AnAgentThatReportsDevicesWithoutEndIsEnded) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  double watts = 0;
  const auto report = [&] {
    return session->OnMessage(FactsReport(Hello().hello().devices(0), ++watts));
  };
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < DeviceReportsAllowed(1); ++i) {
      ASSERT_TRUE(report().ok()) << i;
    }
    clock_.Advance(kDeviceReportsS);
  }
  clock_.Advance(-3600);  // Set back.
  for (size_t i = 0; i < DeviceReportsAllowed(1); ++i) {
    ASSERT_TRUE(report().ok()) << i;
  }
  const absl::Status refused = report();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("more than 80 reports of 1 devices in 10 s"));
  session->OnClosed("test");
}

TEST_F(AgentSessionTest, ReportsOfADeviceAreAFewLinesInTheLog) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  FlushLog();  // What other tests said is no repeat.
  ::testing::internal::CaptureStderr();
  for (int i = 1; i <= 60; ++i) {
    v1::AttachRequest message = FactsReport(Hello().hello().devices(0), i);
    message.mutable_device()->set_problem(i % 2 == 1 ? "fell off the bus" : "");
    ASSERT_TRUE(session->OnMessage(message).ok());
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("device CPU-1 is now"));
  EXPECT_THAT(log, HasSubstr("device CPU-1: fell off the bus"));
  EXPECT_THAT(log, HasSubstr("device CPU-1: usable again"));
  EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 4);
  session->OnClosed("test");
}

TEST_F(AgentSessionTest, WorksWithAMinorVersionMoreOrLess) {
  auto session = Session(outbox_);
  EXPECT_TRUE(session->OnMessage(Hello(kApiVersion + 1)).ok());
}

TEST_F(AgentSessionTest, RefusesAnotherApiVersionAndSaysWhatToUpgrade) {
  for (const auto& [version, older] :
       std::vector<std::pair<int32_t, std::string>>{
           {kApiVersion + 1000, "upgrade the daemon"},
           {kApiVersion + 2, "upgrade the daemon"},
           {0, "upgrade the agent"}}) {
    auto session = Session(outbox_);
    const absl::Status status = session->OnMessage(Hello(version));
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(older));
  }
  EXPECT_TRUE(directory_.Attached().empty());
}

TEST_F(AgentSessionTest, ABrokenReferenceIsNoDeviceThatWentAway) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  std::future<absl::Status> measured = MeasureAsync();
  v1::AttachRequest done = Done(outbox_.Next().measure().batch_id(),
                                "the reference kernel is broken: no entry");
  done.mutable_done()->set_kernel_broken(true);
  ASSERT_TRUE(session->OnMessage(done).ok());
  const absl::Status status = measured.get();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the reference kernel is broken"));
  session->OnClosed("test");
}

TEST_F(AgentSessionTest, RefusesMessagesBeforeTheHello) {
  auto session = Session(outbox_);
  EXPECT_TRUE(absl::IsInvalidArgument(session->OnMessage(Done(1))));
}

TEST_F(AgentSessionTest, RefusesASecondAgentForADevice) {
  auto first = Session(outbox_);
  ASSERT_TRUE(first->OnMessage(Hello()).ok());
  Outbox other;
  auto second = Session(other);
  const absl::Status status = second->OnMessage(Hello());
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(status.message(),
              HasSubstr("held by another agent, node1/42 (host:process id)"));
  second->OnClosed("refused");
  EXPECT_THAT(directory_.Attached(), ElementsAre("CPU-1"));
}

TEST_F(AgentSessionTest, AnAgentThatHangsLosesItsDevice) {
  auto hung = Session(outbox_, /*heartbeat_timeout_s=*/0);
  ASSERT_TRUE(hung->OnMessage(Hello()).ok());
  Outbox other;
  auto second = Session(other);
  EXPECT_TRUE(second->OnMessage(Hello()).ok());
  EXPECT_TRUE(absl::IsUnavailable(ended_));
  hung->OnClosed("late");
  EXPECT_THAT(directory_.Attached(), ElementsAre("CPU-1"));
}

TEST_F(AgentSessionTest, AnAgentThatHasHungIsNoDeviceToUse) {
  auto session = Session(outbox_, /*heartbeat_timeout_s=*/0);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  EXPECT_THAT(directory_.Attached(), IsEmpty());
  EXPECT_EQ(directory_.Find("CPU-1", 0), nullptr);
  EXPECT_TRUE(absl::IsUnavailable(ended_));
  EXPECT_THAT(directory_.WhyUnusable("CPU-1"),
              HasSubstr("agent node1/42 has sent nothing for more than 0 s"));
  EXPECT_GT(directory_.List().front().silent_s, 0);
  session->OnClosed("silent");
  EXPECT_EQ(directory_.WhyUnusable("CPU-1"), "");
  EXPECT_EQ(directory_.List().front().silent_s, 0);
}

TEST_F(AgentSessionTest, AnAgentThatSpeaksAgainTooLateMustAttachAnew) {
  auto session = Session(outbox_, /*heartbeat_timeout_s=*/0);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  ASSERT_EQ(directory_.Find("CPU-1", 0), nullptr);
  v1::AttachRequest heartbeat;
  heartbeat.mutable_heartbeat();
  ASSERT_TRUE(session->OnMessage(heartbeat).ok());
  EXPECT_EQ(directory_.Find("CPU-1", 0), nullptr);
  session->OnClosed("silent");
  auto again = Session(outbox_);
  ASSERT_TRUE(again->OnMessage(Hello()).ok());
  EXPECT_NE(directory_.Find("CPU-1", 0), nullptr);
}

TEST_F(AgentSessionTest, TellsTheEnvironmentsFaultFromTheCandidates) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  std::vector<std::string> prepared;
  auto result = std::async(std::launch::async, [&] {
    return directory_.Find("CPU-1", 5)
        ->Prepare(files_, "", {{16, 4}, {32, 8}}, {}, if_busy_,
                  [&](const MeasurementExecutor::Preparation& one) {
                    prepared.push_back(
                        absl::StrCat(one.candidate.excluded_reason,
                                     one.environment ? " (host)" : ""));
                    return true;
                  });
  });
  const uint64_t id = outbox_.Next().prepare().batch_id();
  v1::AttachRequest report;
  report.mutable_candidate()->set_batch_id(id);
  report.mutable_candidate()->set_excluded_reason("out of memory");
  report.mutable_candidate()->set_environment(true);
  ASSERT_TRUE(session->OnMessage(report).ok());
  report.mutable_candidate()->set_index(1);
  report.mutable_candidate()->set_excluded_reason("crashed");
  report.mutable_candidate()->set_environment(false);
  ASSERT_TRUE(session->OnMessage(report).ok());
  ASSERT_TRUE(session->OnMessage(Done(id)).ok());
  EXPECT_TRUE(result.get().ok());
  EXPECT_THAT(prepared, ElementsAre("out of memory (host)", "crashed"));
}

TEST_F(AgentSessionTest, HandsABatchOverAndItsOutcomesBack) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  auto result = MeasureAsync();
  const v1::AttachResponse request = outbox_.Next();
  ASSERT_TRUE(request.has_measure());
  const v1::MeasureBatch& batch = request.measure();
  EXPECT_EQ(batch.device_uuid(), "CPU-1");
  EXPECT_EQ(batch.kernel().fingerprint(), files_.fingerprint);
  ASSERT_EQ(batch.requests_size(), 2);
  EXPECT_EQ(batch.requests(0).problem().extents(1).dimension(), "k");
  const uint64_t id = batch.batch_id();
  // Reports of other batches and unknown items are nobody's.
  ASSERT_TRUE(session->OnMessage(SampleOf(id + 1, 0, 7)).ok());
  ASSERT_TRUE(session->OnMessage(SampleOf(id, 9, 7)).ok());
  ASSERT_TRUE(session->OnMessage(SampleOf(id, 1, 12.5)).ok());
  v1::AttachRequest failure;
  failure.mutable_failure()->set_batch_id(id);
  failure.mutable_failure()->set_reason("hung");
  failure.mutable_failure()->set_exclude_candidate(true);
  ASSERT_TRUE(session->OnMessage(failure).ok());
  ASSERT_TRUE(session->OnMessage(Done(id)).ok());
  EXPECT_TRUE(result.get().ok());
  EXPECT_THAT(outcomes_, ElementsAre("1: 12.5", "0: hung (excluded)"));
  directory_.Find("CPU-1", 0)->AcknowledgeStored(1);
  const v1::AttachResponse stored = outbox_.Next();
  EXPECT_EQ(stored.stored().batch_id(), id);
  EXPECT_EQ(stored.stored().count(), 1);
}

TEST_F(AgentSessionTest, ALatencyThatMakesNoSenseIsAFailure) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  auto result = MeasureAsync();
  const uint64_t id = outbox_.Next().measure().batch_id();
  ASSERT_TRUE(session->OnMessage(SampleOf(id, 0, -3)).ok());
  ASSERT_TRUE(session->OnMessage(Done(id)).ok());
  EXPECT_TRUE(result.get().ok());
  EXPECT_THAT(outcomes_, ElementsAre(HasSubstr("latency of -3")));
}

TEST_F(AgentSessionTest, CancelsABatchAndKeepsWhatStillComes) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  auto result = MeasureAsync(/*go_on=*/false);
  const uint64_t id = outbox_.Next().measure().batch_id();
  ASSERT_TRUE(session->OnMessage(SampleOf(id, 0, 5)).ok());
  EXPECT_EQ(outbox_.Next().cancel().batch_id(), id);
  ASSERT_TRUE(session->OnMessage(SampleOf(id, 1, 6)).ok());
  ASSERT_TRUE(session->OnMessage(Done(id, "cancelled", true)).ok());
  EXPECT_TRUE(absl::IsCancelled(result.get()));
  EXPECT_THAT(outcomes_, ElementsAre("0: 5", "1: 6"));
}

TEST_F(AgentSessionTest, ABatchEndsWhenTheStreamDoes) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  auto result = MeasureAsync();
  const uint64_t id = outbox_.Next().measure().batch_id();
  ASSERT_TRUE(session->OnMessage(SampleOf(id, 0, 5)).ok());
  session->OnClosed("connection reset");
  const absl::Status status = result.get();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(status.message(), HasSubstr("connection reset"));
  EXPECT_THAT(outcomes_, ElementsAre("0: 5"));
}

TEST_F(AgentSessionTest, ALostDeviceIsUnusableUntilItIsBack) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  auto result = MeasureAsync();
  outbox_.Next();
  v1::AttachRequest report;
  report.mutable_device()->set_device_uuid("CPU-1");
  report.mutable_device()->set_problem("fell off the bus");
  ASSERT_TRUE(session->OnMessage(report).ok());
  EXPECT_THAT(std::string(result.get().message()),
              HasSubstr("fell off the bus"));
  EXPECT_EQ(directory_.Find("CPU-1", 0), nullptr);
  EXPECT_EQ(directory_.List()[0].problem, "fell off the bus");
  report.mutable_device()->clear_problem();
  ASSERT_TRUE(session->OnMessage(report).ok());
  EXPECT_NE(directory_.Find("CPU-1", 0), nullptr);
}

TEST_F(AgentSessionTest, ADeviceThatIsLostIsToldOnceAnAgentThatIsGoneIsNot) {
  using Kind = AgentDirectory::Change::Kind;
  std::vector<std::pair<Kind, std::string>> told;
  v1::AttachRequest report;
  report.mutable_device()->set_device_uuid("CPU-1");
  const auto tell = [&](AgentSession& session, const std::string& problem) {
    report.mutable_device()->set_problem(problem);
    ASSERT_TRUE(session.OnMessage(report).ok());
  };
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  directory_.SetListener([&](const AgentDirectory::Change& change) {
    told.emplace_back(change.kind, change.why);
  });
  tell(*session, "fell off the bus");
  tell(*session, "fell off the bus, again");
  tell(*session, "");
  tell(*session, "must be reset");
  session->OnClosed("it ends");
  auto second = Session(outbox_);
  ASSERT_TRUE(second->OnMessage(Hello()).ok());
  tell(*second, "must be reset");
  EXPECT_THAT(
      told, ElementsAre(
                Pair(Kind::kLost, "fell off the bus"), Pair(Kind::kUsable, ""),
                Pair(Kind::kLost, "must be reset"), Pair(Kind::kDetached, ""),
                Pair(Kind::kAttached, ""), Pair(Kind::kLost, "must be reset")));
  second->OnClosed("it ends");
  directory_.SetListener([](const AgentDirectory::Change&) {});
}

TEST_F(AgentSessionTest, WhatWentWrongWhenAnAgentLookedIsKeptWhileItIsThere) {
  v1::AttachRequest report;
  report.mutable_problems()->add_lines("cuda: 802");
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  ASSERT_TRUE(session->OnMessage(report).ok());
  EXPECT_THAT(directory_.AgentProblems(), ElementsAre("cuda: 802"));
  report.mutable_problems()->clear_lines();
  for (size_t i = 0; i < kMaxAgentProblems + 4; ++i) {
    report.mutable_problems()->add_lines(absl::StrCat("GPU ", i));
  }
  report.mutable_problems()->set_lines(0, std::string(1 << 20, 'x'));
  ASSERT_TRUE(session->OnMessage(report).ok());
  EXPECT_THAT(directory_.AgentProblems(), SizeIs(kMaxAgentProblems));
  EXPECT_LE(directory_.AgentProblems().back().size(), kMaxReasonBytes + 64);
  session->OnClosed("it ends");
  EXPECT_THAT(directory_.AgentProblems(), IsEmpty());
}

TEST_F(AgentSessionTest, ABatchThatTheAgentCannotRunIsUnavailable) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  auto result = MeasureAsync();
  const uint64_t id = outbox_.Next().measure().batch_id();
  ASSERT_TRUE(session->OnMessage(Done(id, "the worker cannot start")).ok());
  const absl::Status status = result.get();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(status.message(), HasSubstr("cannot start"));
}

TEST_F(AgentSessionTest, ShowsWhatADeviceDoes) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  EXPECT_FALSE(directory_.List().at(0).state.has_value());
  ASSERT_TRUE(session->OnMessage(StateOf("busy with 2 others")).ok());
  EXPECT_EQ(directory_.List().at(0).state->sm_clock_mhz, 1980);
  const auto executor = directory_.Find("CPU-1", 0);
  EXPECT_EQ(executor->AwaitIdle(0), "busy with 2 others");
  ASSERT_TRUE(session->OnMessage(StateOf("")).ok());
  EXPECT_EQ(executor->AwaitIdle(0), "");
  ASSERT_TRUE(session->OnMessage(StateOf("busy")).ok());
  session->OnClosed("test");
  EXPECT_EQ(executor->AwaitIdle(0), "");  // Nothing to wait for.
}

TEST_F(AgentSessionTest, OthersMustHaveLeftForAWhile) {
  auto session = std::make_unique<AgentSession>(
      &directory_,
      AgentSession::Options{.program_version = "1.0", .idle_grace_s = 1e6},
      outbox_.Send(), [](const absl::Status&) {});
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  const auto executor = directory_.Find("CPU-1", 0);
  ASSERT_TRUE(session->OnMessage(StateOf("")).ok());
  EXPECT_EQ(executor->AwaitIdle(0), "");  // Nobody was there.
  ASSERT_TRUE(session->OnMessage(StateOf("busy")).ok());
  ASSERT_TRUE(session->OnMessage(StateOf("")).ok());
  EXPECT_EQ(executor->AwaitIdle(0), "busy");
}

TEST_F(AgentSessionTest, ABatchYieldsWhenOthersBeginToUseTheDevice) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  auto result = MeasureAsync();
  const uint64_t id = outbox_.Next().measure().batch_id();
  ASSERT_TRUE(session->OnMessage(SampleOf(id, 0, 7)).ok());
  ASSERT_TRUE(session->OnMessage(StateOf("busy with 2 others")).ok());
  EXPECT_EQ(outbox_.Next().cancel().batch_id(), id);
  ASSERT_TRUE(session->OnMessage(Done(id, "cancelled", true)).ok());
  const absl::Status status = result.get();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(status.message(), "busy with 2 others");
  EXPECT_THAT(outcomes_, ElementsAre("0: 7"));
}

TEST_F(AgentSessionTest, ABatchThatMeasuresEvenIfBusyDoesNotYield) {
  if_busy_ = MeasurementExecutor::IfBusy::kGoOn;
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  ASSERT_TRUE(session->OnMessage(StateOf("busy")).ok());
  auto result = MeasureAsync();
  const uint64_t id = outbox_.Next().measure().batch_id();
  ASSERT_TRUE(session->OnMessage(SampleOf(id, 0, 7)).ok());
  ASSERT_TRUE(session->OnMessage(SampleOf(id, 1, 8)).ok());
  ASSERT_TRUE(session->OnMessage(Done(id)).ok());
  EXPECT_TRUE(result.get().ok());
}

TEST_F(AgentSessionTest, AHotDeviceEndsItsBatchEvenIfBusyAndIsTold) {
  v1::AttachRequest hot = StateOf("");
  hot.mutable_state()->mutable_state()->set_throttle_reasons(0x40);
  hot.mutable_state()->mutable_state()->set_temperature_c(86);
  std::vector<std::string> told;
  directory_.SetListener([&](const AgentDirectory::Change& change) {
    if (change.kind == AgentDirectory::Change::Kind::kHot) {
      told.push_back(change.device.uuid);
    }
  });
  if_busy_ = MeasurementExecutor::IfBusy::kGoOn;
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  auto result = MeasureAsync();
  const uint64_t id = outbox_.Next().measure().batch_id();
  for (size_t look = 0; look < DeviceHealth::kHotLooks + 2; ++look) {
    ASSERT_TRUE(session->OnMessage(hot).ok());
  }
  EXPECT_EQ(outbox_.Next().cancel().batch_id(), id);
  ASSERT_TRUE(session->OnMessage(Done(id, "cancelled", true)).ok());
  const absl::Status status = result.get();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("it is hot: 86 °C, hardware thermal slowdown"));
  EXPECT_THAT(told, ElementsAre("CPU-1"));
  EXPECT_THAT(directory_.List().at(0).left_out, HasSubstr("it is hot"));
  session->OnClosed("it ends");
  directory_.SetListener([](const AgentDirectory::Change&) {});
}

TEST_F(AgentSessionTest, ADeviceThatDeviatesFromItsClassIsToldOnce) {
  using Kind = AgentDirectory::Change::Kind;
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  std::vector<Kind> told;
  directory_.SetListener([&](const AgentDirectory::Change& change) {
    told.push_back(change.kind);
  });
  directory_.SetClassRatio("CPU-1", {.ratio = 1.2, .pairs = 16});
  directory_.SetClassRatio("CPU-1", {.ratio = 1.2, .pairs = 16});
  EXPECT_THAT(directory_.List().at(0).left_out, HasSubstr("1.200 times"));
  directory_.SetClassRatio("CPU-1", {.ratio = 1.01, .pairs = 16});
  EXPECT_EQ(directory_.List().at(0).left_out, "");
  EXPECT_EQ(directory_.List().at(0).class_ratio, 1.01);
  // One that could not be compared is not left out: the next job tries again.
  directory_.SetClassRatio("CPU-1", {.ratio = 1, .pairs = 3});
  directory_.SetClassRatio("CPU-1", {.ratio = 1, .pairs = 0});
  EXPECT_EQ(directory_.List().at(0).left_out, "");
  EXPECT_THAT(directory_.List().at(0).unrated, HasSubstr("0 measurements"));
  EXPECT_EQ(directory_.List().at(0).class_ratio, 1.01);
  directory_.SetClassRatio("CPU-1", {.ratio = 1.01, .pairs = 16});
  EXPECT_EQ(directory_.List().at(0).unrated, "");
  EXPECT_THAT(told, ElementsAre(Kind::kSlow, Kind::kUsable, Kind::kUnrated,
                                Kind::kUsable));
  session->OnClosed("it ends");
  directory_.SetListener([](const AgentDirectory::Change&) {});
}

TEST_F(AgentSessionTest, AnotherPowerLimitIsAnotherEnvironment) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  const std::string before = EnvironmentKey(*directory_.Facts("CPU-1"));
  v1::AttachRequest message;
  message.mutable_device()->set_device_uuid("CPU-1");
  *message.mutable_device()->mutable_facts() = Hello().hello().devices(0);
  message.mutable_device()->mutable_facts()->set_power_limit_w(300);
  ASSERT_TRUE(session->OnMessage(message).ok());
  EXPECT_EQ(directory_.Find("CPU-1", 0)->device().power_limit_w, 300);
  EXPECT_NE(EnvironmentKey(*directory_.Facts("CPU-1")), before);
  EXPECT_EQ(store_.List()->at(0).facts.power_limit_w, 300);
}

TEST_F(AgentSessionTest, MoreReportsThanABatchHasItemsEndTheStream) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  auto result = MeasureAsync();
  const uint64_t id = outbox_.Next().measure().batch_id();
  absl::Status status;
  int reports = 0;
  for (; status.ok() && reports < 100000; ++reports) {
    status = session->OnMessage(SampleOf(id, 0, 7 + reports));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("agent node1/42 reports more"));
  EXPECT_LE(reports, 2 * 2 + 16 + 1);
  session->OnClosed("it was refused");
  EXPECT_TRUE(absl::IsUnavailable(result.get()));
  EXPECT_THAT(outcomes_, ElementsAre("0: 7"));  // The first one counts.
}

TEST_F(AgentSessionTest, LongReasonsAreCut) {
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  outbox_.Next();
  auto result = MeasureAsync();
  const uint64_t id = outbox_.Next().measure().batch_id();
  v1::AttachRequest failure;
  failure.mutable_failure()->set_batch_id(id);
  failure.mutable_failure()->set_index(0);
  failure.mutable_failure()->set_reason(std::string(200000, 'r'));
  ASSERT_TRUE(session->OnMessage(failure).ok());
  ASSERT_TRUE(session->OnMessage(Done(id, std::string(200000, 'e'))).ok());
  EXPECT_LT(result.get().message().size(), kMaxReasonBytes + 100);
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_LT(outcomes_[0].size(), kMaxReasonBytes + 100);
  EXPECT_THAT(outcomes_[0], HasSubstr("rrr ... (195904 bytes more)"));
  v1::AttachRequest problem;
  problem.mutable_device()->set_device_uuid("CPU-1");
  problem.mutable_device()->set_problem(std::string(200000, 'p'));
  ASSERT_TRUE(session->OnMessage(problem).ok());
  EXPECT_LT(directory_.List()[0].problem.size(), kMaxReasonBytes + 100);
}

TEST_F(AgentSessionTest, AnAgentBringsSoManyDevices) {
  auto session = Session(outbox_);
  v1::AttachRequest hello = Hello();
  for (size_t i = 0; i < kMaxAttachedDevices; ++i) {
    *hello.mutable_hello()->add_devices() = hello.hello().devices(0);
    hello.mutable_hello()->mutable_devices()->rbegin()->set_uuid(
        absl::StrCat("GPU-", i));
  }
  const absl::Status status = session->OnMessage(hello);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("has 129 devices"));
  EXPECT_TRUE(directory_.Attached().empty());
  // In two streams it is the same.
  hello.mutable_hello()->mutable_devices()->RemoveLast();
  ASSERT_TRUE(session->OnMessage(hello).ok());
  Outbox other;
  auto second = Session(other);
  EXPECT_TRUE(absl::IsResourceExhausted(
      second->OnMessage(Hello(kApiVersion, "GPU-more"))));
}

TEST_F(AgentSessionTest, FactsOfAnyLengthAreRefused) {
  auto session = Session(outbox_);
  EXPECT_TRUE(absl::IsResourceExhausted(
      session->OnMessage(Hello(kApiVersion, std::string(257, 'u')))));
  v1::AttachRequest hello = Hello();
  hello.mutable_hello()->mutable_devices(0)->set_label(std::string(9000, 'l'));
  EXPECT_TRUE(absl::IsResourceExhausted(session->OnMessage(hello)));
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  v1::AttachRequest changed;
  changed.mutable_device()->set_device_uuid("CPU-1");
  *changed.mutable_device()->mutable_facts() = hello.hello().devices(0);
  EXPECT_TRUE(absl::IsResourceExhausted(session->OnMessage(changed)));
  EXPECT_EQ(directory_.Facts("CPU-1")->label, "a CPU");
}

TEST_F(AgentSessionTest, TheDeviceSeenLongestAgoMakesRoom) {
  for (size_t i = 0; i < kMaxSeenDevices; ++i) {
    DeviceRecord record;
    record.facts.uuid = absl::StrCat("GPU-", i);
    record.last_seen_us = static_cast<int64_t>(i == 7 ? 1 : 1000 + i);
    ASSERT_TRUE(store_.Put(record).ok());
  }
  ASSERT_TRUE(directory_.Load().ok());
  auto session = Session(outbox_);
  ASSERT_TRUE(session->OnMessage(Hello()).ok());
  EXPECT_EQ(directory_.List().size(), kMaxSeenDevices);
  EXPECT_EQ(store_.List()->size(), kMaxSeenDevices);
  EXPECT_TRUE(absl::IsNotFound(directory_.Facts("GPU-7").status()));
  EXPECT_TRUE(directory_.Facts("CPU-1").ok());
}

// What a batch says of its kernel: "a", or "(a)" where it only names it.
std::string KernelOf(const v1::MeasureBatch& batch) {
  const v1::KernelSource& kernel = batch.kernel();
  if (kernel.has_spec()) return kernel.fingerprint();
  EXPECT_EQ(kernel.files_size(), 0);
  return absl::StrCat("(", kernel.fingerprint(), ")");
}

class KeptKernelsTest : public AgentSessionTest {
 protected:
  void Attach(int kept_kernels) {
    v1::AttachRequest hello = Hello();
    hello.mutable_hello()->set_kept_kernels(kept_kernels);
    session_ = Session(outbox_);
    ASSERT_TRUE(session_->OnMessage(hello).ok());
    outbox_.Next();
  }

  // Measures with a kernel that the agent does not know so many times.
  absl::Status Measure(const std::string& fingerprint, int unknown = 0) {
    files_.fingerprint = fingerprint;
    std::future<absl::Status> result = MeasureAsync();
    for (int i = 0; i < std::min(unknown + 1, 2); ++i) {
      const v1::AttachResponse request = outbox_.Next();
      EXPECT_EQ(request.measure().requests_size(), 2);
      sent_.push_back(KernelOf(request.measure()));
      const uint64_t id = request.measure().batch_id();
      v1::AttachRequest done = Done(id);
      if (i < unknown) {
        done = Done(id, "not kept");
        done.mutable_done()->set_kernel_unknown(true);
      } else {
        EXPECT_TRUE(session_->OnMessage(SampleOf(id, 0, 7)).ok());
      }
      EXPECT_TRUE(session_->OnMessage(done).ok());
    }
    return result.get();
  }

  std::unique_ptr<AgentSession> session_;
  std::vector<std::string> sent_;
};

TEST_F(KeptKernelsTest, AnAgentThatKeepsKernelsGetsEachOnce) {
  Attach(8);
  for (const char* kernel : {"a", "a", "b", "a", "b"}) {
    EXPECT_TRUE(Measure(kernel).ok());
  }
  EXPECT_THAT(sent_, ElementsAre("a", "(a)", "b", "(a)", "(b)"));
}

TEST_F(KeptKernelsTest, AnAgentOfAnEarlierReleaseGetsEachWithEveryBatch) {
  Attach(0);
  EXPECT_TRUE(Measure("a").ok());
  EXPECT_TRUE(Measure("a").ok());
  EXPECT_THAT(sent_, ElementsAre("a", "a"));
}

TEST_F(KeptKernelsTest, WhatTheAgentNoLongerKeepsIsSentAgain) {
  Attach(2);
  for (const char* kernel : {"a", "b", "a", "c", "a", "b"}) {
    EXPECT_TRUE(Measure(kernel).ok());
  }
  EXPECT_THAT(sent_, ElementsAre("a", "b", "(a)", "c", "(a)", "b"));
}

TEST_F(KeptKernelsTest, ANewStreamBeginsWithNone) {
  Attach(8);
  EXPECT_TRUE(Measure("a").ok());
  session_->OnClosed("test");
  Attach(8);
  EXPECT_TRUE(Measure("a").ok());
  EXPECT_THAT(sent_, ElementsAre("a", "a"));
}

TEST_F(KeptKernelsTest, AnUnknownKernelIsSentWholeAtOnce) {
  Attach(8);
  EXPECT_TRUE(Measure("a").ok());
  outcomes_.clear();
  EXPECT_TRUE(Measure("a", /*unknown=*/1).ok());
  EXPECT_THAT(sent_, ElementsAre("a", "(a)", "a"));
  EXPECT_THAT(outcomes_, ElementsAre("0: 7"));
  EXPECT_TRUE(Measure("a").ok());
  EXPECT_EQ(sent_.back(), "(a)");
}

TEST_F(KeptKernelsTest, AnAgentThatKnowsNoKernelIsNotAskedForEver) {
  Attach(8);
  EXPECT_TRUE(Measure("a").ok());
  const absl::Status status = Measure("a", /*unknown=*/2);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(status.message(), "not kept");
  EXPECT_THAT(sent_, ElementsAre("a", "(a)", "a"));
}

TEST_F(AgentSessionTest, ADeviceThatComesWithAnotherDriverIsToldOf) {
  std::vector<std::string> changes;
  directory_.SetListener([&](const AgentDirectory::Change& change) {
    using Kind = AgentDirectory::Change::Kind;
    changes.push_back(absl::StrCat(change.kind == Kind::kAttached ? "attached "
                                   : change.kind == Kind::kDetached
                                       ? "detached "
                                       : "changed ",
                                   change.device.driver));
  });
  v1::AttachRequest hello = Hello();
  hello.mutable_hello()->mutable_devices(0)->set_driver("580");
  {
    Outbox outbox;
    const auto session = Session(outbox);
    ASSERT_TRUE(session->OnMessage(hello).ok());
    session->OnClosed("it ends");
  }
  EXPECT_THAT(changes, ElementsAre("attached 580", "detached 580"));
  hello.mutable_hello()->mutable_devices(0)->set_driver("590");
  Outbox outbox;
  const auto session = Session(outbox);
  ASSERT_TRUE(session->OnMessage(hello).ok());
  EXPECT_THAT(changes, ElementsAre("attached 580", "detached 580",
                                   "attached 590", "changed 590"));
  session->OnClosed("it ends");
  directory_.SetListener([](const AgentDirectory::Change&) {});
}

}  // namespace
}  // namespace wavetune
