// How news of tables reaches tuners, and what is refused on the way.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/atomic_file.h"
#include "base/digest.h"
#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/tiny_table.h"
#include "wavetune/client.h"

namespace wavetune {
namespace {

using Kind = ClientEvent::Kind;
using testing::FakeNode;
using ::testing::HasSubstr;
using testing::Serve;
using testing::TinyTable;

// Polls; false after far more than anything here takes.
bool Eventually(const std::function<bool()>& condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// TinyTable with a prediction of its own, so with a digest of its own.
Table ServedDelta(double delta) {
  Table table = TinyTable();
  table.sub_tables[0].groups[0].models[0].segments[0].coefficients.delta =
      delta;
  return table;
}

class ClientWatchTest : public ::testing::Test {
 protected:
  ClientWatchTest() { node_.Promote(first_); }

  std::unique_ptr<Client> Connect(double timeout_s = 2) {
    return Client::Connect({.endpoint = node_.endpoint(),
                            .cache_dir = node_.cache_dir(),
                            .timeout_s = timeout_s})
        .value();
  }
  // A client whose watch runs, with a tuner of `add`.
  Tuner Start(const TunerOptions& options = {.prepares_on_demand = true}) {
    client_ = Connect();
    Tuner tuner = client_->GetTuner("add", options).value();
    EXPECT_TRUE(Eventually([&] { return client_->watching(); }));
    return tuner;
  }

  bool HasRefusal(const std::string& why) const {
    for (const ClientEvent& event : client_->events()) {
      if (event.kind == Kind::kRefused &&
          event.reason.ToString().find(why) != std::string::npos)
        return true;
    }
    return false;
  }
  // What the daemon serves next is refused, and the first table stays.
  void ExpectRefused(const FetchedTable& table, const std::string& why) {
    const Tuner tuner = Start();
    node_.Promote(table);
    EXPECT_TRUE(Eventually([&] { return HasRefusal(why); }))
        << client_->last_problem();
    EXPECT_EQ(tuner.digest(), first_.info.digest());
    EXPECT_FALSE(tuner.staged());
    // And the client is none the worse for it.
    node_.Damage("");
    node_.Promote(second_);
    EXPECT_TRUE(
        Eventually([&] { return tuner.digest() == second_.info.digest(); }));
  }

  const FetchedTable first_ = Serve(ServedDelta(2), "GPU-1", 1);
  const FetchedTable second_ = Serve(ServedDelta(3), "GPU-1", 2);
  const FetchedTable third_ = Serve(ServedDelta(4), "GPU-1", 3);
  FakeNode node_;
  std::unique_ptr<Client> client_;
};

TEST_F(ClientWatchTest, ANewTableTakesOverInEveryCopyOfTheTuner) {
  const Tuner tuner = Start();
  const Tuner copy = tuner;
  node_.Promote(second_);
  EXPECT_TRUE(
      Eventually([&] { return copy.digest() == second_.info.digest(); }));
  EXPECT_EQ(tuner.Resolve({1000}).latency_us, 4);
  EXPECT_EQ(tuner.Resolve({1000}).origin, TableOrigin::kDaemon);
  EXPECT_EQ(client_->events().back().kind, Kind::kActivated);
  node_.Stop();
  EXPECT_EQ(Connect()->GetTuner("add")->digest(), second_.info.digest())
      << "it was cached";
}

TEST_F(ClientWatchTest, ANewTableWaitsForWhatTheApplicationPrepares) {
  Tuner tuner = Start({});
  node_.Promote(second_);
  ASSERT_TRUE(Eventually([&] { return tuner.staged().has_value(); }));
  EXPECT_EQ(tuner.staged()->digest, second_.info.digest());
  EXPECT_EQ(tuner.digest(), first_.info.digest());
  tuner.SetPrepared(tuner.staged()->configurations);
  EXPECT_EQ(tuner.digest(), second_.info.digest());
}

TEST_F(ClientWatchTest, AStepTakesOverInAllTuners) {
  Tuner tuner = Start({.activation = ActivationPolicy::kStepBoundary});
  const Tuner other =
      client_->GetTuner("add", {.activation = ActivationPolicy::kStepBoundary})
          .value();
  EXPECT_EQ(client_->StepBoundary(), 0);
  node_.Promote(second_);
  ASSERT_TRUE(Eventually([&] { return tuner.staged() && other.staged(); }));
  EXPECT_EQ(client_->StepBoundary(), 2);
  EXPECT_EQ(other.digest(), second_.info.digest());
}

TEST_F(ClientWatchTest, ARetiredTableIsStagedNoLongerButGoesOnDeciding) {
  const Tuner tuner = Start({});
  node_.Promote(second_);
  ASSERT_TRUE(Eventually([&] { return tuner.staged().has_value(); }));
  node_.Retire(second_.info.digest());
  EXPECT_TRUE(Eventually([&] { return !tuner.staged(); }));
  EXPECT_EQ(tuner.digest(), first_.info.digest());
}

TEST_F(ClientWatchTest, APinnedTunerHearsNothing) {
  const Tuner pinned =
      Connect()->GetTuner("add", {.digest = first_.info.digest()}).value();
  EXPECT_EQ(pinned.activation(), ActivationPolicy::kPinned);
  const Tuner other = Start();
  const Tuner pinned_too =
      client_->GetTuner("add", {.activation = ActivationPolicy::kPinned})
          .value();
  node_.Promote(second_);
  ASSERT_TRUE(
      Eventually([&] { return other.digest() == second_.info.digest(); }));
  EXPECT_EQ(pinned.digest(), first_.info.digest());
  EXPECT_EQ(pinned_too.digest(), first_.info.digest());
}

TEST_F(ClientWatchTest, HearsThatItsTableBecameStaleAndCurrentAgain) {
  const Tuner tuner = Start();
  const Tuner pinned =
      client_->GetTuner("add", {.digest = first_.info.digest()}).value();
  EXPECT_FALSE(tuner.stale());
  const std::string why = "driver \"1\", now \"2\"";
  node_.Remark(first_.info.digest(), why);
  ASSERT_TRUE(Eventually([&] { return tuner.stale() && pinned.stale(); }));
  EXPECT_EQ(tuner.stale_reason(), why);
  EXPECT_EQ(pinned.stale_reason(), why);
  EXPECT_EQ(tuner.Resolve({1000}).source, DecisionSource::kStale);
  EXPECT_EQ(client_->events().back().kind, Kind::kStale);
  EXPECT_THAT(std::string(client_->last_problem().message()), HasSubstr(why));
  node_.Remark(first_.info.digest(), "");
  EXPECT_TRUE(Eventually([&] { return !tuner.stale() && !pinned.stale(); }));
  EXPECT_EQ(tuner.Resolve({1000}).source, DecisionSource::kFitted);
}

TEST_F(ClientWatchTest, ACutWatchGoesOnWhereItStopped) {
  const Tuner tuner = Start();
  node_.CutWatches();
  ASSERT_TRUE(Eventually([&] { return node_.watch_requests().size() > 1; }));
  EXPECT_EQ(node_.watch_requests().back().store_id(), "store-1");
  EXPECT_EQ(node_.watch_requests().back().from_revision(), 1U);
  node_.Promote(second_);
  EXPECT_TRUE(
      Eventually([&] { return tuner.digest() == second_.info.digest(); }));
}

TEST_F(ClientWatchTest, HearsOfWhatWasPromotedWhileTheDaemonWasAway) {
  const Tuner tuner = Start();
  node_.Stop();
  ASSERT_TRUE(Eventually([&] { return !client_->watching(); }));
  EXPECT_EQ(client_->events().back().kind, Kind::kDisconnected);
  EXPECT_EQ(tuner.Resolve({1000}).latency_us, 3) << "decides all the same";
  node_.Promote(second_);
  node_.Start();
  EXPECT_TRUE(
      Eventually([&] { return tuner.digest() == second_.info.digest(); }));
  EXPECT_TRUE(Eventually([&] { return client_->watching(); }));
}

TEST_F(ClientWatchTest, AnotherStoreMeansEverythingAnew) {
  const Tuner tuner = Start();
  node_.Stop();
  node_.Promote(second_);
  node_.Start(/*new_store=*/true);
  EXPECT_TRUE(
      Eventually([&] { return tuner.digest() == second_.info.digest(); }));
  node_.Promote(third_);
  EXPECT_TRUE(
      Eventually([&] { return tuner.digest() == third_.info.digest(); }));
}

TEST_F(ClientWatchTest, AResyncBringsWhatServesNow) {
  const Tuner tuner = Start({});
  node_.Resync();
  node_.Promote(second_);
  EXPECT_TRUE(Eventually([&] { return tuner.staged().has_value(); }));
}

TEST_F(ClientWatchTest, TheFirstTableOfAKernelReachesATunerOfDefaults) {
  node_.Retire(first_.info.digest());
  node_.AddKernel(testing::AddKernelStatus());
  Tuner tuner = Start({});
  EXPECT_EQ(tuner.Resolve({1000}).origin, TableOrigin::kDefaults);
  node_.Promote(second_);
  EXPECT_TRUE(Eventually([&] { return tuner.staged().has_value(); }))
      << client_->last_problem();
  EXPECT_TRUE(tuner.Activate(second_.info.digest()).ok());
  EXPECT_EQ(tuner.Resolve({1000}).latency_us, 4);
}

TEST_F(ClientWatchTest, ATableThatIsNotItsDigestIsRefused) {
  const Tuner tuner = Start();
  node_.Damage(Serve(ServedDelta(9)).payload);
  node_.Promote(second_);
  EXPECT_TRUE(Eventually([&] { return HasRefusal("announced was"); }));
  EXPECT_EQ(tuner.digest(), first_.info.digest());
}

TEST_F(ClientWatchTest, ATruncatedTableIsRefused) {
  FetchedTable damaged = second_;
  damaged.payload.resize(damaged.payload.size() / 2);
  ExpectRefused(damaged, "DATA_LOSS");
}

TEST_F(ClientWatchTest, ABitFlipIsRefused) {
  FetchedTable damaged = second_;
  damaged.payload[damaged.payload.size() / 2] ^= 1;
  ExpectRefused(damaged, "DATA_LOSS");
}

// The digest is right: whoever made the payload made it so.
FetchedTable WithPayload(FetchedTable table, const std::string& payload) {
  table.payload = payload;
  table.info.set_digest(Sha256Hex(payload));
  return table;
}

TEST_F(ClientWatchTest, ATruncatedTableWithTheRightDigestIsRefused) {
  const std::string payload = second_.payload;
  ExpectRefused(WithPayload(second_, payload.substr(0, payload.size() / 2)),
                "not usable");
}

TEST_F(ClientWatchTest, AFutureMajorVersionIsRefused) {
  std::string payload = second_.payload;
  payload[8] = 99;  // docs/table_format.md
  ExpectRefused(WithPayload(second_, payload), "format 99.0");
}

TEST_F(ClientWatchTest, AnotherFingerprintIsRefused) {
  Table edited = ServedDelta(3);
  edited.fingerprint = std::string(64, '9');
  ExpectRefused(Serve(edited, "GPU-1", 2), "fingerprint 999999999999");
}

TEST_F(ClientWatchTest, OtherSiliconUnderOurKeyIsRefused) {
  Table other = ServedDelta(3);
  other.silicon_key = "backend=replay;mp=8";
  FetchedTable table = Serve(other, "GPU-1", 2);
  table.info.set_silicon_key(first_.info.silicon_key());
  ExpectRefused(table, "silicon \"backend=replay;mp=4\"");
}

TEST_F(ClientWatchTest, ATableOfOtherSiliconIsAnotherDevicesBusiness) {
  Table other = ServedDelta(3);
  other.silicon_key = "backend=replay;mp=8";
  const Tuner tuner = Start();
  const int fetches = node_.fetches();
  node_.Promote(Serve(other, "GPU-9", 2));
  node_.Promote(second_);  // By name it is ambiguous now.
  EXPECT_TRUE(
      Eventually([&] { return tuner.digest() == second_.info.digest(); }));
  EXPECT_EQ(node_.fetches(), fetches + 2);
  EXPECT_TRUE(client_->last_problem().ok()) << client_->last_problem();
}

TEST_F(ClientWatchTest, AnotherEnvironmentWithoutACarryOverIsRefused) {
  Table upgraded = ServedDelta(3);
  upgraded.environment_key = "driver=2";
  const Tuner tuner = Start({.device = "GPU-1", .prepares_on_demand = true});
  node_.Retire(first_.info.digest());
  node_.Promote(Serve(upgraded, "GPU-1", 2));
  EXPECT_TRUE(Eventually([&] { return HasRefusal("environment"); }));
  EXPECT_EQ(tuner.digest(), first_.info.digest());
}

TEST_F(ClientWatchTest, ADaemonThatHangsIsNotNoticedByDecisions) {
  const Tuner tuner = Start();
  const int before = node_.fetches();
  node_.Hang();
  node_.Promote(second_);
  ASSERT_TRUE(Eventually([&] { return node_.fetches() > before; }));
  for (int64_t n = 128; n < 1000; ++n)
    EXPECT_EQ(tuner.Resolve({n}).source, DecisionSource::kFitted);
  EXPECT_EQ(tuner.digest(), first_.info.digest());
  node_.GoOn();
  EXPECT_TRUE(
      Eventually([&] { return tuner.digest() == second_.info.digest(); }));
}

TEST_F(ClientWatchTest, EndsAtOnceWhileTheDaemonHangs) {
  client_ = Connect(/*timeout_s=*/3600);
  const Tuner tuner = client_->GetTuner("add").value();
  ASSERT_TRUE(Eventually([&] { return client_->watching(); }));
  const int before = node_.fetches();
  node_.Hang();
  node_.Promote(second_);
  ASSERT_TRUE(Eventually([&] { return node_.fetches() > before; }));
  client_.reset();  // The test's time limit is shorter than the deadline.
  EXPECT_EQ(tuner.Resolve({1000}).latency_us, 3);
  node_.GoOn();
}

TEST_F(ClientWatchTest, WithoutAWatchNothingIsHeard) {
  const auto client = Client::Connect({.endpoint = node_.endpoint(),
                                       .cache_dir = node_.cache_dir(),
                                       .watch = false})
                          .value();
  const Tuner tuner =
      client->GetTuner("add", {.prepares_on_demand = true}).value();
  EXPECT_FALSE(client->watching());
  EXPECT_EQ(node_.watchers(), 0);
}

TEST_F(ClientWatchTest, ATableThatIsShownWrongEndsDecidingAtOnce) {
  const Tuner tuner = Start();
  const Tuner copy = tuner;
  ASSERT_EQ(copy.Resolve({1000}).source, DecisionSource::kFitted);
  node_.Withdraw(first_.info.digest(), "it chooses a wrong one");
  EXPECT_TRUE(Eventually([&] { return copy.digest().empty(); }));
  const Decision decision = tuner.Resolve({1000});
  EXPECT_EQ(decision.source, DecisionSource::kDefault);
  EXPECT_EQ(decision.reason, DefaultReason::kTableWithdrawn);
  EXPECT_EQ(decision.configuration, tuner.default_configuration());
  const ClientEvent event = client_->events().back();
  EXPECT_EQ(event.kind, Kind::kWithdrawn);
  EXPECT_EQ(event.digest, first_.info.digest());
  EXPECT_THAT(event.reason.ToString(), HasSubstr("it chooses a wrong one"));
  // Until there is another one.
  node_.Promote(second_);
  EXPECT_TRUE(
      Eventually([&] { return copy.digest() == second_.info.digest(); }));
}

TEST_F(ClientWatchTest, HearsOfWhatWasShownWrongWhileTheDaemonWasAway) {
  const Tuner tuner = Start();
  node_.Stop();
  ASSERT_TRUE(Eventually([&] { return !client_->watching(); }));
  node_.Withdraw(first_.info.digest(), "it is wrong");
  node_.Start(/*new_store=*/true);
  EXPECT_TRUE(Eventually([&] { return tuner.digest().empty(); }));
}

TEST_F(ClientWatchTest, WhatWasShownWrongComesBackNeitherFromCacheNorFile) {
  node_.AddKernel(testing::AddKernelStatus());
  const Tuner tuner = Start();
  node_.Withdraw(first_.info.digest(), "it is wrong");
  ASSERT_TRUE(Eventually([&] { return tuner.digest().empty(); }));
  // While the daemon answers.
  EXPECT_EQ(Connect()->GetTuner("add")->Resolve({1000}).reason,
            DefaultReason::kTableWithdrawn);
  const absl::Status pinned =
      Connect()->GetTuner("add", {.digest = first_.info.digest()}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(pinned)) << pinned;
  EXPECT_THAT(std::string(pinned.message()), HasSubstr("it is wrong"));
  // Another process, while it does not: the cache knows, and its default.
  node_.Stop();
  const absl::StatusOr<Tuner> offline = Connect()->GetTuner("add");
  ASSERT_TRUE(offline.ok()) << offline.status();
  EXPECT_EQ(offline->digest(), "");
  EXPECT_EQ(offline->Resolve({1000}).reason, DefaultReason::kTableWithdrawn);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      Connect()->GetTuner("add", {.digest = first_.info.digest()}).status()));
}

TEST_F(ClientWatchTest, AnOlderTableEndsDecidingWithTheOneThatReplacedIt) {
  const Tuner tuner = Start({});  // Nothing is prepared: the new one waits.
  node_.Promote(second_);
  ASSERT_TRUE(Eventually([&] { return tuner.staged().has_value(); }));
  node_.Withdraw(second_.info.digest(), "it is wrong");
  EXPECT_TRUE(Eventually([&] { return tuner.digest().empty(); }));
  EXPECT_FALSE(tuner.staged());
  EXPECT_EQ(tuner.Resolve({1000}).reason, DefaultReason::kTableWithdrawn);
}

TEST_F(ClientWatchTest, ATableIsToldOnceToBeWrongAlsoWhereAStepHasToEnd) {
  const Tuner tuner = Start({.activation = ActivationPolicy::kStepBoundary});
  const auto told = [&] {
    int times = 0;
    for (const ClientEvent& event : client_->events()) {
      times += event.kind == Kind::kWithdrawn &&
               event.digest == first_.info.digest();
    }
    return times;
  };
  node_.Withdraw(first_.info.digest(), "it is wrong");
  ASSERT_TRUE(Eventually([&] { return told() > 0; }));
  // News come one after the other.
  node_.Promote(second_);
  ASSERT_TRUE(Eventually([&] {
    const auto staged = tuner.staged();
    return staged && staged->digest == second_.info.digest();
  }));
  EXPECT_EQ(told(), 1);
}

TEST_F(ClientWatchTest, NoOlderCachedTableTakesThePlaceOfAWithdrawnOne) {
  Table other_driver = ServedDelta(9);
  other_driver.environment_key = "driver=0";
  const FetchedTable older = Serve(other_driver, "GPU-1", 0);
  ASSERT_TRUE(TableCache(node_.cache_dir()).Put(older).ok());
  const Tuner tuner = Start();
  node_.Withdraw(first_.info.digest(), "it is wrong");
  ASSERT_TRUE(Eventually([&] { return tuner.digest().empty(); }));
  node_.Stop();
  const absl::StatusOr<Tuner> offline = Connect()->GetTuner("add");
  ASSERT_TRUE(offline.ok()) << offline.status();
  EXPECT_EQ(offline->digest(), "");
  EXPECT_EQ(offline->Resolve({1000}).reason, DefaultReason::kTableWithdrawn);
}

TEST_F(ClientWatchTest, NoFileTakesThePlaceOfAWithdrawnTable) {
  node_.AddKernel(testing::AddKernelStatus());
  const testing::TemporaryFolder folder;
  const FetchedTable older = Serve(ServedDelta(9));
  const std::string file = folder.path() + "/older.table";
  ASSERT_FALSE(WriteFileAtomically(file, older.payload));
  const auto with_file = [&] {
    return Client::Connect({.endpoint = node_.endpoint(),
                            .cache_dir = node_.cache_dir(),
                            .table_file = file})
        .value();
  };
  const Tuner tuner = Start();
  node_.Withdraw(first_.info.digest(), "it is wrong");
  ASSERT_TRUE(Eventually([&] { return tuner.digest().empty(); }));
  const std::unique_ptr<Client> online = with_file();
  const Tuner asked = online->GetTuner("add").value();
  EXPECT_EQ(asked.digest(), "");
  EXPECT_EQ(asked.Resolve({1000}).reason, DefaultReason::kTableWithdrawn);
  EXPECT_THAT(online->events(), ::testing::Contains(::testing::Field(
                                    &ClientEvent::kind, Kind::kRefused)));
  // By its digest it is there for whoever wants no other.
  EXPECT_EQ(online->GetTuner("add", {.digest = older.info.digest()})->origin(),
            TableOrigin::kFile);
  // Another process, while the daemon does not answer: the cache knows.
  node_.Stop();
  const std::unique_ptr<Client> offline = with_file();
  const absl::StatusOr<Tuner> alone = offline->GetTuner("add");
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->digest(), "");
  EXPECT_EQ(alone->Resolve({1000}).reason, DefaultReason::kTableWithdrawn);
}

TEST_F(ClientWatchTest, AVersionThatWasAskedForKeepsItsTable) {
  const Tuner tuner = Start(
      {.fingerprint = first_.info.fingerprint(), .prepares_on_demand = true});
  FetchedTable edited = first_;
  edited.info.set_fingerprint(std::string(64, 'e'));
  node_.AddTable(edited);
  node_.Withdraw(edited.info.digest(), "wrong since it was edited");
  node_.Promote(second_);
  ASSERT_TRUE(
      Eventually([&] { return tuner.digest() == second_.info.digest(); }));
  for (const ClientEvent& event : client_->events()) {
    EXPECT_NE(event.kind, Kind::kWithdrawn);
  }
}

TEST_F(ClientWatchTest, ADefaultThatDoesNotWorkIsSaidWithEveryDecision) {
  v1::KernelStatus kernel = testing::AddKernelStatus();
  kernel.add_default_faults()->set_device_uuid("GPU-1");
  node_.AddKernel(kernel);
  node_.AddDevice("GPU-1");
  node_.Retire(first_.info.digest());
  const Tuner without = Connect()->GetTuner("add", {.device = "GPU-1"}).value();
  EXPECT_EQ(without.Resolve({1000}).reason, DefaultReason::kDefaultUnusable);
  FetchedTable table = second_;
  (*table.info.mutable_default_faults())[""] = "does not compile";
  node_.Promote(table);
  const Tuner with = Connect()->GetTuner("add", {.device = "GPU-1"}).value();
  EXPECT_EQ(with.Resolve({1000}).source, DecisionSource::kFitted);
  EXPECT_EQ(with.Resolve({1000, 1}).reason, DefaultReason::kDefaultUnusable);
}

}  // namespace
}  // namespace wavetune
