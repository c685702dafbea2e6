#include "server/fleet/fleet_rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

FleetRollout InStage(int32_t stage, int count) {
  FleetRollout rollout{.plan = {{10, 50, 100}, 30}, .stage = stage};
  rollout.threshold = RolloutThreshold(
      "d", rollout.plan.stages[static_cast<size_t>(stage)], Names(count));
  return rollout;
}

FleetHead TheHead() {
  return {.key = {.kernel = "gemm", .silicon_key = "s"},
          .digest = "d",
          .node = "origin"};
}

// With the node whose table it is, which serves it.
RolloutStep Next(const FleetRollout& rollout, std::vector<FleetNode> nodes,
                 double in_stage_s) {
  nodes.push_back({.node = "origin",
                   .classes = {FleetClass("s", "")},
                   .tables = {{.fleet_class = FleetClass("s", ""),
                               .kernel = "gemm",
                               .trial_digest = "d"}}});
  return NextRolloutStep(rollout, TheHead(), nodes, in_stage_s);
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
  const RolloutStep step =
      NextRolloutStep(last, TheHead(), others, kMostStageS + 31);
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

TEST(FleetRolloutTest, WhatIsNoRolloutIsRefused) {
  const FleetRollout rollout = InStage(1, 5);
  EXPECT_EQ(*DecodeFleetRollout("p", EncodeFleetRollout(rollout)), rollout);
  EXPECT_FALSE(DecodeFleetRollout("p", "nothing").ok());
  FleetRollout beyond = rollout;
  beyond.stage = 3;
  EXPECT_FALSE(DecodeFleetRollout("p", EncodeFleetRollout(beyond)).ok());
}

}  // namespace
}  // namespace wavetune::testing
