#include "formats/workload/layer_problems.h"

#include <string>
#include <variant>
#include <vector>

#include "formats/workload/model_config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"
#include "wavetune/expected_routing.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One layer, which stands twice.
ModelLayers TwoAlike() {
  ModelLayers layers;
  layers.linear = {
      {.name = "q", .n = 64, .k = 32, .layers = 3},
      {.name = "lm_head", .n = 640, .k = 32, .layers = 1, .of_sequences = true},
      {.name = "o", .n = 64, .k = 32, .layers = 3}};
  return layers;
}

KernelSpec Linear() {
  KernelSpec spec = testing::GemmSpec();
  spec.serves = ServedLinear{.m = 0, .n = 1, .k = 2};
  return spec;
}

std::vector<int64_t> Extents(const LayerProblems& layer, size_t dimension) {
  std::vector<int64_t> extents;
  for (const WeightedProblem& weighted : layer.problems) {
    extents.push_back(weighted.problem.extents[dimension]);
  }
  return extents;
}

TEST(LayerProblemsTest, AKernelThatServesNothingHasNoProblems) {
  EXPECT_THAT(
      ProblemsOf(TwoAlike(), 100, testing::GemmSpec(), TokenCounts::kProfiled),
      IsEmpty());
}

TEST(LayerProblemsTest, EqualLayersAreOneAndWeighAsMuch) {
  const auto made =
      ProblemsOf(TwoAlike(), 600, Linear(), TokenCounts::kProfiled);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].layer, "q and o, n = 64, k = 32");
  EXPECT_EQ(made[0].layers, 6);
  EXPECT_THAT(Extents(made[0], 0),
              ElementsAre(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128,
                          192, 256, 384, 512, 600));
  EXPECT_EQ(made[0].problems[0].problem.extents,
            (std::vector<int64_t>{1, 64, 32}));
  EXPECT_DOUBLE_EQ(made[0].problems[0].weight, 1.0 / 19);
}

TEST(LayerProblemsTest, LayersOfOtherTypesAreNoProblems) {
  ModelLayers layers = TwoAlike();
  layers.linear[0].type = "fp8";
  KernelSpec spec = Linear();
  const auto counts = [&] {
    std::vector<size_t> of_layers;
    for (const LayerProblems& layer :
         ProblemsOf(layers, 600, spec, TokenCounts::kProfiled)) {
      of_layers.push_back(layer.problems.size());
    }
    return of_layers;
  };
  EXPECT_THAT(counts(), ElementsAre(0, 16, 19));
  EXPECT_EQ(
      ProblemsOf(layers, 600, spec, TokenCounts::kProfiled)[0].why_left_out,
      "it runs in fp8, which is none of the kernel's types");
  spec.served_types = {"bfloat16"};
  EXPECT_THAT(counts(), ElementsAre(0, 16, 19));
  spec.served_types = {"fp8"};
  EXPECT_THAT(counts(), ElementsAre(19, 0, 0));
  spec.served_types = {"fp8", "float16"};
  EXPECT_THAT(counts(), ElementsAre(19, 16, 19));
}

TEST(LayerProblemsTest, LogitsAreOfSequences) {
  const auto made =
      ProblemsOf(TwoAlike(), 600, Linear(), TokenCounts::kProfiled);
  EXPECT_EQ(Extents(made[1], 0).back(), 256);
}

TEST(LayerProblemsTest, WhatTheKernelCannotTakeIsLeftOutWithItsReason) {
  KernelSpec spec = Linear();
  spec.limits.max_elements = 100 * 64;
  const auto made = ProblemsOf(TwoAlike(), 600, spec, TokenCounts::kProfiled);
  EXPECT_EQ(Extents(made[0], 0).back(), 96);
  EXPECT_EQ(made[0].left_out, 6);
  EXPECT_THAT(made[0].why_left_out,
              HasSubstr("above limits.max_elements = 6400"));
}

KernelSpec Grouped() {
  KernelSpec spec = testing::GroupedGemmSpec();
  spec.dimensions[0].min = 0;
  spec.serves = ServedMoe{.tokens = 0, .n = 1, .k = 2};
  return spec;
}

ModelLayers EightExperts() {
  ModelLayers layers;
  layers.moe = {{.experts = 8,
                 .local_experts = 8,
                 .top_k = 2,
                 .hidden = 32,
                 .intermediate = 64,
                 .layers = 5}};
  return layers;
}

using Routed = std::vector<std::vector<int64_t>>;

Routed RoutedOf(const LayerProblems& layer) {
  Routed routed;
  for (const WeightedProblem& weighted : layer.problems) {
    routed.push_back(weighted.problem.repeated);
  }
  return routed;
}

TEST(LayerProblemsTest, ExpertsAreProfiledAsTheyAreRouted) {
  const ModelLayers layers = EightExperts();
  const auto made = ProblemsOf(layers, 5, Grouped(), TokenCounts::kProfiled);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].layer,
            "experts, first product, n = 128, k = 32, 8 experts");
  EXPECT_EQ(made[1].layer,
            "experts, second product, n = 32, k = 64, 8 experts");
  EXPECT_EQ(made[0].problems[0].problem.extents,
            (std::vector<int64_t>{0, 128, 32}));
  const ExpectedRouting drawn = ExpectedRouting::Create(8, 2).value();
  EXPECT_THAT(RoutedOf(made[0]),
              ElementsAre(drawn.Slots(1, 8), drawn.Slots(2, 8),
                          drawn.Slots(3, 8), drawn.Slots(4, 8)));
}

TEST(LayerProblemsTest, ExpertsHaveWhatFilesOfTheKernelsEnginesSay) {
  ModelLayers layers = EightExperts();
  KernelSpec spec = Grouped();
  const std::string& rows = spec.parameters[0].name;
  const std::vector<int64_t>& values = spec.parameters[0].values;
  auto& of_device = layers.engine_launches["NVIDIA H200"];
  of_device[LaunchKey("vllm", 8, 64, false, 2)] = {{rows, values.front()}};
  of_device[LaunchKey("vllm", 8, 64, true, 3)] = {{rows, values.back() + 1}};
  of_device[LaunchKey("vllm", 8, 128, false, 1)] = {{rows, values.front()}};
  of_device[LaunchKey("sglang", 8, 64, false, 2)] = {{rows, values.back()}};
  layers.engine_launches["NVIDIA L4"] = of_device;
  const auto rivals = [&](size_t product) {
    std::vector<size_t> counts;
    const auto products = ProblemsOf(layers, 4, spec, TokenCounts::kProfiled);
    for (const WeightedProblem& weighted : products[product].problems)
      counts.push_back(weighted.rivals.size());
    return counts;
  };
  // Nobody launches it.
  EXPECT_THAT(rivals(0), ElementsAre(0, 0, 0, 0));
  std::get<ServedMoe>(spec.serves).engines = {"sglang", "vllm"};
  EXPECT_THAT(rivals(0), ElementsAre(0, 4, 0, 0));
  EXPECT_THAT(rivals(1), ElementsAre(0, 0, 0, 0));
  const auto made = ProblemsOf(layers, 4, spec, TokenCounts::kProfiled);
  EXPECT_EQ(made[0].files_left_out, 0);
  EXPECT_EQ(made[1].files_left_out, 2);
  const std::vector<Rival>& of_two = made[0].problems[1].rivals;
  EXPECT_EQ(of_two[0].name, "sglang's file");
  EXPECT_EQ(of_two[0].device, "NVIDIA H200");
  EXPECT_EQ(of_two[0].configuration.values()[0], values.back());
  EXPECT_EQ(of_two[1].device, "NVIDIA L4");
  EXPECT_EQ(of_two[2].name, "vllm's file");
}

TEST(LayerProblemsTest, ExpertsAreJudgedAsTheyAreRoutedAlone) {
  ModelLayers layers = EightExperts();
  for (const ExpertPopularity& routing :
       {ExpertPopularity{}, ExpertPopularity{.popularity = Popularity::kEven},
        ExpertPopularity{.counts = {9, 9, 1, 1, 1, 1, 1, 0}}}) {
    layers.routing = routing;
    const ExpectedRouting expected =
        ExpectedRouting::Create(8, 2, routing).value();
    EXPECT_THAT(
        RoutedOf(ProblemsOf(layers, 10, Grouped(), TokenCounts::kJudged)[0]),
        ElementsAre(expected.Slots(5, 8), expected.Slots(7, 8),
                    expected.Slots(10, 8)));
  }
}

TEST(LayerProblemsTest, ExpertsOfAWorkloadThatIsRoutedEvenlyAreEvenAlone) {
  ModelLayers layers = EightExperts();
  layers.routing.popularity = Popularity::kEven;
  const auto made = ProblemsOf(layers, 5, Grouped(), TokenCounts::kProfiled);
  const ExpectedRouting even =
      ExpectedRouting::Create(8, 2, Popularity::kEven).value();
  EXPECT_THAT(RoutedOf(made[0]),
              ElementsAre(even.Slots(1, 8), even.Slots(2, 8), even.Slots(3, 8),
                          even.Slots(4, 8)));
}

TEST(LayerProblemsTest, ARoutingOfOtherExpertsLeavesThemOut) {
  ModelLayers layers = EightExperts();
  layers.routing.counts = {1, 2, 3};
  const auto made = ProblemsOf(layers, 5, Grouped(), TokenCounts::kProfiled);
  EXPECT_THAT(made[0].problems, IsEmpty());
  EXPECT_THAT(made[0].why_left_out,
              HasSubstr("counts of 3 experts, the layer has 8"));
}

KernelSpec Attention() {
  KernelSpec spec = testing::CausalAttentionSpec();
  spec.serves = testing::PrefillAndDecode("causal", "full");
  return spec;
}

AttentionLayer Heads(int64_t head_dim, int64_t window = 0) {
  return {.name = "attention",
          .heads = 8,
          .kv_heads = 2,
          .head_dim = head_dim,
          .value_head_dim = head_dim,
          .window = window,
          .layers = 7};
}

TEST(LayerProblemsTest, DecodeAndPrefillAreProblemsOfTheirSpecialisations) {
  ModelLayers layers;
  layers.attention = {Heads(64)};
  const auto made =
      ProblemsOf(layers, 100, Attention(), TokenCounts::kProfiled);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].layer, "attention, decode, 8 heads of 64, 2 of keys");
  EXPECT_EQ(made[0].problems[0].problem.specialisation, "full");
  EXPECT_EQ(made[0].problems[0].problem.extents,
            (std::vector<int64_t>{1, 8, 2, 1, 320}));
  EXPECT_EQ(made[1].problems[0].problem.specialisation, "causal");
  EXPECT_EQ(made[1].problems[0].problem.extents,
            (std::vector<int64_t>{1, 8, 2, 16, 16}));
  EXPECT_EQ(made[1].problems[1].problem.extents,
            (std::vector<int64_t>{1, 8, 2, 16, 64}));
  EXPECT_EQ(made[1].problems.back().problem.extents,
            (std::vector<int64_t>{4, 8, 2, 25, 25}));
}

TEST(LayerProblemsTest, AWindowBoundsTheKeys) {
  ModelLayers layers;
  layers.attention = {Heads(64, 400)};
  const auto made =
      ProblemsOf(layers, 1000, Attention(), TokenCounts::kProfiled);
  for (const int64_t keys : Extents(made[0], 4)) EXPECT_LE(keys, 400);
  for (const int64_t keys : Extents(made[1], 4)) EXPECT_LE(keys, 400);
  EXPECT_EQ(made[1].why_left_out, "the kernel knows no window");
  EXPECT_GT(made[1].left_out, 0);
}

TEST(LayerProblemsTest, CachesAreNoLongerThanTheModelsSequences) {
  ModelLayers layers;
  layers.attention = {Heads(64)};
  layers.positions = 1000;
  const auto made =
      ProblemsOf(layers, 100, Attention(), TokenCounts::kProfiled);
  for (const int64_t keys : Extents(made[0], 4)) EXPECT_LE(keys, 1000);
}

TEST(LayerProblemsTest, HeadsThatNoSpecialisationHasAreSaid) {
  ModelLayers layers;
  layers.attention = {Heads(256)};
  layers.attention[0].value_head_dim = 128;
  const auto made =
      ProblemsOf(layers, 100, Attention(), TokenCounts::kProfiled);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_THAT(made[0].problems, IsEmpty());
  EXPECT_EQ(made[0].why_left_out,
            "no specialisation of the kernel computes it (heads of 256, values "
            "of 128)");
}

TEST(LayerProblemsTest, NothingIsProfiledAndJudged) {
  ModelLayers layers = TwoAlike();
  layers.moe = EightExperts().moe;
  layers.attention = {Heads(64)};
  for (const KernelSpec& spec : {Linear(), Grouped(), Attention()}) {
    std::vector<Problem> profiled;
    for (const auto& layer :
         ProblemsOf(layers, 8192, spec, TokenCounts::kProfiled)) {
      for (const auto& w : layer.problems) profiled.push_back(w.problem);
    }
    for (const auto& layer :
         ProblemsOf(layers, 8192, spec, TokenCounts::kJudged)) {
      EXPECT_GT(layer.problems.size(), 5u);
      for (const auto& w : layer.problems) {
        EXPECT_EQ(std::count(profiled.begin(), profiled.end(), w.problem), 0);
      }
    }
  }
}

}  // namespace
}  // namespace wavetune
