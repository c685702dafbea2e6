#include "server/fleet/fleet_rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "proto/wavetune/v1/fleet.pb.h"
#include "server/fleet/fleet_test_support.h"

namespace wavetune::testing {
namespace {

using ::testing::HasSubstr;
using Kind = RolloutStep::Kind;

std::vector<std::string> Names(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("node-" + std::to_string(i));
  return names;
}

// Nodes of which those of the stage serve the table.
std::vector<FleetNode> Serving(const FleetRollout& rollout, int count) {
  std::vector<FleetNode> nodes;
  for (const std::string& name : Names(count)) {
    FleetNode::Table table{.fleet_class = FleetClass("s", ""),
                           .kernel = "gemm"};
    if (RolloutNumber("d", name) <= rollout.threshold) table.trial_digest = "d";
    nodes.push_back(
        {.node = name, .classes = {FleetClass("s", "")}, .tables = {table}});
  }
  return nodes;
}

FleetHead TheHead() {
  return {.key = {.kernel = "gemm", .silicon_key = "s"},
          .digest = "d",
          .node = "origin"};
}

FleetRollout InStage(int32_t stage, int count) {
  FleetRollout rollout{
      .head = TheHead(), .plan = {{10, 50, 100}, 30}, .stage = stage};
  rollout.threshold = RolloutThreshold(
      "d", rollout.plan.stages[static_cast<size_t>(stage)], Names(count));
  return rollout;
}

// With the node whose table it is, which serves it.
RolloutStep Next(const FleetRollout& rollout, std::vector<FleetNode> nodes,
                 double in_stage_s) {
  nodes.push_back({.node = "origin",
                   .classes = {FleetClass("s", "")},
                   .tables = {{.fleet_class = FleetClass("s", ""),
                               .kernel = "gemm",
                               .trial_digest = "d"}}});
  return NextRolloutStep(rollout, nodes, in_stage_s);
}

TEST(FleetRolloutTest, TakesThePercentOfNodesThatAStageSays) {
  const auto taken = [](int32_t percent, int count) {
    const uint32_t threshold = RolloutThreshold("d", percent, Names(count));
    int nodes = 0;
    for (const std::string& name : Names(count))
      nodes += RolloutNumber("d", name) <= threshold ? 1 : 0;
    return nodes;
  };
  EXPECT_EQ(taken(10, 100), 10);
  EXPECT_EQ(taken(1, 20), 1);
  EXPECT_EQ(taken(50, 3), 2);
  EXPECT_EQ(taken(100, 7), 7);
}

TEST(FleetRolloutTest, GoesOnWhenAllOfAStageServeItForItsTime) {
  const FleetRollout first = InStage(0, 20);
  std::vector<FleetNode> nodes = Serving(first, 20);
  EXPECT_EQ(Next(first, nodes, 29).kind, Kind::kWait);
  EXPECT_EQ(Next(first, nodes, 31).kind, Kind::kAdvance);
  // One that is late holds it up for a while, and not for ever.
  for (FleetNode& node : nodes) {
    if (node.tables[0].trial_digest.empty()) continue;
    node.tables[0].trial_digest.clear();
    break;
  }
  EXPECT_EQ(Next(first, nodes, 31).kind, Kind::kWait);
  EXPECT_EQ(Next(first, nodes, kMostStageS + 1).kind, Kind::kAdvance);
  const FleetRollout last = InStage(2, 20);
  EXPECT_EQ(Next(last, Serving(last, 20), 31).kind, Kind::kFinish);
}

TEST(FleetRolloutTest, HaltsWhereNodesAreNotWell) {
  const FleetRollout second = InStage(1, 40);
  std::vector<FleetNode> nodes = Serving(second, 40);  // 20 serve it.
  int unwell = 0;
  for (FleetNode& node : nodes) {
    if (node.tables[0].trial_digest.empty() || unwell == 3) continue;
    node.tables[0].trial_problem = "slower than the default";
    EXPECT_EQ(Next(second, nodes, 31).kind,
              ++unwell <= 2 ? Kind::kAdvance : Kind::kHalt);
  }
  EXPECT_THAT(Next(second, nodes, 31).why,
              HasSubstr("slower than the default"));
  // Nobody but its own node could serve it.
  nodes = Serving(second, 40);
  for (FleetNode& node : nodes) node.tables[0].trial_digest.clear();
  EXPECT_EQ(Next(second, nodes, 31).kind, Kind::kWait);
  EXPECT_EQ(Next(second, nodes, kMostStageS + 1).kind, Kind::kHalt);
}

TEST(FleetRolloutTest, ANodeAloneInItsClassWaitsForNobody) {
  const FleetRollout last = InStage(2, 1);
  std::vector<FleetNode> others = Serving(last, 3);
  for (FleetNode& node : others) node.classes = {"other"};
  for (FleetNode& node : others) node.tables[0].fleet_class = "other";
  EXPECT_EQ(Next(last, others, 29).kind, Kind::kWait);
  EXPECT_EQ(Next(last, others, 31).kind, Kind::kFinish);
}

TEST(FleetRolloutTest, WaitsWhereNoNodeOfItsClassShowsItself) {
  const FleetRollout last = InStage(2, 1);
  std::vector<FleetNode> others = Serving(last, 3);
  for (FleetNode& node : others) node.classes = {"other"};
  const RolloutStep step = NextRolloutStep(last, others, kMostStageS + 31);
  EXPECT_EQ(step.kind, Kind::kWait);
  EXPECT_THAT(step.why, HasSubstr("not even this one"));
}

TEST(FleetRolloutTest, APlanThatIsWrongSaysSo) {
  EXPECT_TRUE(CheckRolloutPlan({{10, 100}, 60}).ok());
  for (const RolloutPlan& plan :
       {RolloutPlan{{}, 0}, RolloutPlan{{10, 50}, 0}, RolloutPlan{{0, 100}, 0},
        RolloutPlan{{50, 50, 100}, 0}, RolloutPlan{{100}, -1}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckRolloutPlan(plan)));
  }
}

class SignedRolloutTest : public ::testing::Test {
 protected:
  SignedRolloutTest() {
    rollout_.head = TestHead();
    rollout_.plan = {{10, 50, 100}, 30};
    rollout_.head_revision = 12;
    begun_ = SignRollout(rollout_, TestSigningKey(1));
    place_ = RolloutPlace(rollout_.head.key);
    rollout_.stage = 1;
    rollout_.stage_since_us = 77;
    rollout_.threshold = 5;
    rollout_.node = "driver";
  }

  FleetRollout rollout_;
  std::string begun_;
  std::string place_;
};

TEST_F(SignedRolloutTest, SaysWhoPlannedAndWhoDrivesIt) {
  const auto begun = ReadRollout(place_, begun_);
  ASSERT_TRUE(begun.ok()) << begun.status();
  EXPECT_EQ(begun->rollout.head, TestHead());
  EXPECT_EQ(begun->rollout.head_revision, 12);
  EXPECT_EQ(begun->rollout.threshold, 0u);
  EXPECT_EQ(begun->plan_key, TestSigningKey(1).public_key());
  EXPECT_EQ(begun->stage_key, "");
  const auto read = ReadRollout(place_, SignStage(rollout_, TestSigningKey(2)));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->rollout, rollout_);
  EXPECT_EQ(read->plan_key, TestSigningKey(1).public_key());
  EXPECT_EQ(read->stage_key, TestSigningKey(2).public_key());
}

TEST_F(SignedRolloutTest, ItsHeadIsNone) {
  const std::string at = HeadKey(rollout_.head.key);
  v1::FleetRollout entry;
  ASSERT_TRUE(entry.ParseFromString(begun_));
  EXPECT_EQ(ReadHead(at, entry.plan()).status().code(),
            absl::StatusCode::kPermissionDenied);
  // Nor is a head a plan, or another plan's stage this one's.
  entry.set_plan(SignHead(rollout_.head, TestSigningKey(1)));
  EXPECT_FALSE(ReadRollout(place_, entry.SerializeAsString()).ok());
  FleetRollout other = rollout_;
  other.plan.hold_s = 0;
  SignRollout(other, TestSigningKey(1));
  v1::FleetRollout staged;
  ASSERT_TRUE(staged.ParseFromString(SignStage(other, TestSigningKey(2))));
  ASSERT_TRUE(entry.ParseFromString(begun_));
  entry.set_stage(staged.stage());
  const auto mixed = ReadRollout(place_, entry.SerializeAsString());
  ASSERT_TRUE(mixed.ok()) << mixed.status();
  EXPECT_NE(mixed->stage_refused, "");
  EXPECT_EQ(mixed->rollout.threshold, 0u);
}

TEST_F(SignedRolloutTest, AThresholdThatNobodySignedIsNone) {
  v1::FleetRollout entry;
  ASSERT_TRUE(entry.ParseFromString(SignStage(rollout_, TestSigningKey(2))));
  v1::FleetEnvelope envelope;
  ASSERT_TRUE(envelope.ParseFromString(entry.stage()));
  v1::FleetStageContent stage;
  ASSERT_TRUE(stage.ParseFromString(envelope.content()));
  stage.set_threshold(UINT32_MAX);
  envelope.set_content(stage.SerializeAsString());
  entry.set_stage(envelope.SerializeAsString());
  const auto read = ReadRollout(place_, entry.SerializeAsString());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->rollout.threshold, 0u);
  EXPECT_EQ(read->rollout.stage_since_us, 0);
  EXPECT_NE(read->stage_refused, "");
}

TEST_F(SignedRolloutTest, WhatIsNoRolloutIsRefused) {
  EXPECT_FALSE(ReadRollout(place_, "nothing").ok());
  EXPECT_FALSE(ReadRollout(place_, "").ok());
  EXPECT_EQ(ReadRollout(place_ + "x", begun_).status().code(),
            absl::StatusCode::kDataLoss);
  rollout_.stage = 3;  // Beyond its last one.
  EXPECT_NE(ReadRollout(place_, SignStage(rollout_, TestSigningKey(2)))
                ->stage_refused,
            "");
  rollout_.plan.stages = {50, 10};
  EXPECT_FALSE(
      ReadRollout(place_, SignRollout(rollout_, TestSigningKey(1))).ok());
  v1::FleetRollout later;
  later.set_format(2);
  EXPECT_EQ(ReadRollout(place_, later.SerializeAsString()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace wavetune::testing
