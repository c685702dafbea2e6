// What operators order on nodes of one fleet, and what follows on the others.
#include "server/fleet/fleet_admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/catalog/rollback.h"
#include "server/fleet/fleet_fixture.h"
#include "server/fleet/fleet_orders.h"
#include "server/fleet/fleet_rollout.h"

namespace wavetune::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OperatedNode : public Node {
 public:
  using Node::Node;

  // What an operator of this node orders.
  absl::StatusOr<v1::PublishToFleetResponse> Publish() {
    v1::PublishToFleetRequest request;
    request.mutable_place()->set_kernel("copy");
    v1::PublishToFleetResponse response;
    RETURN_IF_ERROR(admin_.Publish(request, "7", &response));
    return response;
  }
  absl::Status Freeze(const std::string& why) {
    v1::FreezeInFleetRequest request;
    request.mutable_place()->set_kernel("copy");
    request.set_reason(why);
    v1::FreezeInFleetResponse response;
    return admin_.Freeze(request, "7", &response);
  }
  absl::Status Unfreeze() {
    v1::UnfreezeInFleetRequest request;
    request.mutable_place()->set_kernel("copy");
    v1::UnfreezeInFleetResponse response;
    return admin_.Unfreeze(request, &response);
  }
  absl::StatusOr<v1::RollBackFleetResponse> RollBack(
      const std::string& digest = "", bool dry_run = false) {
    v1::RollBackFleetRequest request;
    request.mutable_place()->set_kernel("copy");
    request.set_digest(digest);
    request.set_reason("slower in production");
    request.set_dry_run(dry_run);
    v1::RollBackFleetResponse response;
    RETURN_IF_ERROR(admin_.RollBack(request, "7", &response));
    return response;
  }
  // A job here finds that what serves computes wrong results.
  void FindWrong() {
    const auto match =
        tables_.Find({.kernel = "copy", .device = options_.device});
    EXPECT_TRUE(match.ok()) << match.status();
    EXPECT_TRUE(tables_
                    .Withdraw(match->serving.record.key, match->serving.record,
                              "BM=64 computes wrong results", 1)
                    .ok());
  }
  FleetView::Standing Standing() {
    const FleetView view = fleet_->View();
    return view.heads.empty() ? FleetView::Standing() : view.heads[0];
  }

  FleetAdmin admin_{{.fleet = [this] { return fleet_.get(); },
                     .tables = &tables_,
                     .devices = &devices_,
                     .kernels = &kernels_}};
};

class FleetAdminTest : public FleetFixture {
 protected:
  std::unique_ptr<OperatedNode> JoinAs(const std::string& name, char key) {
    return std::make_unique<OperatedNode>(&fleet_, folder_ / "kernels", name,
                                          key, TrustIn({1, 2}));
  }
};

TEST_F(FleetAdminTest, AFrozenHeadIsMovedByNobodyUntilItIsUnfrozen) {
  const auto a = JoinAs("a", 1);
  const auto b = JoinAs("b", 2);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  ASSERT_TRUE(a->Freeze("release week").ok());
  EXPECT_THAT(a->Freeze("again").ToString(),
              AllOf(HasSubstr("ALREADY_EXISTS"),
                    HasSubstr("user 7 on node a: release week already")));
  const std::string second = b->Profile(11);
  EXPECT_SOON(b->Standing().behind, HasSubstr("fleet unfreeze"));
  EXPECT_THAT(b->Standing().behind,
              HasSubstr("frozen by user 7 on node a: release week"));
  EXPECT_THAT(a->Standing().frozen, HasSubstr("release week"));
  EXPECT_EQ(a->Serving(), first);
  EXPECT_EQ(b->Serving(), second);
  // An operator is told so, too.
  for (const absl::Status& refused :
       {b->Publish().status(), a->RollBack(first).status()}) {
    EXPECT_THAT(refused.ToString(),
                AllOf(HasSubstr("FAILED_PRECONDITION"),
                      HasSubstr("frozen by user 7 on node a: release week. "
                                "First: wavetune fleet unfreeze copy")));
  }
  ASSERT_TRUE(b->Unfreeze().ok());
  EXPECT_TRUE(AllServe({a.get(), b.get()}, second));
  EXPECT_EQ(b->Unfreeze().code(), absl::StatusCode::kNotFound);
}

TEST_F(FleetAdminTest, AFreezeThatNobodyCanReadIsOne) {
  const auto a = JoinAs("a", 1);
  const std::string key = HeadKey(a->Key());
  Write(FreezeKey(PlaceOf(key).fleet_class, "copy"), "nonsense");
  a->Profile(10);
  EXPECT_SOON(a->Standing().behind, HasSubstr("cannot read"));
  EXPECT_EQ(Read(key), "");
  ASSERT_TRUE(a->Unfreeze().ok());
  EXPECT_TRUE(Eventually([&] { return !Read(key).empty(); }));
}

TEST_F(FleetAdminTest, ARollbackServesOnEveryNodeAndNoJobUndoesIt) {
  const auto a = JoinAs("a", 1);
  const auto b = JoinAs("b", 2);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  const std::string second = a->Profile(11);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, second));
  // Also on the node that did not profile.
  const auto rolled_back = b->RollBack();
  ASSERT_TRUE(rolled_back.ok()) << rolled_back.status();
  EXPECT_EQ(rolled_back->digest(), first);
  EXPECT_EQ(rolled_back->epoch(), 3u);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  const TableRecord serving =
      a->tables_.Find({.kernel = "copy", .device = TestFleetDevice()})
          ->serving.record;
  EXPECT_EQ(serving.how, PromotionKind::kRolledBack);
  EXPECT_EQ(serving.why, "slower in production");
  a->Profile(12);
  EXPECT_SOON(a->Standing().behind, HasSubstr("rolled back to table"));
  EXPECT_EQ(b->Serving(), first);
  // Further back there is nothing.
  ASSERT_TRUE(b->Unfreeze().ok());
  EXPECT_TRUE(Eventually(
      [&] { return b->Serving() != first && !b->Serving().empty(); }));
  ASSERT_TRUE(b->RollBack(first.substr(0, 16)).ok());
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  ASSERT_TRUE(b->Unfreeze().ok());
  EXPECT_THAT(b->RollBack().status().ToString(), HasSubstr("NOT_FOUND"));
  // Unfrozen, it stays: what it replaced is not promoted anew.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(a->Serving(), first);
}

TEST_F(FleetAdminTest, ARollbackGoesBackToWhatTheClassHadOnEveryNode) {
  const auto a = JoinAs("a", 1);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get()}, first));
  ASSERT_TRUE(Eventually([&] { return !Read(HeadKey(a->Key())).empty(); }));
  const std::string second = a->Profile(11);
  ASSERT_TRUE(
      Eventually([&] { return a->fleet_->View().counts.published == 2; }));
  // Also on one that never served it.
  const auto late = JoinAs("late", 2);
  ASSERT_TRUE(AllServe({late.get()}, second));
  const auto planned = late->RollBack("", /*dry_run=*/true);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->digest(), first);
  EXPECT_EQ(planned->replaced(), second);
  EXPECT_EQ(late->Serving(), second);
  const auto rolled_back = late->RollBack();
  ASSERT_TRUE(rolled_back.ok()) << rolled_back.status();
  EXPECT_EQ(rolled_back->digest(), first);
  EXPECT_TRUE(AllServe({a.get(), late.get()}, first));
}

// Nodes whose tables go to others in stages, which the test drives.
class FleetAdminTrialTest : public FleetAdminTest {
 protected:
  FleetAdminTrialTest() {
    first_ = a_->Profile(10);
    EXPECT_TRUE(AllServe({a_.get(), b_.get()}, first_));
    a_->Stop();
    a_->options_.rollout_of = [](const ProfileKey&, const std::string&) {
      return RolloutPlan{{50, 100}, 60};
    };
    a_->Start();
    second_ = a_->Profile(11);
    EXPECT_TRUE(Eventually([&] { return !Read(Place()).empty(); }));
    SetStage(UINT32_MAX, "");
    EXPECT_TRUE(AllServe({a_.get(), b_.get()}, second_));
  }
  std::string Place() { return RolloutPlace(a_->Key()); }
  // As who drives it, with the key of b.
  void SetStage(uint32_t threshold, const std::string& halted) {
    FleetRollout rollout = ReadRollout(Place(), Read(Place()))->rollout;
    rollout.stage_since_us = 1;
    rollout.threshold = threshold;
    rollout.halted = halted;
    rollout.node = "b";
    Write(Place(), SignStage(rollout, TestSigningKey(2)));
  }

  const std::unique_ptr<OperatedNode> a_ = JoinAs("a", 1);
  const std::unique_ptr<OperatedNode> b_ = JoinAs("b", 2);
  std::string first_;
  std::string second_;
};

TEST_F(FleetAdminTrialTest, AfterAHaltedRolloutThereIsNothingToRollBack) {
  SetStage(UINT32_MAX, "node b: 3 times as long");
  ASSERT_TRUE(AllServe({a_.get(), b_.get()}, first_));
  for (OperatedNode* node : {a_.get(), b_.get()}) {
    const absl::Status refused = node->RollBack().status();
    EXPECT_THAT(
        refused.ToString(),
        AllOf(HasSubstr("ALREADY_EXISTS"),
              HasSubstr("was halted (node b: 3 times as long)"),
              HasSubstr("the fleet serves table " + ShortDigest(first_)),
              HasSubstr("nothing to roll back")));
    EXPECT_THAT(node->RollBack(second_.substr(0, 16)).status().ToString(),
                AllOf(HasSubstr("FAILED_PRECONDITION"),
                      HasSubstr("was never the fleet's")));
    EXPECT_EQ(node->Serving(), first_);
    // Nor is what was on trial a past of the node.
    const auto history = node->tables_.History("copy", node->Key().silicon_key);
    ASSERT_TRUE(history.ok());
    // On its own the node that measured it does not go back to it either.
    const auto why_halted = [&](const TableRecord& table) {
      return node->fleet_->WhyHalted(table);
    };
    EXPECT_EQ(RollbackTarget(*history, {history->front()}, "", why_halted)
                  .status()
                  .code(),
              absl::StatusCode::kNotFound);
    EXPECT_THAT(RollbackTarget(*history, {history->front()},
                               second_.substr(0, 16), why_halted)
                    .status()
                    .ToString(),
                HasSubstr("was halted (node b: 3 times as long)"));
  }
  EXPECT_THAT(a_->Standing().frozen, ::testing::IsEmpty());
  // It is gone with the next head, whoever publishes it.
  const std::string third = b_->Profile(12);
  EXPECT_TRUE(AllServe({a_.get(), b_.get()}, third));
  EXPECT_EQ(Read(Place()), "");
  const auto rolled_back = a_->RollBack();
  ASSERT_TRUE(rolled_back.ok()) << rolled_back.status();
  EXPECT_EQ(rolled_back->digest(), first_);
}

TEST_F(FleetAdminTrialTest, ARollbackHaltsTheRolloutThatIsUnderWay) {
  const auto halted = b_->RollBack();
  ASSERT_TRUE(halted.ok()) << halted.status();
  EXPECT_EQ(halted->digest(), first_);
  EXPECT_TRUE(halted->halted());
  EXPECT_TRUE(AllServe({a_.get(), b_.get()}, first_));
  EXPECT_EQ(ReadHead(HeadKey(a_->Key()), Read(HeadKey(a_->Key())))->head.epoch,
            1u);
  EXPECT_SOON(a_->Standing().frozen,
              HasSubstr("was halted: slower in production"));
  ASSERT_EQ(a_->Halted().size(), 1u);
  EXPECT_THAT(a_->Halted()[0], HasSubstr("user 7 halted it on node b"));
}

TEST_F(FleetAdminTrialTest, WhatWasOnTrialIsOfTheClassOnceItIsTheHead) {
  const auto how = [&] {
    return b_->tables_.Find({.kernel = "copy", .device = TestFleetDevice()})
        ->serving.record.how;
  };
  EXPECT_EQ(how(), PromotionKind::kTrial);
  FleetHead head = ReadRollout(Place(), Read(Place()))->rollout.head;
  Write(HeadKey(head.key), SignHead(head, TestSigningKey(2)));
  EXPECT_TRUE(Eventually([&] { return how() == PromotionKind::kFleet; }));
  EXPECT_EQ(b_->Serving(), second_);
  EXPECT_EQ(b_->RollBack()->digest(), first_);
}

TEST_F(FleetAdminTrialTest,
       NothingIsTakenAwayWhereNobodyStandsForWhatWasThere) {
  // One whose turn comes after that of b: it serves the head.
  std::string name = "c";
  while (RolloutNumber(second_, name) <= RolloutNumber(second_, "b"))
    name += "c";
  // Before it joins: of the stage before it would serve the table on trial.
  SetStage(RolloutNumber(second_, "b"), "");
  const auto c = JoinAs(name, 3);
  c->Trust(TrustIn({1, 2, 3}));
  b_->Trust(TrustIn({1, 2, 3}));
  ASSERT_TRUE(AllServe({c.get()}, first_));
  a_->Stop();
  const std::string revoked =
      TrustIn({2, 3}) + "revoked " + TestSigningKey(1).public_key();
  b_->Trust(revoked);
  ASSERT_TRUE(
      Eventually([&] { return !b_->fleet_->View().heads.at(0).accepted; }));
  EXPECT_EQ(b_->Serving(), second_);
  // Who serves the head signs it anew, and then there is something to go to.
  c->Trust(revoked);
  EXPECT_TRUE(AllServe({b_.get(), c.get()}, first_));
}

TEST_F(FleetAdminTest, AnOperatorPublishesWhatNoJobPromoted) {
  const auto a = JoinAs("a", 1);
  const auto b = JoinAs("b", 0);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  EXPECT_THAT(a->Publish().status().ToString(),
              AllOf(HasSubstr("ALREADY_EXISTS"), HasSubstr("epoch 1")));
  const KernelSpec& spec = **a->kernels_.Spec("copy");
  TableRecord record{.key = a->Key()};
  record.how = PromotionKind::kImported;
  const auto imported = a->tables_.Import(
      record,
      *EncodeTable(FixedTable(spec, a->Key(), spec.default_configuration, 9)));
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_TRUE(Eventually([&] { return !a->Standing().behind.empty(); }));
  EXPECT_EQ(b->Serving(), first);
  const auto published = a->Publish();
  ASSERT_TRUE(published.ok()) << published.status();
  EXPECT_EQ(published->digest(), imported->table.digest);
  EXPECT_EQ(published->epoch(), 2u);
  EXPECT_TRUE(AllServe({a.get(), b.get()}, imported->table.digest));
  EXPECT_TRUE(Eventually([&] { return a->Standing().behind.empty(); }));
  // Who has no key cannot; nor who is not trusted, or cannot reach it.
  ASSERT_TRUE(b->tables_.Retire(b->Key()).ok());
  EXPECT_THAT(b->Publish().status().ToString(), HasSubstr("NOT_FOUND"));
  EXPECT_THAT(b->RollBack(first).status().ToString(), HasSubstr("--fleet-key"));
  const auto c = JoinAs("c", 3);
  ASSERT_TRUE(AllServe({c.get()}, imported->table.digest));
  c->Profile(13);
  EXPECT_THAT(c->Publish().status().ToString(),
              HasSubstr("list of trusted keys"));
  a->registry_.Disconnect();
  EXPECT_EQ(a->Publish().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(a->Freeze("").code(), absl::StatusCode::kUnavailable);
}

TEST_F(FleetAdminTest, OrdersThatCannotBeMeantAreRefused) {
  const auto a = JoinAs("a", 1);
  v1::FreezeInFleetRequest request;
  v1::FreezeInFleetResponse response;
  EXPECT_EQ(a->admin_.Freeze(request, "7", &response).code(),
            absl::StatusCode::kInvalidArgument);
  request.mutable_place()->set_kernel("none_such");
  EXPECT_EQ(a->admin_.Freeze(request, "7", &response).code(),
            absl::StatusCode::kNotFound);
  request.mutable_place()->set_kernel("copy");
  request.mutable_place()->set_device_uuid("CPU-9");
  EXPECT_EQ(a->admin_.Freeze(request, "7", &response).code(),
            absl::StatusCode::kNotFound);
  request.mutable_place()->clear_device_uuid();
  request.set_reason(std::string(1001, 'x'));
  EXPECT_EQ(a->admin_.Freeze(request, "7", &response).code(),
            absl::StatusCode::kInvalidArgument);
  request.clear_reason();
  DeviceFacts other = TestFleetDevice();
  other.uuid = "CPU-2";
  other.driver = "2";
  ASSERT_TRUE(a->device_store_.Put({.facts = other}).ok());
  ASSERT_TRUE(a->devices_.Load().ok());
  EXPECT_THAT(a->admin_.Freeze(request, "7", &response).ToString(),
              AllOf(HasSubstr("FAILED_PRECONDITION"),
                    HasSubstr("--device CPU-1"), HasSubstr("--device CPU-2")));
  request.mutable_place()->set_device_uuid("CPU-2");
  EXPECT_TRUE(a->admin_.Freeze(request, "7", &response).ok());
  a->Stop();
  EXPECT_THAT(a->admin_.Freeze(request, "7", &response).ToString(),
              HasSubstr("in no fleet"));
}

TEST_F(FleetAdminTest, WhatOneNodeFindsWrongNoNodeServes) {
  const auto a = JoinAs("a", 1);
  const auto b = JoinAs("b", 2);
  const auto c = JoinAs("c", 0);
  const std::string wrong = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get(), c.get()}, wrong));
  b->FindWrong();
  ASSERT_TRUE(AllServe({a.get(), b.get(), c.get()}, ""));
  EXPECT_THAT(a->tables_.snapshot()->withdrawn.at(0).record.withdrawn,
              HasSubstr("node b found it wrong: BM=64"));
  EXPECT_SOON(a->fleet_->View().counts.withdrawn, 1);
  EXPECT_EQ(b->fleet_->View().counts.withdrawn, 0);
  EXPECT_SOON(a->Standing().behind, HasSubstr("withdrawn"));
  // One that joins later does not adopt it; nobody goes back to it.
  const auto d = JoinAs("d", 0);
  EXPECT_SOON(d->Standing().behind, HasSubstr("node b found it wrong"));
  EXPECT_EQ(d->Serving(), "");
  EXPECT_THAT(a->RollBack(wrong).status().ToString(),
              HasSubstr("cannot serve again"));
  // The next profile serves everywhere.
  const std::string good = a->Profile(11);
  EXPECT_TRUE(AllServe({a.get(), b.get(), c.get(), d.get()}, good));
  // Nobody tells of what it was told.
  const std::string key = WithdrawalKey(a->Key(), wrong);
  EXPECT_EQ(ReadWithdrawal(key, Read(key))->withdrawal.node, "b");
}

TEST_F(FleetAdminTest, AWithdrawalThatNobodyMaySignIsRefused) {
  const auto a = JoinAs("a", 1);
  const std::string served = a->Profile(10);
  const std::string key = HeadKey(a->Key());
  ASSERT_TRUE(Eventually([&] { return !Read(key).empty(); }));
  const FleetWithdrawal withdrawal{.fleet = "/wavetune/",
                                   .key = a->Key(),
                                   .digest = served,
                                   .node = "x",
                                   .why = "nothing"};
  FleetWithdrawal foreign = withdrawal;
  foreign.fleet = "/another/";
  int64_t refused = 0;
  for (const std::string& bytes :
       {std::string("nonsense"), SignWithdrawal(withdrawal, TestSigningKey(9)),
        SignWithdrawal(foreign, TestSigningKey(1)), Read(key)}) {
    Write(WithdrawalKey(a->Key(), served), bytes);
    ++refused;
    EXPECT_TRUE(Eventually(
        [&] { return a->fleet_->View().counts.refused_signature == refused; }));
    EXPECT_EQ(a->Serving(), served);
  }
  // One of another table, put at its place.
  FleetWithdrawal other = withdrawal;
  other.digest = std::string(64, 'e');
  EXPECT_EQ(ReadWithdrawal(WithdrawalKey(a->Key(), served),
                           SignWithdrawal(other, TestSigningKey(1)))
                .status()
                .code(),
            absl::StatusCode::kDataLoss);
  // What it finds itself takes the place of what does not count.
  a->FindWrong();
  EXPECT_TRUE(Eventually([&] {
    const std::string at = WithdrawalKey(a->Key(), served);
    const auto told = ReadWithdrawal(at, Read(at));
    return told.ok() && told->withdrawal.node == "a";
  }));
}

TEST_F(FleetAdminTest, WithdrawalsOfNobodyKeepOutNoTrueOne) {
  const auto a = JoinAs("a", 1);
  const std::string served = a->Profile(10);
  ASSERT_TRUE(Eventually([&] { return !Read(HeadKey(a->Key())).empty(); }));
  FleetWithdrawal withdrawal{.fleet = "/wavetune/",
                             .key = a->Key(),
                             .node = "x",
                             .why = "it is wrong"};
  const auto tell = [&](const std::string& digest, char key) {
    withdrawal.digest = digest;
    Write(WithdrawalKey(a->Key(), digest),
          SignWithdrawal(withdrawal, TestSigningKey(key)));
  };
  // Of tables that nobody serves, and that come first in each listing.
  const auto tell_of_nothing = [&](size_t tables, char key) {
    FakeFleetRegistry somebody(&fleet_);
    std::vector<FleetWrite> writes;
    for (size_t i = 0; i < tables; ++i) {
      withdrawal.digest = absl::StrFormat("%064d", static_cast<int>(i));
      writes.push_back(
          {.key = WithdrawalKey(a->Key(), withdrawal.digest),
           .value = SignWithdrawal(withdrawal, TestSigningKey(key))});
      if (writes.size() < FleetRegistry::kMaxWrites && i + 1 < tables) continue;
      EXPECT_TRUE(somebody.Commit(writes).ok());
      writes.clear();
    }
  };
  tell_of_nothing(FleetTables::kMostWithdrawals, 9);
  tell(served, 2);
  EXPECT_TRUE(AllServe({a.get()}, ""));
  // Nor do a hundred of one who may.
  const std::string good = a->Profile(11);
  ASSERT_TRUE(AllServe({a.get()}, good));
  tell_of_nothing(FleetTables::kMostWithdrawals + 1, 2);
  tell(good, 2);
  EXPECT_TRUE(AllServe({a.get()}, ""));
  // What there was no place for is asked for before it would serve.
  const auto b = JoinAs("b", 2);
  const std::string wrong = a->Profile(12);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, wrong));
  tell(wrong, 2);
  EXPECT_TRUE(AllServe({a.get(), b.get()}, ""));
  const auto late = JoinAs("late", 0);
  EXPECT_SOON(late->Standing().behind, HasSubstr("was withdrawn"));
  EXPECT_EQ(late->Serving(), "");
}

// Freezes are signed by nobody, and come before withdrawals in each listing.
TEST_F(FleetAdminTest, OrdersOfNobodyTakeNoPlaceFromATableThatServes) {
  const ProfileKey key = JoinAs("somebody", 0)->Key();
  FakeFleetRegistry somebody(&fleet_);
  std::vector<FleetWrite> writes;
  for (size_t i = 0; i < FleetTables::kMostHeads; ++i) {
    writes.push_back(
        {.key = FreezeKey(FleetClass(key), absl::StrFormat("a%04d", i)),
         .value = "nothing"});
    if (writes.size() < FleetRegistry::kMaxWrites &&
        i + 1 < FleetTables::kMostHeads)
      continue;
    ASSERT_TRUE(somebody.Commit(writes).ok());
    writes.clear();
  }
  const auto a = JoinAs("a", 0);
  const KernelSpec& spec = **a->kernels_.Spec("copy");
  TableRecord record{.key = key};
  record.how = PromotionKind::kImported;
  const auto imported = a->tables_.Import(
      record,
      *EncodeTable(FixedTable(spec, key, spec.default_configuration, 10)));
  ASSERT_TRUE(imported.ok()) << imported.status();
  const std::string& wrong = imported->table.digest;
  ASSERT_EQ(a->Serving(), wrong);
  Write(WithdrawalKey(key, wrong), SignWithdrawal({.fleet = "/wavetune/",
                                                   .key = key,
                                                   .digest = wrong,
                                                   .node = "x",
                                                   .why = "it is wrong"},
                                                  TestSigningKey(2)));
  EXPECT_TRUE(AllServe({a.get()}, ""));
}

TEST_F(FleetAdminTest, ARotationOfKeysTakesNoWithdrawalAway) {
  const auto a = JoinAs("a", 1);
  const auto c = JoinAs("c", 0);
  auto b = JoinAs("b", 2);
  const std::string wrong = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get(), c.get()}, wrong));
  b->FindWrong();
  ASSERT_TRUE(AllServe({a.get(), b.get(), c.get()}, ""));
  b = nullptr;
  const std::string trusted =
      TrustIn({1}) + "revoked " + TestSigningKey(2).public_key() + "\n";
  a->Trust(trusted);
  c->Trust(trusted);
  const std::string key = WithdrawalKey(a->Key(), wrong);
  EXPECT_TRUE(Eventually([&] {
    const auto told = ReadWithdrawal(key, Read(key));
    return told.ok() && told->withdrawal.node == "a";
  }));
  EXPECT_EQ(ReadWithdrawal(key, Read(key))->withdrawal.why,
            "node b found it wrong: BM=64 computes wrong results");
  const auto late = std::make_unique<OperatedNode>(&fleet_, folder_ / "kernels",
                                                   "late", 0, trusted);
  EXPECT_SOON(late->Standing().behind, HasSubstr("node a found it wrong"));
  EXPECT_EQ(late->Serving(), "");
}

TEST_F(FleetAdminTest, NobodyGoesBackToWhatAMisusedKeyCallsThePast) {
  const auto a = JoinAs("a", 1);
  const auto b = JoinAs("b", 2);
  const std::string first = a->Profile(10);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, first));
  const std::string second = b->Profile(11);
  ASSERT_TRUE(Eventually([&] {
    const FleetView::Standing standing = a->Standing();
    return standing.accepted && standing.accepted->digest == second &&
           standing.accepted->before.size() == 1;
  }));
  a->Trust(TrustIn({1}) + "revoked " + TestSigningKey(2).public_key() +
           " misused\n");
  EXPECT_THAT(a->RollBack().status().ToString(),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("--to DIGEST")));
  EXPECT_EQ(a->Serving(), second);
  // What this node itself has found is another matter.
  ASSERT_TRUE(a->RollBack(first).ok());
  EXPECT_TRUE(AllServe({a.get()}, first));
  const std::string key = HeadKey(a->Key());
  EXPECT_TRUE(ReadHead(key, Read(key))->head.before.empty());
}

TEST_F(FleetAdminTest, AWithdrawalCountsWhenItsKeyIsBelieved) {
  const auto a = JoinAs("a", 1);
  const std::string served = a->Profile(10);
  ASSERT_TRUE(Eventually([&] { return !Read(HeadKey(a->Key())).empty(); }));
  Write(WithdrawalKey(a->Key(), served), SignWithdrawal({.fleet = "/wavetune/",
                                                         .key = a->Key(),
                                                         .digest = served,
                                                         .node = "x",
                                                         .why = "it is wrong"},
                                                        TestSigningKey(9)));
  ASSERT_TRUE(Eventually(
      [&] { return a->fleet_->View().counts.refused_signature == 1; }));
  EXPECT_EQ(a->Serving(), served);
  a->Trust(TrustIn({1, 2, 9}));
  EXPECT_TRUE(AllServe({a.get()}, ""));
}

}  // namespace
}  // namespace wavetune::testing
