// What operators order on nodes of one fleet, and what follows on the others.
#include "server/fleet/fleet_admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/status_macros.h"
#include "server/fleet/fleet_fixture.h"
#include "server/fleet/fleet_orders.h"

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
      const std::string& digest = "") {
    v1::RollBackFleetRequest request;
    request.mutable_place()->set_kernel("copy");
    request.set_digest(digest);
    request.set_reason("slower in production");
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
                     .kernels = &kernels_,
                     .samples = &samples_}};
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
  ASSERT_TRUE(Eventually([&] {
    return b->Standing().behind.find("fleet unfreeze") != std::string::npos;
  }));
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
  ASSERT_TRUE(Eventually([&] { return !a->Standing().behind.empty(); }));
  EXPECT_THAT(a->Standing().behind, HasSubstr("cannot read"));
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
  EXPECT_TRUE(Eventually([&] {
    return a->Standing().behind.find("rolled back to table") !=
           std::string::npos;
  }));
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
  EXPECT_EQ(a->fleet_->View().counts.withdrawn, 1);
  EXPECT_EQ(b->fleet_->View().counts.withdrawn, 0);
  EXPECT_THAT(a->Standing().behind, HasSubstr("withdrawn"));
  // One that joins later does not adopt it; nobody goes back to it.
  const auto d = JoinAs("d", 0);
  ASSERT_TRUE(Eventually([&] { return !d->Standing().behind.empty(); }));
  EXPECT_EQ(d->Serving(), "");
  EXPECT_THAT(d->Standing().behind, HasSubstr("node b found it wrong"));
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
