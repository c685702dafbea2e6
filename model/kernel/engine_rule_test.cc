#include "model/kernel/engine_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/kernel/served_layers.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What get_default_config of vLLM 0.33.0 and SGLang 0.5.23 return.
TEST(EngineRuleTest, AnswersAsTheEngines) {
  EXPECT_THAT(*EngineRule("vllm", 1, 128), ElementsAre(16, 64, 128, 1, 4, 4));
  EXPECT_THAT(*EngineRule("vllm", 33, 128), ElementsAre(32, 64, 128, 1, 4, 3));
  EXPECT_THAT(*EngineRule("vllm", 65, 128), ElementsAre(32, 128, 64, 1, 4, 3));
  EXPECT_THAT(*EngineRule("vllm", 128, 128), ElementsAre(64, 128, 64, 1, 4, 3));
  EXPECT_THAT(*EngineRule("vllm", 512, 128), ElementsAre(64, 128, 64, 1, 8, 3));
  EXPECT_THAT(*EngineRule("vllm", 513, 8), ElementsAre(128, 128, 64, 1, 8, 3));
  EXPECT_THAT(*EngineRule("vllm", 8 * 129, 8),
              ElementsAre(128, 128, 64, 16, 8, 3));
  EXPECT_THAT(*EngineRule("sglang", 128, 128),
              ElementsAre(16, 32, 64, 1, 4, 3));
  EXPECT_THAT(*EngineRule("sglang", 129, 128),
              ElementsAre(64, 64, 32, 8, 4, 3));
  EXPECT_FALSE(EngineRule("another", 1, 128));
}

KernelSpec Moe(std::vector<std::string> engines) {
  KernelSpec spec;
  spec.dimensions = {{.name = "tokens", .repeated = true, .min = 0},
                     {.name = "n"},
                     {.name = "k"},
                     {.name = "top_k"}};
  spec.serves = ServedMoe{
      .tokens = 0, .n = 1, .k = 2, .top_k = 3, .engines = std::move(engines)};
  // In another order than the engines'.
  spec.parameters = {{.name = "num_warps", .values = {4, 8}},
                     {.name = "num_stages", .values = {3, 4}},
                     {.name = "BLOCK_SIZE_M", .values = {16, 64, 128}},
                     {.name = "BLOCK_SIZE_N", .values = {64, 128}},
                     {.name = "BLOCK_SIZE_K", .values = {32, 64, 128}},
                     {.name = "GROUP_SIZE_M", .values = {1, 8}}};
  spec.default_configuration = {4, 3, 64, 64, 32, 8};
  return spec;
}

TEST(EngineRuleTest, TokensAreSlotsByTopK) {
  const std::vector<int64_t> slots = {60, 40, 0, 100};  // 100 tokens.
  const std::vector<Rival> rivals =
      EngineRivals(Moe({"vllm"}), {{0, 256, 256, 2}, slots});
  ASSERT_THAT(rivals, SizeIs(1));
  EXPECT_EQ(rivals[0].name, "vllm's rule");
  EXPECT_EQ(rivals[0].configuration, (Configuration{4, 3, 64, 128, 64, 1}));
}

TEST(EngineRuleTest, LeavesOutWhatTheKernelCannotLaunch) {
  const std::vector<int64_t> one = {1, 1, 0, 0};
  // SGLang's narrow tile is not in the space, its other one is.
  EXPECT_THAT(EngineRivals(Moe({"sglang"}), {{0, 256, 256, 2}, one}),
              IsEmpty());
  const std::vector<int64_t> many = {10, 10, 0, 0};
  EXPECT_THAT(EngineRivals(Moe({"sglang"}), {{0, 256, 256, 2}, many}),
              SizeIs(1));
  KernelSpec other = Moe({"vllm"});
  other.parameters[2].name = "ROWS";
  EXPECT_THAT(EngineRivals(other, {{0, 256, 256, 2}, one}), IsEmpty());
  EXPECT_THAT(EngineRivals(testing::GemmSpec(), {{64, 64, 64}}), IsEmpty());
}

TEST(EngineRuleTest, WhatARuleDoesNotNameHasTheKernelsDefault) {
  const std::vector<int64_t> many = {10, 10, 0, 0};
  KernelSpec spec = Moe({"sglang"});
  spec.parameters.push_back({.name = "USE_TMA", .values = {0, 1}});
  spec.default_configuration = {4, 3, 64, 128, 64, 1, 0};
  const std::vector<Rival> rivals =
      EngineRivals(spec, {{0, 256, 256, 2}, many});
  ASSERT_THAT(rivals, SizeIs(1));
  EXPECT_EQ(rivals[0].configuration, (Configuration{4, 3, 64, 64, 32, 8, 0}));
}

TEST(EngineRuleTest, EveryStepOfARuleIsOneOfItsConfigurations) {
  const KernelSpec spec = Moe({"vllm", "sglang"});
  const std::vector<Configuration> all = EngineConfigurations(spec);
  for (int64_t tokens = 1; tokens < 3000; tokens += 1 + tokens / 50) {
    const std::vector<int64_t> slots = {2 * tokens, 0, 0, 0};
    for (const Rival& rival : EngineRivals(spec, {{0, 256, 256, 2}, slots})) {
      EXPECT_THAT(all, ::testing::Contains(rival.configuration));
    }
  }
  EXPECT_THAT(EngineConfigurations(testing::GemmSpec()), IsEmpty());
}

TEST(EngineRuleTest, WithoutATableTheFirstEnginesRuleIsLaunched) {
  const Problem problem{.extents = {0, 256, 256, 2},
                        .repeated = {60, 40, 0, 100}};
  KernelSpec spec = Moe({"vllm", "sglang"});
  const auto all = [](const Configuration&) { return true; };
  EXPECT_EQ(WithoutTable(spec, problem, all),
            (Rival{"vllm's rule", {4, 3, 64, 128, 64, 1}}));
  spec = testing::GemmSpec();
  EXPECT_EQ(WithoutTable(spec, {{64, 64, 64}}, all),
            (Rival{"", spec.default_configuration}));
}

TEST(EngineRuleTest, WithoutATableTheFirstFileThatCanBeLaunchedIs) {
  const Problem problem{.extents = {0, 256, 256, 2},
                        .repeated = {60, 40, 0, 100}};
  KernelSpec spec = Moe({"vllm"});
  const Rival fast{"vllm's file", {4, 3, 16, 64, 64, 1}, "GPU"};
  const Rival large{"sglang's file", {8, 3, 128, 128, 64, 1}, "GPU"};
  spec.representative_problems = {
      {.problem = problem, .rivals = {large, fast}}};
  const auto small = [](const Configuration& configuration) {
    return configuration.values()[2] < 128;
  };
  EXPECT_EQ(WithoutTable(spec, problem, small), fast);
  const auto none = [](const Configuration&) { return false; };
  EXPECT_EQ(WithoutTable(spec, problem, none).name, "vllm's rule");
  Problem other = problem;
  other.repeated = {100, 40, 0, 60};
  EXPECT_EQ(WithoutTable(spec, other, small).name, "vllm's rule");
}

TEST(EngineRuleTest, ALaunchIsReadByTheNamesOfParameters) {
  KernelSpec spec = Moe({"sglang"});
  std::map<std::string, int64_t> launch = {
      {"BLOCK_SIZE_M", 16}, {"num_warps", 8}, {"USE_TMA", 0}};
  // What it does not name is as in the default, 0 says nothing.
  EXPECT_EQ(ConfigurationOf(spec, launch),
            (Configuration{8, 3, 16, 64, 32, 8}));
  launch["USE_TMA"] = 1;
  EXPECT_EQ(ConfigurationOf(spec, launch), std::nullopt);
  spec.parameters.push_back({.name = "USE_TMA", .values = {0, 1}});
  spec.default_configuration = {4, 3, 64, 64, 32, 8, 0};
  EXPECT_EQ(ConfigurationOf(spec, launch),
            (Configuration{8, 3, 16, 64, 32, 8, 1}));
  launch["num_warps"] = 3;
  EXPECT_EQ(ConfigurationOf(spec, launch), std::nullopt);
}

}  // namespace
}  // namespace wavetune
