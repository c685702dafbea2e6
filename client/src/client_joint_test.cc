// Launches that agree on a configuration (Tuner::ResolveTogether).
#include <memory>
#include <string>
#include <vector>

#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/expert_table.h"
#include "wavetune/client.h"
#include "wavetune/tuner.h"

namespace wavetune {
namespace {

using testing::ExpertTable;
using testing::FakeNode;
using testing::Serve;

class ClientJointTest : public ::testing::Test {
 protected:
  ClientJointTest() { node_.AddTable(Serve(ExpertTable(/*seed=*/1))); }

  Tuner GetTuner(const std::string& specialisation) {
    if (client_ == nullptr) {
      client_ = Client::Connect({.endpoint = node_.endpoint(),
                                 .cache_dir = node_.cache_dir()})
                    .value();
    }
    return client_
        ->GetTuner("triton_fused_moe", {.specialisation = specialisation})
        .value();
  }

  std::vector<JointProblem> Layer() const {
    return {{"gate_up", {gate_up_, slots_}}, {"down", {down_, slots_}}};
  }
  static std::vector<Decision> Ask(const Tuner& tuner,
                                   const std::vector<JointProblem>& problems,
                                   const std::vector<int>& shared = {}) {
    std::vector<Decision> decisions(problems.size());
    tuner.ResolveTogether(problems, shared, absl::MakeSpan(decisions));
    return decisions;
  }

  FakeNode node_;
  std::unique_ptr<Client> client_;
  const std::vector<int64_t> slots_ = std::vector<int64_t>(128, 94);
  const std::vector<int64_t> gate_up_ = {0, 1536, 2048, 8};
  const std::vector<int64_t> down_ = {0, 2048, 768, 8};
};

TEST_F(ClientJointTest, BothProductsOfALayerGetOneConfiguration) {
  const std::vector<Decision> decisions = Ask(GetTuner("gate_up"), Layer());
  EXPECT_EQ(decisions[0].source, DecisionSource::kFitted);
  EXPECT_EQ(decisions[0].configuration, decisions[1].configuration);
  EXPECT_NE(decisions[0].latency_us, decisions[1].latency_us);
}

TEST_F(ClientJointTest, NoOtherCommonConfigurationIsPredictedToTakeLess) {
  const Tuner gate_up = GetTuner("gate_up");
  const Tuner down = GetTuner("down");
  const std::vector<Decision> decisions = Ask(gate_up, Layer());
  const double sum_us = decisions[0].latency_us + decisions[1].latency_us;
  int common = 0;
  for (const ExplainedGroup& first : gate_up.Explain({gate_up_, slots_})) {
    for (const ExplainedGroup& second : down.Explain({down_, slots_})) {
      if (first.configuration != second.configuration) continue;
      ++common;
      // The table's near ties go to the earlier candidate.
      EXPECT_LE(sum_us,
                (first.latency_us + second.latency_us) * (1 + 1. / 256));
    }
  }
  EXPECT_GT(common, 10);
}

TEST_F(ClientJointTest, WhatIsNotSharedIsDecidedForEach) {
  const Tuner tuner = GetTuner("gate_up");
  const std::vector<Decision> all = Ask(tuner, Layer());
  const std::vector<Decision> row_tile =
      Ask(tuner, Layer(), {tuner.ParameterIndex("BLOCK_SIZE_M")});
  EXPECT_EQ(row_tile[0].configuration[0], row_tile[1].configuration[0]);
  EXPECT_NE(row_tile[0].configuration, row_tile[1].configuration);
  EXPECT_LT(row_tile[0].latency_us + row_tile[1].latency_us,
            all[0].latency_us + all[1].latency_us);
}

TEST_F(ClientJointTest, TunersOfEverySpecialisationAnswerAlike) {
  EXPECT_EQ(Ask(GetTuner("gate_up"), Layer()), Ask(GetTuner("down"), Layer()));
}

TEST_F(ClientJointTest, OneIllegalProblemMakesAllOfThemTheDefault) {
  const Tuner tuner = GetTuner("gate_up");
  std::vector<JointProblem> layer = Layer();
  const std::vector<int64_t> none = {0, 0, 768, 8};
  layer[1].problem = {none, slots_};
  for (const Decision& decision : Ask(tuner, layer)) {
    EXPECT_EQ(decision.reason, DefaultReason::kExtentOutOfRange);
    EXPECT_EQ(decision.configuration, tuner.default_configuration());
  }
  layer[1] = {"sideways", {down_, slots_}};
  for (const Decision& decision : Ask(tuner, layer))
    EXPECT_EQ(decision.reason, DefaultReason::kUnknownSpecialisation);
}

TEST_F(ClientJointTest, TooManyOrNoProblemsAreAnsweredWithTheDefault) {
  const Tuner tuner = GetTuner("gate_up");
  const std::vector<JointProblem> many(kMaxJointProblems + 1, Layer()[0]);
  for (const Decision& decision : Ask(tuner, many))
    EXPECT_EQ(decision.reason, DefaultReason::kWrongDimensionCount);
  Decision alone;
  tuner.ResolveTogether({}, {}, absl::MakeSpan(&alone, 1));
  EXPECT_EQ(alone.reason, DefaultReason::kWrongDimensionCount);
}

TEST_F(ClientJointTest, WithoutATableAllAreTheDefault) {
  node_.AddKernel(testing::AddKernelStatus());
  const auto off = Client::Connect({.endpoint = node_.endpoint(),
                                    .cache_dir = node_.cache_dir(),
                                    .mode = ClientMode::kOff})
                       .value();
  const Tuner tuner = off->GetTuner("add").value();
  const std::vector<int64_t> extents = {1000};
  for (const Decision& decision :
       Ask(tuner, {{"", {extents}}, {"", {extents}}})) {
    EXPECT_EQ(decision.reason, DefaultReason::kNoTable);
    EXPECT_EQ(decision.configuration, tuner.default_configuration());
  }
}

}  // namespace
}  // namespace wavetune
