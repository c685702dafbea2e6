#include "client/src/table_slot.h"

#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "base/digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

using Kind = ClientEvent::Kind;
using Outcome = TableSlot::Outcome;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TinyTable;

OfferedTable Offered(const Table& table, bool stale = false) {
  return {.table = CompiledTable::Create(EncodeTable(table).value()).value(),
          .origin = TableOrigin::kDaemon,
          .stale = stale};
}

// TinyTable with a prediction of its own, so with a digest of its own.
Table WithDelta(double delta) {
  Table table = TinyTable();
  table.sub_tables[0].groups[0].models[0].segments[0].coefficients.delta =
      delta;
  return table;
}

class TableSlotTest : public ::testing::Test {
 protected:
  std::unique_ptr<TableSlot> MakeSlot(ActivationPolicy activation,
                                      const OfferedTable& first) const {
    const Table& table = first.table->table();
    return std::make_unique<TableSlot>(
        TunerIdentity{.kernel = table.kernel,
                      .parameters = table.parameters,
                      .dimensions = table.dimensions},
        TableSlot::Options{.activation = activation},
        StateOf(first, "").value(), log_);
  }
  std::unique_ptr<TableSlot> MakeSlot(ActivationPolicy activation) const {
    return MakeSlot(activation, first_);
  }

  std::vector<Kind> Events() const {
    std::vector<Kind> kinds;
    for (const ClientEvent& event : log_->events()) kinds.push_back(event.kind);
    return kinds;
  }

  // The first one goes on deciding, and the log says why.
  void ExpectRefused(TableSlot& slot, const OfferedTable& offered,
                     const std::string& why) const {
    const std::string before = slot.current()->digest();
    const auto outcome = slot.Offer(offered);
    EXPECT_TRUE(absl::IsFailedPrecondition(outcome.status()));
    EXPECT_THAT(std::string(outcome.status().message()), HasSubstr(why));
    EXPECT_EQ(slot.current()->digest(), before);
    EXPECT_FALSE(slot.staged());
    EXPECT_EQ(log_->last_problem(), outcome.status());
    EXPECT_EQ(Events().back(), Kind::kRefused);
  }

  const std::shared_ptr<EventLog> log_ = std::make_shared<EventLog>();
  const OfferedTable first_ = Offered(WithDelta(2));
  const OfferedTable second_ = Offered(WithDelta(3));
  const OfferedTable third_ = Offered(WithDelta(4));
};

TEST_F(TableSlotTest, ATableWaitsUntilAllOfItIsPrepared) {
  const auto slot = MakeSlot(ActivationPolicy::kAutomatic);
  EXPECT_EQ(slot->Offer(second_).value(), Outcome::kStaged);
  EXPECT_EQ(slot->current()->digest(), first_.table->digest());
  const std::optional<StagedTable> staged = slot->staged();
  ASSERT_TRUE(staged);
  EXPECT_EQ(staged->digest, second_.table->digest());
  EXPECT_THAT(staged->configurations, ElementsAre(Configuration({256})));
  EXPECT_THAT(staged->unprepared, ElementsAre(Configuration({256})));
  slot->SetPrepared({Configuration({128})});
  EXPECT_TRUE(slot->staged());
  slot->SetPrepared({Configuration({128}), Configuration({256})});
  EXPECT_FALSE(slot->staged());
  EXPECT_EQ(slot->current()->digest(), second_.table->digest());
  EXPECT_EQ(slot->Offer(third_).value(), Outcome::kActivated);
  EXPECT_EQ(slot->Resolve({1000}).latency_us, 5);
  EXPECT_THAT(Events(),
              ElementsAre(Kind::kStaged, Kind::kActivated, Kind::kActivated));
}

TEST_F(TableSlotTest, WhoPreparesOnDemandGetsEveryTableAtOnce) {
  TableSlot slot({.kernel = "add",
                  .parameters = first_.table->table().parameters,
                  .dimensions = first_.table->table().dimensions},
                 {.prepares_on_demand = true}, StateOf(first_, "").value(),
                 log_);
  EXPECT_EQ(slot.Offer(second_).value(), Outcome::kActivated);
}

TEST_F(TableSlotTest, ATableWaitsForTheStepBoundary) {
  const auto slot = MakeSlot(ActivationPolicy::kStepBoundary);
  slot->SetPrepared({Configuration({256})});
  EXPECT_FALSE(slot->StepBoundary());
  EXPECT_EQ(slot->Offer(second_).value(), Outcome::kStaged);
  EXPECT_EQ(slot->current()->digest(), first_.table->digest());
  EXPECT_TRUE(slot->StepBoundary());
  EXPECT_EQ(slot->current()->digest(), second_.table->digest());
  EXPECT_FALSE(slot->StepBoundary());
}

TEST_F(TableSlotTest, ATableWaitsForActivate) {
  const auto slot = MakeSlot(ActivationPolicy::kExplicit);
  slot->SetPrepared({Configuration({256})});
  EXPECT_EQ(slot->Offer(second_).value(), Outcome::kStaged);
  EXPECT_FALSE(slot->StepBoundary());
  const absl::Status unknown = slot->Activate(third_.table->digest());
  EXPECT_TRUE(absl::IsNotFound(unknown));
  EXPECT_THAT(std::string(unknown.message()),
              HasSubstr("staged is: " + second_.table->digest()));
  EXPECT_EQ(slot->current()->digest(), first_.table->digest());
  EXPECT_TRUE(slot->Activate(second_.table->digest()).ok());
  EXPECT_EQ(slot->current()->digest(), second_.table->digest());
  EXPECT_TRUE(slot->Activate(second_.table->digest()).ok()) << "it decides";
}

TEST_F(TableSlotTest, APinnedOneNeverChanges) {
  const auto slot = MakeSlot(ActivationPolicy::kPinned);
  EXPECT_EQ(slot->Offer(first_).value(), Outcome::kCurrent);
  ExpectRefused(*slot, second_, "pinned");
  EXPECT_TRUE(
      absl::IsFailedPrecondition(slot->Activate(second_.table->digest())));
  EXPECT_FALSE(slot->Stage(second_).ok());
}

TEST_F(TableSlotTest, TheNewestOfferWaits) {
  const auto slot = MakeSlot(ActivationPolicy::kExplicit);
  ASSERT_TRUE(slot->Offer(second_).ok());
  ASSERT_TRUE(slot->Offer(second_).ok());
  ASSERT_TRUE(slot->Offer(third_).ok());
  EXPECT_EQ(slot->staged()->digest, third_.table->digest());
  EXPECT_THAT(Events(),
              ElementsAre(Kind::kStaged, Kind::kWithdrawn, Kind::kStaged));
  ASSERT_EQ(slot->Offer(first_).value(), Outcome::kCurrent) << "rolled back";
  EXPECT_FALSE(slot->staged());
}

TEST_F(TableSlotTest, ARetiredTableWaitsNoLonger) {
  const auto slot = MakeSlot(ActivationPolicy::kExplicit);
  ASSERT_TRUE(slot->Offer(second_).ok());
  slot->Withdraw(third_.table->digest());
  EXPECT_TRUE(slot->staged());
  slot->Withdraw(second_.table->digest());
  EXPECT_FALSE(slot->staged());
  slot->Withdraw(first_.table->digest());
  EXPECT_EQ(slot->current()->digest(), first_.table->digest());
}

TEST_F(TableSlotTest, WhatWasStagedOnPurposeIsNotDisplaced) {
  const auto slot = MakeSlot(ActivationPolicy::kAutomatic);
  slot->SetPrepared({Configuration({256})});
  EXPECT_EQ(slot->Stage(second_).value(), Outcome::kStaged);
  slot->SetPrepared({Configuration({256})});
  EXPECT_EQ(slot->Offer(third_).value(), Outcome::kStaged);
  EXPECT_EQ(slot->Offer(first_).value(), Outcome::kCurrent);
  slot->Withdraw(second_.table->digest());
  EXPECT_EQ(slot->staged()->digest, second_.table->digest());
  EXPECT_TRUE(slot->Activate(second_.table->digest()).ok());
  EXPECT_EQ(slot->current()->digest(), second_.table->digest());
}

TEST_F(TableSlotTest, RefusesOtherSilicon) {
  Table other = WithDelta(3);
  other.silicon_key = "backend=replay;mp=8";
  const auto slot = MakeSlot(ActivationPolicy::kAutomatic);
  ExpectRefused(*slot, Offered(other), "silicon \"backend=replay;mp=8\"");
}

TEST_F(TableSlotTest, RefusesAnotherFingerprint) {
  Table other = WithDelta(3);
  other.fingerprint = std::string(64, '9');
  const auto slot = MakeSlot(ActivationPolicy::kAutomatic);
  ExpectRefused(*slot, Offered(other), "fingerprint \"999999999999\"");
}

TEST_F(TableSlotTest, RefusesAnotherKernel) {
  const auto slot = MakeSlot(ActivationPolicy::kAutomatic);
  ExpectRefused(*slot, Offered(testing::TwoGroupTable()), "kernel \"gemm\"");
}

TEST_F(TableSlotTest, RefusesAnotherEnvironmentWithoutACarryOver) {
  Table other = WithDelta(3);
  other.environment_key = "driver=2";
  const auto slot = MakeSlot(ActivationPolicy::kAutomatic);
  ExpectRefused(*slot, Offered(other), "environment \"driver=2\"");
  ExpectRefused(*slot, Offered(WithDelta(3), /*stale=*/true), "environment");
}

TEST_F(TableSlotTest, RefusesOtherParametersUnderTheSameFingerprint) {
  Table other = WithDelta(3);
  other.parameters = {"TILE"};
  const auto slot = MakeSlot(ActivationPolicy::kAutomatic);
  ExpectRefused(*slot, Offered(other), "other parameters");
}

TEST_F(TableSlotTest, RefusesATableWithoutItsSpecialisation) {
  const auto slot = MakeSlot(ActivationPolicy::kAutomatic);
  Table other = WithDelta(3);
  other.sub_tables[0].specialisation = "causal";
  const auto outcome = slot->Offer(Offered(other));
  EXPECT_TRUE(absl::IsNotFound(outcome.status())) << outcome.status();
  EXPECT_THAT(std::string(outcome.status().message()), HasSubstr("causal"));
}

TEST_F(TableSlotTest, AStaleTableGivesWayToOneOfTheRightEnvironment) {
  Table fresh = WithDelta(3);
  fresh.environment_key = "driver=2";
  const auto slot =
      MakeSlot(ActivationPolicy::kExplicit, Offered(WithDelta(2), true));
  EXPECT_EQ(slot->Resolve({1000}).source, DecisionSource::kStale);
  ASSERT_TRUE(slot->Offer(Offered(WithDelta(4), true)).ok()) << "stale, newer";
  ASSERT_TRUE(slot->Offer(Offered(fresh)).ok());
  ASSERT_TRUE(slot->Activate(slot->staged()->digest).ok());
  EXPECT_EQ(slot->Resolve({1000}).source, DecisionSource::kFitted);
  ExpectRefused(*slot, Offered(WithDelta(4)), "environment \"driver=1\"");
}

TEST_F(TableSlotTest, TheSameTableMayBecomeStaleOrFresh) {
  const auto slot = MakeSlot(ActivationPolicy::kPinned);
  EXPECT_EQ(slot->Offer(Offered(WithDelta(2), true)).value(),
            Outcome::kCurrent);
  EXPECT_EQ(slot->Resolve({1000}).source, DecisionSource::kStale);
  EXPECT_EQ(slot->Offer(first_).value(), Outcome::kCurrent);
  EXPECT_EQ(slot->Resolve({1000}).source, DecisionSource::kFitted);
}

TEST_F(TableSlotTest, SaysWhatMadeItsTableStaleInAnEvent) {
  const auto slot = MakeSlot(ActivationPolicy::kAutomatic);
  OfferedTable stale = Offered(WithDelta(2), true);
  stale.stale_reason = "driver \"1\", now \"2\"";
  ASSERT_TRUE(slot->Offer(stale).ok());
  EXPECT_EQ(slot->current()->stale_reason, "driver \"1\", now \"2\"");
  EXPECT_EQ(log_->events().back().kind, ClientEvent::Kind::kStale);
  EXPECT_THAT(std::string(log_->events().back().reason.message()),
              HasSubstr("driver \"1\", now \"2\""));
  const size_t events = log_->events().size();
  ASSERT_TRUE(slot->Offer(stale).ok());
  EXPECT_EQ(log_->events().size(), events) << "nothing new";
  ASSERT_TRUE(slot->Offer(first_).ok());
  EXPECT_EQ(slot->current()->stale_reason, "");
  EXPECT_EQ(log_->events().back().kind, ClientEvent::Kind::kActivated);
}

TEST_F(TableSlotTest, ADriverUpgradeUnderARunningProgramIsNotStaleForEver) {
  const auto slot = MakeSlot(ActivationPolicy::kExplicit);
  ASSERT_TRUE(slot->Offer(Offered(WithDelta(2), true)).ok());
  Table measured_anew = WithDelta(3);
  measured_anew.environment_key = "driver=2";
  ASSERT_TRUE(slot->Offer(Offered(measured_anew)).ok());
  ASSERT_TRUE(slot->Activate(slot->staged()->digest).ok());
  EXPECT_EQ(slot->Resolve({1000}).source, DecisionSource::kFitted);
}

TEST_F(TableSlotTest, ATableThatIsCarriedOverIsCurrentInBothEnvironments) {
  const auto slot = MakeSlot(ActivationPolicy::kAutomatic);
  OfferedTable stale = first_;
  stale.stale = true;
  slot->Offer(stale).value();
  OfferedTable carried = first_;
  carried.carried_to = "driver=2";
  EXPECT_EQ(slot->Offer(carried).value(), Outcome::kCurrent);
  EXPECT_FALSE(slot->current()->stale);
  // What is measured there later takes over.
  Table later = WithDelta(3);
  later.environment_key = "driver=2";
  EXPECT_EQ(slot->Offer(Offered(later)).value(), Outcome::kStaged);
}

TEST_F(TableSlotTest, TakesWhatIsCarriedOverToItsEnvironment) {
  Table here = WithDelta(3);
  here.environment_key = "driver=2";
  const auto slot = MakeSlot(ActivationPolicy::kAutomatic, Offered(here));
  ExpectRefused(*slot, first_, "No record carries it over");
  OfferedTable carried = first_;
  carried.carried_to = "driver=2";
  EXPECT_EQ(slot->Offer(carried).value(), Outcome::kStaged);
}

TEST_F(TableSlotTest, HearingOfACarryOverWithoutHavingBeenStaleIsNoEvent) {
  const auto slot = MakeSlot(ActivationPolicy::kAutomatic);
  OfferedTable carried = first_;
  carried.carried_to = "driver=2";
  EXPECT_EQ(slot->Offer(carried).value(), Outcome::kCurrent);
  EXPECT_THAT(Events(), IsEmpty());
  Table later = WithDelta(3);
  later.environment_key = "driver=2";
  EXPECT_EQ(slot->Offer(Offered(later)).value(), Outcome::kStaged);
}

TEST_F(TableSlotTest, TheFirstTableTakesOverFromDefaultsByTheSameRules) {
  const Table& table = first_.table->table();
  TableSlot slot({.kernel = "add",
                  .fingerprint = "00000000",
                  .parameters = table.parameters,
                  .dimensions = table.dimensions},
                 {}, {.default_configuration = Configuration({128})}, log_);
  EXPECT_EQ(slot.Resolve({1000}).reason, DefaultReason::kNoTable);
  EXPECT_EQ(slot.Resolve({1000}).origin, TableOrigin::kDefaults);
  Table other = WithDelta(3);
  other.fingerprint = std::string(64, '9');
  ExpectRefused(slot, Offered(other), "fingerprint");
  EXPECT_EQ(slot.Offer(first_).value(), Outcome::kStaged);
  slot.SetPrepared({Configuration({256})});
  EXPECT_EQ(slot.Resolve({1000}).origin, TableOrigin::kDaemon);
  EXPECT_EQ(slot.silicon_key(), table.silicon_key);
}

TEST_F(TableSlotTest, EachTableCountsItsOwnDecisions) {
  std::map<std::string, std::shared_ptr<UsageRecorder>> recorders;
  const Table& table = first_.table->table();
  TableSlot slot(
      {.kernel = "add",
       .parameters = table.parameters,
       .dimensions = table.dimensions},
      {.activation = ActivationPolicy::kExplicit,
       .recorder =
           [&](const TunerIdentity& identity, const TableState& state) {
             return recorders[state.digest()] = std::make_shared<UsageRecorder>(
                        identity.dimensions.size(), false);
           }},
      {.default_configuration = Configuration({128})}, log_);
  const std::string digest = first_.table->digest();
  slot.Resolve({1000});
  ASSERT_TRUE(slot.Offer(first_).ok());
  slot.Resolve({1000});
  ASSERT_TRUE(slot.Activate(digest).ok());
  for (int i = 0; i < 3; ++i) slot.Resolve({1000});
  ASSERT_TRUE(slot.Offer(Offered(WithDelta(2), /*stale=*/true)).ok());
  slot.Resolve({1000});

  DrainedUsage drained;
  ASSERT_EQ(recorders.size(), 2U);
  recorders[""]->Drain(&drained);
  EXPECT_EQ(drained.counts, (UsageCounts{.defaults = 2}));
  recorders[digest]->Drain(&drained);
  EXPECT_EQ(drained.counts, (UsageCounts{.fitted = 3, .stale = 1}));
}

// For ThreadSanitizer, too: decisions on several threads while tables change.
TEST_F(TableSlotTest, EveryDecisionIsOfOneTable) {
  const auto slot = MakeSlot(ActivationPolicy::kExplicit);
  slot->SetPrepared({Configuration({256})});
  const uint64_t first = DigestPrefix(first_.table->digest());
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const Decision d = slot->Resolve({1000});
        // 1 us of work after delta.
        if (d.latency_us != (d.digest_prefix == first ? 3 : 4)) wrong++;
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) {
      slot->StepBoundary();
      (void)slot->staged();
    }
  });
  for (int i = 0; i < 500; ++i) {
    for (const OfferedTable& table : {second_, first_}) {
      ASSERT_TRUE(slot->Offer(table).ok());
      ASSERT_TRUE(slot->Activate(table.table->digest()).ok());
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(TableSlotTest, WhatWasShownWrongEndsDecidingAndWaitsNowhere) {
  const auto slot = MakeSlot(ActivationPolicy::kExplicit);
  ASSERT_TRUE(slot->Stage(second_).ok());
  slot->Revoke(second_.table->digest(), absl::DataLossError("wrong"));
  EXPECT_FALSE(slot->staged());
  EXPECT_EQ(slot->current()->digest(), first_.table->digest());
  slot->Revoke(first_.table->digest(), absl::DataLossError("wrong"));
  EXPECT_EQ(slot->current()->digest(), "");
  EXPECT_EQ(slot->current()->default_reason, DefaultReason::kTableWithdrawn);
  ASSERT_TRUE(slot->Offer(third_).ok());
  EXPECT_TRUE(slot->Activate(third_.table->digest()).ok());
}

TEST_F(TableSlotTest, AtStepBoundariesWhatWasShownWrongEndsWithTheStep) {
  const auto slot = MakeSlot(ActivationPolicy::kStepBoundary);
  slot->Revoke(first_.table->digest(), absl::DataLossError("wrong"));
  EXPECT_EQ(slot->current()->digest(), first_.table->digest());
  EXPECT_TRUE(slot->StepBoundary());
  EXPECT_EQ(slot->current()->digest(), "");
}

TEST_F(TableSlotTest, APinnedTunerKeepsWhatWasShownWrong) {
  const auto slot = MakeSlot(ActivationPolicy::kPinned);
  slot->Revoke(first_.table->digest(), absl::DataLossError("wrong"));
  EXPECT_EQ(slot->current()->digest(), first_.table->digest());
}

}  // namespace
}  // namespace wavetune
