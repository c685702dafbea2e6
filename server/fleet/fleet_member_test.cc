// A daemon's jobs in a fleet: a real queue, made-up devices, a registry in
// memory.
#include "server/fleet/fleet_member.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "server/fleet/fake_fleet_registry.h"
#include "server/fleet/fleet_test_support.h"
#include "server/jobs/job_queue_fixture.h"
#include "server/store/fake_fleet_head_store.h"

namespace wavetune::testing {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::SizeIs;

// One that does not answer what nodes are asked for.
class Registry : public FakeFleetRegistry {
 public:
  using FakeFleetRegistry::FakeFleetRegistry;
  absl::StatusOr<int64_t> Read(absl::string_view prefix,
                               const FleetBounds& bounds,
                               const Taker& take) override {
    if (silent_ && absl::StartsWith(prefix, "usage/"))
      return absl::UnavailableError("etcd does not answer");
    return FakeFleetRegistry::Read(prefix, bounds, take);
  }
  std::atomic<bool> silent_ = false;
};

class FleetMemberTest : public JobQueueFixture {
 protected:
  FleetMemberTest() {
    spec_serving_.serves = ServedLinear{.m = 0, .n = 1, .k = 2};
    kernels_.Add(spec_serving_);
    EXPECT_TRUE(known_devices_.Load().ok());
    Start();
  }
  void TearDown() override { Stop(); }

  // A daemon that starts.
  void Start() {
    JobServices services = Services();
    services.used_problems = [this](const std::string& kernel,
                                    const std::string& silicon_key) {
      return usage_.Problems(kernel, silicon_key);
    };
    services.workload_problems = [this](const KernelSpec& spec) {
      return workloads_.Problems(spec);
    };
    services.await_turn = [this](JobControl* job,
                                 const JobServices::OthersWait& others_wait) {
      return member_->Await(job, others_wait);
    };
    services.job_changed = [this](const JobRecord& job) {
      member_->OnJob(job);
    };
    queue_ = std::make_unique<JobQueue>(std::move(services));
    member_ = std::make_unique<FleetMember>(FleetMember::Options{
        .membership = {.registry = &registry_,
                       .name = "/wavetune/",
                       .node = "b",
                       .trust = FleetTrust::Parse(
                                    TestSigningKey(1).public_key() + " *\n")
                                    .value(),
                       .key = std::make_shared<SigningKey>(TestSigningKey(1))},
        .tables = &tables_,
        .devices = &known_devices_,
        .kernels = &kernels_,
        .admission = &admission_,
        .accepted = &accepted_,
        .jobs = queue_.get(),
        .usage = &usage_,
        .workloads = &workloads_,
        .events = &events_,
        .clock = &clock_,
        .log = [](bool, const std::string&) {}});
    EXPECT_TRUE(member_->Start().ok());
    EXPECT_TRUE(queue_->Start().ok());
  }
  void Stop() {
    member_->Stop();
    queue_ = nullptr;
    member_ = nullptr;
    registry_.Connect();
  }
  // Another node of the silicon tells what it is asked for.
  void TellOfAnotherNode() {
    UsageLedger usage(nullptr, &clock_, {}, Warn());
    usage.Add({.kernel = spec_.name,
               .silicon_key = silicon_,
               .counts = {.fitted = 5000},
               .problems = {{asked_, 5000, 0}}});
    WorkloadCatalog workloads(nullptr, &clock_, "0");
    ASSERT_TRUE(workloads
                    .Add({.name = "model",
                          .config = R"({"architectures": ["LlamaForCausalLM"],
                      "hidden_size": 96, "intermediate_size": 128,
                      "num_hidden_layers": 2, "num_attention_heads": 4,
                      "vocab_size": 256})",
                          .max_tokens = 3},
                         "0")
                    .ok());
    FakeFleetRegistry registry(&fleet_);
    FleetDemand other(
        {.registry = &registry,
         .usage = &usage,
         .workloads = &workloads,
         .clock = &clock_,
         .fleet = "/wavetune/",
         .node = "a",
         .trust =
             FleetTrust::Parse(TestSigningKey(1).public_key() + " *\n").value(),
         .key = std::make_shared<SigningKey>(TestSigningKey(1)),
         .silicon = [&] { return std::set<std::string>{silicon_}; },
         .first_within = std::chrono::seconds(0)});
    other.Look();
  }
  size_t SamplesWith(int64_t k) {
    const SampleSet all = samples_.Load(job_.key, job_.generation).value();
    return static_cast<size_t>(std::count_if(
        all.samples.begin(), all.samples.end(), [&](const SampleRecord& one) {
          return one.sample.problem.extents[2] == k;
        }));
  }

  KernelSpec spec_serving_ = JobTestSpec();
  const std::string silicon_ = SiliconKey(H200());
  const Problem asked_{.extents = {48, 640, 320}};
  FakeFleet fleet_;
  Registry registry_{&fleet_};
  AgentDirectory known_devices_{&devices_, &clock_};
  TableAdmission admission_{&known_devices_, &kernels_, &samples_, &clock_};
  FakeFleetHeadStore accepted_;
  UsageLedger usage_{nullptr, &clock_, {}, Warn()};
  WorkloadCatalog workloads_{nullptr, &clock_, "0"};
  EventJournal events_{nullptr, &clock_, [](const std::function<void()>&) {},
                       [](const EventRecord&) {}};
  std::unique_ptr<FleetMember> member_;
  JobRecord job_;
};

TEST_F(FleetMemberTest, AProfileIsWeighedByWhatAnotherNodeIsAskedFor) {
  TellOfAnotherNode();
  job_ = Run(*queue_);
  EXPECT_EQ(job_.state, JobState::kSucceeded) << job_.message;
  EXPECT_THAT(job_.used_problems,
              Contains(Field(&WeightedProblem::problem, asked_)));
  EXPECT_EQ(job_.fleet_demand, (FleetDemandCounts{.nodes = 1, .workloads = 1}));
  EXPECT_GT(job_.workload_problem_count, 0);
  EXPECT_GT(SamplesWith(320), 0u);
  EXPECT_GT(SamplesWith(96), 0u);  // The model's hidden size.
}

TEST_F(FleetMemberTest, WhereTheRegistryIsAwayThisNodeAloneCounts) {
  TellOfAnotherNode();
  registry_.silent_ = true;
  job_ = Run(*queue_);
  EXPECT_EQ(job_.state, JobState::kSucceeded) << job_.message;
  EXPECT_EQ(job_.fleet_demand, std::nullopt);
  EXPECT_THAT(job_.used_problems, SizeIs(0));
}

TEST_F(FleetMemberTest, ASpotCheckThatDisagreesIsAnEventOfTheTable) {
  JobRecord check{.kernel = spec_.name,
                  .device_uuid = device_.device().uuid,
                  .options = {.verify_digest = "d"},
                  .state = JobState::kFailed,
                  .message = "slower",
                  .drift = DriftReport{.action = DriftAction::kUndecided}};
  member_->OnJob(check);  // It could not judge.
  check.drift->action = DriftAction::kProfile;
  member_->OnJob(check);
  const std::vector<EventRecord> told = events_.List({}, 10).value();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].kind, EventKind::kSpotCheckDisagrees);
  EXPECT_EQ(told[0].digest, "d");
}

TEST_F(FleetMemberTest, AJobGoesOnWithWhatItBeganWith) {
  TellOfAnotherNode();
  JobRecord record{.kernel = spec_.name,
                   .device_uuid = device_.device().uuid,
                   .key = {spec_.name, "f", silicon_, EnvironmentKey(H200())}};
  record.id = 1;
  record.generation = 1;
  const auto demand = [&] {
    JobControl control(record, &job_store_, Warn());
    return member_->Await(&control, [] { return false; })->demand;
  };
  const auto first = demand();
  ASSERT_TRUE(first);
  record.fleet_demand = first->counts;
  EXPECT_FALSE(demand());
}

}  // namespace
}  // namespace wavetune::testing
