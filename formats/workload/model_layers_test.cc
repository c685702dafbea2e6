#include "formats/workload/model_layers.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/input_file.h"
#include "formats/config_text.h"
#include "formats/workload/model_config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ConfigText(const std::string& model) {
  return ReadInputFile(std::string(WAVETUNE_SOURCE_DIR) +
                           "/tests/data/models/" + model + ".json",
                       kMaxConfigBytes)
      .value();
}

ModelLayers LayersOfModel(const std::string& model,
                          const Parallelism& parallelism = {}) {
  return SplitLayers(ParseModelConfig(ConfigText(model)).value(), parallelism)
      .value();
}

// The widths of a dense layer, and how many of them there are.
std::vector<std::string> Widths(const ModelLayers& layers) {
  std::vector<std::string> widths;
  for (const LinearLayer& layer : layers.linear) {
    widths.push_back(absl::StrCat(layer.name, " ", layer.n, " ", layer.k, " x",
                                  layer.layers, layer.type.empty() ? "" : " ",
                                  layer.type));
  }
  return widths;
}

// All of it, a line each.
std::string Listed(const std::string& model) {
  const ModelLayers layers = LayersOfModel(model);
  std::string text = absl::StrCat("# ", model, "\n");
  for (const std::string& width : Widths(layers)) {
    absl::StrAppend(&text, width, "\n");
  }
  for (const MoeLayer& layer : layers.moe) {
    absl::StrAppend(&text, "experts ", layer.experts, ", ", layer.top_k,
                    " of a token, ",
                    layer.gated ? 2 * layer.intermediate : layer.intermediate,
                    " ", layer.hidden, " x", layer.layers,
                    layer.type.empty() ? "" : " ", layer.type, "\n");
  }
  for (const AttentionLayer& layer : layers.attention) {
    absl::StrAppend(&text, layer.name, " ", layer.heads, " heads of ",
                    layer.head_dim, " and ", layer.value_head_dim, ", ",
                    layer.kv_heads, " of keys, window ", layer.window, " x",
                    layer.layers, "\n");
  }
  for (const std::string& note : layers.notes) {
    absl::StrAppend(&text, "note: ", note, "\n");
  }
  return text;
}

// Checked by hand against the model files of vLLM 0.33.
TEST(ModelLayersTest, PublishedModelsHaveTheLayersThatEnginesLaunch) {
  const std::filesystem::path folder =
      std::string(WAVETUNE_SOURCE_DIR) + "/tests/data/models";
  std::set<std::string> models;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".json") models.insert(file.path().stem());
  }
  std::string listed;
  for (const std::string& model : models) listed += Listed(model) + "\n";
  EXPECT_EQ(listed, ReadInputFile(folder / "layers.txt", 1 << 20).value());
}

TEST(ModelLayersTest, TensorParallelismDividesWidthsAndCopiesFewHeads) {
  EXPECT_THAT(Widths(LayersOfModel("llama-3.1-8b", {.tensor = 4})),
              ElementsAre("qkv_proj 1536 4096 x32", "o_proj 4096 1024 x32",
                          "gate_up_proj 7168 4096 x32",
                          "down_proj 4096 3584 x32", "lm_head 32064 4096 x1"));
  // 4 heads of keys on 8 devices: each has one.
  const ModelLayers qwen = LayersOfModel("qwen3-30b-a3b", {.tensor = 8});
  EXPECT_EQ(qwen.linear[0].n, (4 + 2) * 128);
  EXPECT_EQ(qwen.attention[0].kv_heads, 1);
  EXPECT_EQ(qwen.moe[0].intermediate, 96);
  EXPECT_EQ(qwen.linear[2], (LinearLayer{"router", 128, 2048, 48}));
}

TEST(ModelLayersTest, ExpertParallelismDividesExpertsFirst) {
  const auto moe = [](int64_t tensor, int64_t expert) {
    return LayersOfModel("qwen3-30b-a3b", {.tensor = tensor, .expert = expert})
        .moe[0];
  };
  EXPECT_EQ(moe(8, 8).local_experts, 16);
  EXPECT_EQ(moe(8, 8).intermediate, 768);
  EXPECT_EQ(moe(8, 4).local_experts, 32);
  EXPECT_EQ(moe(8, 4).intermediate, 384);
  EXPECT_EQ(moe(1, 8).local_experts, 16);
  EXPECT_EQ(moe(1, 8).intermediate, 768);
}

ModelConfig With(const std::string& model, const std::string& field,
                 int64_t value) {
  nlohmann::json config = nlohmann::json::parse(ConfigText(model));
  config[field] = value;
  return ParseModelConfig(config.dump()).value();
}

// Engines pad to 64.
TEST(ModelLayersTest, TheVocabularyIsPadded) {
  const ModelConfig model = With("llama-3.1-8b", "vocab_size", 128257);
  EXPECT_EQ(SplitLayers(model, {.tensor = 8})->linear.back().n, 128320 / 8);
}

// As vLLM: the first devices have one more.
TEST(ModelLayersTest, ExpertsThatDoNotDivideAreLayersOfTwoKinds) {
  const ModelLayers layers = LayersOfModel("qwen3-30b-a3b", {.expert = 3});
  ASSERT_EQ(layers.moe.size(), 2u);
  EXPECT_EQ(layers.moe[0].local_experts, 43);
  EXPECT_EQ(layers.moe[1].local_experts, 42);
  EXPECT_THAT(layers.notes,
              ElementsAre(HasSubstr("2 of the 3 devices have 43 experts, the "
                                    "others 42")));
}

// Groups of a Mamba layer are copied, its heads are divided.
TEST(ModelLayersTest, MambaAndTheDeltaRuleAreDividedByHeads) {
  const ModelLayers granite = LayersOfModel("granite-4-hybrid", {.tensor = 8});
  EXPECT_EQ(granite.linear[0],
            (LinearLayer{"mamba.in_proj", 2 * 1024 + 2 * 128 + 16, 4096, 36}));
  EXPECT_EQ(granite.linear[1], (LinearLayer{"mamba.out_proj", 4096, 1024, 36}));
  const ModelLayers qwen = LayersOfModel("qwen3-next-80b-a3b", {.tensor = 2});
  EXPECT_EQ(qwen.linear[0],
            (LinearLayer{"linear_attn.in_proj_qkvz", 6144, 2048, 36}));
}

TEST(ModelLayersTest, SaysWhichNumberDoesNotDivideAndWhichDo) {
  const auto refused = [](const std::string& model, const Parallelism& by) {
    const auto layers =
        SplitLayers(ParseModelConfig(ConfigText(model)).value(), by);
    EXPECT_EQ(layers.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(layers.status().message());
  };
  EXPECT_THAT(refused("qwen2.5-7b", {.tensor = 8}),
              HasSubstr("num_attention_heads is 28, which --tp 8 does not "
                        "divide: give one that does (1, 2, 4, 7, 14, 28)"));
  EXPECT_THAT(refused("mixtral-8x7b", {.expert = 9}),
              HasSubstr("--ep 9 is more than there are experts (8)"));
  EXPECT_THAT(refused("qwen2.5-7b", {.tensor = 14}),
              HasSubstr("--tp 14 is no multiple of num_key_value_heads (4)"));
  EXPECT_THAT(refused("llama-3.1-8b", {.tensor = 0}),
              HasSubstr("--tp is 0: give 1 to 1024"));
  EXPECT_THAT(refused("llama-3.1-8b", {.expert = -1}),
              HasSubstr("--ep is -1: give 1 to 1024"));
}

TEST(ModelLayersTest, WidthsOfExpertsDivideToo) {
  const auto message = [](const ModelConfig& model, const Parallelism& by) {
    return std::string(SplitLayers(model, by).status().message());
  };
  const ModelConfig narrow =
      With("qwen3-30b-a3b", "moe_intermediate_size", 100);
  EXPECT_THAT(message(narrow, {.tensor = 8}),
              HasSubstr("experts' intermediate size is 100, which --tp (with "
                        "--ep: what it leaves) 8 does not divide"));
  EXPECT_EQ(message(narrow, {.tensor = 4, .expert = 2}), "");
  EXPECT_THAT(message(narrow, {.tensor = 16, .expert = 12}),
              HasSubstr("one must be a multiple of the other"));
}

}  // namespace
}  // namespace wavetune
