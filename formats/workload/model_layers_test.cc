#include "formats/workload/model_layers.h"

#include <string>
#include <vector>

#include "base/input_file.h"
#include "formats/workload/model_config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
    widths.push_back(layer.name + " " + std::to_string(layer.n) + " " +
                     std::to_string(layer.k) + " x" +
                     std::to_string(layer.layers));
  }
  return widths;
}

TEST(ModelLayersTest, DenseModelsHaveTheWidthsThatEnginesLaunch) {
  EXPECT_THAT(
      Widths(LayersOfModel("llama-3.1-8b")),
      ElementsAre("qkv_proj 6144 4096 x32", "o_proj 4096 4096 x32",
                  "gate_up_proj 28672 4096 x32", "down_proj 4096 14336 x32",
                  "lm_head 128256 4096 x1"));
  EXPECT_THAT(
      Widths(LayersOfModel("qwen2.5-7b")),
      ElementsAre("qkv_proj 4608 3584 x28", "o_proj 3584 3584 x28",
                  "gate_up_proj 37888 3584 x28", "down_proj 3584 18944 x28",
                  "lm_head 152064 3584 x1"));
  EXPECT_THAT(
      Widths(LayersOfModel("qwen3-8b")),
      ElementsAre("qkv_proj 6144 4096 x36", "o_proj 4096 4096 x36",
                  "gate_up_proj 24576 4096 x36", "down_proj 4096 12288 x36",
                  "lm_head 151936 4096 x1"));
  // Heads of 128 that do not add up to the hidden size.
  EXPECT_THAT(
      Widths(LayersOfModel("mistral-small-24b")),
      ElementsAre("qkv_proj 6144 5120 x40", "o_proj 5120 4096 x40",
                  "gate_up_proj 65536 5120 x40", "down_proj 5120 32768 x40",
                  "lm_head 131072 5120 x1"));
  EXPECT_THAT(Widths(LayersOfModel("phi-3-mini")),
              ElementsAre("qkv_proj 9216 3072 x32", "o_proj 3072 3072 x32",
                          "gate_up_proj 16384 3072 x32",
                          "down_proj 3072 8192 x32", "lm_head 32064 3072 x1"));
  EXPECT_THAT(
      Widths(LayersOfModel("gemma-2-9b")),
      ElementsAre("qkv_proj 8192 3584 x42", "o_proj 3584 4096 x42",
                  "gate_up_proj 28672 3584 x42", "down_proj 3584 14336 x42",
                  "lm_head 256000 3584 x1"));
  // Heads and vocabulary are not in its file.
  EXPECT_THAT(
      Widths(LayersOfModel("gemma-3-4b")),
      ElementsAre("qkv_proj 4096 2560 x34", "o_proj 2560 2048 x34",
                  "gate_up_proj 20480 2560 x34", "down_proj 2560 10240 x34",
                  "lm_head 262208 2560 x1"));
}

TEST(ModelLayersTest, MixturesOfExpertsHaveRoutersAndExperts) {
  const ModelLayers mixtral = LayersOfModel("mixtral-8x7b");
  EXPECT_THAT(Widths(mixtral),
              ElementsAre("qkv_proj 6144 4096 x32", "o_proj 4096 4096 x32",
                          "router 8 4096 x32", "lm_head 32000 4096 x1"));
  EXPECT_THAT(mixtral.moe, ElementsAre(MoeLayer{.experts = 8,
                                                .local_experts = 8,
                                                .top_k = 2,
                                                .hidden = 4096,
                                                .intermediate = 14336,
                                                .layers = 32}));
  const ModelLayers qwen = LayersOfModel("qwen3-30b-a3b");
  EXPECT_THAT(Widths(qwen),
              ElementsAre("qkv_proj 5120 2048 x48", "o_proj 2048 4096 x48",
                          "router 128 2048 x48", "lm_head 151936 2048 x1"));
  EXPECT_THAT(qwen.moe, ElementsAre(MoeLayer{.experts = 128,
                                             .local_experts = 128,
                                             .top_k = 8,
                                             .hidden = 2048,
                                             .intermediate = 768,
                                             .layers = 48}));
  const ModelLayers gpt = LayersOfModel("gpt-oss-20b");
  EXPECT_THAT(Widths(gpt),
              ElementsAre("qkv_proj 5120 2880 x24", "o_proj 2880 4096 x24",
                          "router 32 2880 x24", "lm_head 201088 2880 x1"));
  EXPECT_THAT(gpt.moe, ElementsAre(MoeLayer{.experts = 32,
                                            .local_experts = 32,
                                            .top_k = 4,
                                            .hidden = 2880,
                                            .intermediate = 2880,
                                            .layers = 24}));
}

TEST(ModelLayersTest, DeepSeekCompressesAndBeginsDense) {
  const ModelLayers layers = LayersOfModel("deepseek-v3");
  EXPECT_THAT(Widths(layers),
              ElementsAre("fused_qkv_a_proj 2112 7168 x61",
                          "q_b_proj 24576 1536 x61", "kv_b_proj 32768 512 x61",
                          "o_proj 7168 16384 x61", "gate_up_proj 36864 7168 x3",
                          "down_proj 7168 18432 x3", "router 256 7168 x58",
                          "shared_experts.gate_up_proj 4096 7168 x58",
                          "shared_experts.down_proj 7168 2048 x58",
                          "lm_head 129280 7168 x1"));
  EXPECT_THAT(layers.moe, ElementsAre(MoeLayer{.experts = 256,
                                               .local_experts = 256,
                                               .top_k = 8,
                                               .hidden = 7168,
                                               .intermediate = 2048,
                                               .layers = 58}));
  EXPECT_THAT(layers.attention,
              ElementsAre(AttentionLayer{.name = "attention of prefill",
                                         .heads = 128,
                                         .kv_heads = 128,
                                         .head_dim = 192,
                                         .value_head_dim = 128,
                                         .decode = false,
                                         .layers = 61},
                          AttentionLayer{.name = "attention of decode",
                                         .heads = 128,
                                         .kv_heads = 1,
                                         .head_dim = 576,
                                         .value_head_dim = 512,
                                         .prefill = false,
                                         .layers = 61}));
}

// Not in the list of architectures, but with the usual fields.
TEST(ModelLayersTest, AnArchitectureThatNobodyKnowsIsReadAndNoted) {
  const ModelLayers layers = LayersOfModel("glm-4.5-air");
  EXPECT_THAT(Widths(layers),
              ElementsAre("qkv_proj 14336 4096 x46", "o_proj 4096 12288 x46",
                          "gate_up_proj 21888 4096 x1",
                          "down_proj 4096 10944 x1", "router 128 4096 x45",
                          "shared_experts.gate_up_proj 2816 4096 x45",
                          "shared_experts.down_proj 4096 1408 x45",
                          "lm_head 151552 4096 x1"));
  EXPECT_THAT(layers.notes,
              ElementsAre(HasSubstr("Glm4MoeForCausalLM is not known: it is "
                                    "read as a decoder")));
  EXPECT_THAT(LayersOfModel("llama-3.1-8b").notes, IsEmpty());
}

TEST(ModelLayersTest, WindowsAreOfTheLayersThatHaveThem) {
  const auto windows = [](const std::string& model) {
    std::vector<std::string> found;
    for (const AttentionLayer& layer : LayersOfModel(model).attention) {
      found.push_back(std::to_string(layer.window) + " x" +
                      std::to_string(layer.layers));
    }
    return found;
  };
  EXPECT_THAT(windows("llama-3.1-8b"), ElementsAre("0 x32"));
  EXPECT_THAT(windows("qwen2.5-7b"), ElementsAre("0 x28"));  // By flag.
  EXPECT_THAT(windows("gemma-2-9b"), ElementsAre("0 x21", "4096 x21"));
  EXPECT_THAT(windows("gemma-3-4b"), ElementsAre("0 x5", "1024 x29"));
  EXPECT_THAT(windows("gpt-oss-20b"), ElementsAre("0 x12", "128 x12"));
  EXPECT_THAT(windows("phi-3-mini"), ElementsAre("2047 x32"));
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

// Engines pad to 64.
TEST(ModelLayersTest, TheVocabularyIsPadded) {
  ModelConfig model = ParseModelConfig(ConfigText("llama-3.1-8b")).value();
  model.vocabulary = 128257;
  EXPECT_EQ(SplitLayers(model, {.tensor = 8})->linear.back().n, 128320 / 8);
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
  EXPECT_THAT(refused("qwen3-30b-a3b", {.expert = 3}),
              HasSubstr("number of experts is 128, which --ep 3 does not"));
  EXPECT_THAT(refused("qwen2.5-7b", {.tensor = 14}),
              HasSubstr("--tp 14 is no multiple of num_key_value_heads (4)"));
  EXPECT_THAT(refused("llama-3.1-8b", {.tensor = 0}),
              HasSubstr("--tp is 0: give 1 to 1024"));
  EXPECT_THAT(refused("llama-3.1-8b", {.expert = -1}),
              HasSubstr("--ep is -1: give 1 to 1024"));
}

TEST(ModelLayersTest, WidthsOfExpertsDivideToo) {
  ModelConfig model = ParseModelConfig(ConfigText("qwen3-30b-a3b")).value();
  model.experts->intermediate = 100;
  const auto layers = SplitLayers(model, {.tensor = 8});
  EXPECT_THAT(std::string(layers.status().message()),
              HasSubstr("experts' intermediate size is 100, which --tp (with "
                        "--ep: what it leaves) 8 does not divide"));
  model.heads = 24;
  EXPECT_THAT(
      std::string(
          SplitLayers(model, {.tensor = 4, .expert = 2}).status().message()),
      "");
  EXPECT_THAT(
      std::string(
          SplitLayers(model, {.tensor = 12, .expert = 8}).status().message()),
      HasSubstr("one must be a multiple of the other"));
}

}  // namespace
}  // namespace wavetune
