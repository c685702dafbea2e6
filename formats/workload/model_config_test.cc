#include "formats/workload/model_config.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

constexpr char kSmall[] =
    R"("hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
       "num_attention_heads": 4, "vocab_size": 1000)";

absl::StatusOr<ModelConfig> Parse(const std::string& fields) {
  return ParseModelConfig("{" + fields + "}");
}

std::string Refused(const std::string& text) {
  const absl::StatusOr<ModelConfig> model = ParseModelConfig(text);
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(model.status().message());
}

TEST(ModelConfigTest, ReadsTheUsualFields) {
  const ModelConfig model = Parse(kSmall).value();
  EXPECT_EQ(model.hidden, 64);
  EXPECT_EQ(model.intermediate, 128);
  EXPECT_EQ(model.layers, 4);
  EXPECT_EQ(model.dense_layers, 4);
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.head_dim, 16);
  EXPECT_EQ(model.vocabulary, 1000);
  EXPECT_TRUE(model.gated);
  EXPECT_FALSE(model.experts.has_value());
}

TEST(ModelConfigTest, WhatIsCutOffSaysWhere) {
  EXPECT_THAT(Refused("{\"hidden_size\": 64, "),
              HasSubstr("config.json is no JSON, or cut off: parse error at "
                        "line 1, column 21"));
  EXPECT_THAT(Refused(""), HasSubstr("fetch the file again"));
  EXPECT_THAT(Refused("{\"hidden_size\": \xff}"), HasSubstr("is no JSON"));
  EXPECT_THAT(Refused("[1, 2]"), HasSubstr("holds no object"));
  EXPECT_THAT(Refused(std::string(1000000, '[')), HasSubstr("cut off"));
  EXPECT_THAT(Refused("{\"hidden_size\": 1e999}"), HasSubstr("is no JSON"));
}

TEST(ModelConfigTest, DeepNestingOverflowsNoStack) {
  EXPECT_THAT(Refused(std::string(500000, '[') + std::string(500000, ']')),
              HasSubstr("holds no object"));
}

TEST(ModelConfigTest, ADeeplyNestedValueIsShownWithoutItsInside) {
  const std::string deep = std::string(400000, '[') + std::string(400000, ']');
  EXPECT_THAT(Refused("{\"hidden_size\": " + deep + "}"),
              HasSubstr("hidden_size is a list: give a whole number"));
  EXPECT_THAT(Refused("{\"vocab_size\": {\"a\": " + deep + "}}"),
              HasSubstr("vocab_size is an object: give a whole number"));
}

TEST(ModelConfigTest, AFileThatIsTooLargeIsNotRead) {
  const auto model = ParseModelConfig(std::string(kMaxConfigBytes + 1, ' '));
  EXPECT_EQ(model.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(model.status().message()),
              HasSubstr("at most 1048576 are read"));
}

TEST(ModelConfigTest, AnArchitectureSaysAllFieldsThatItLacks) {
  EXPECT_THAT(
      Refused(R"({"architectures": ["MambaForCausalLM"], "hidden_size": 768})"),
      HasSubstr("config.json of MambaForCausalLM: it lacks vocab_size, "
                "num_hidden_layers, num_attention_heads, intermediate_size: "
                "add what the model has"));
  EXPECT_THAT(Refused("{}"), HasSubstr("of an architecture that it does not "
                                       "name: it lacks hidden_size"));
}

TEST(ModelConfigTest, NullCountsAsMissing) {
  EXPECT_THAT(Refused(R"({"hidden_size": null})"), HasSubstr("hidden_size"));
}

TEST(ModelConfigTest, NumbersAreWholeAndInRange) {
  const auto with = [](const std::string& field) {
    return Refused("{" + std::string(kSmall) + ", " + field + "}");
  };
  EXPECT_THAT(with("\"num_key_value_heads\": -2"),
              HasSubstr("num_key_value_heads is -2: give a whole number from "
                        "0 to 16777216"));
  EXPECT_THAT(with("\"head_dim\": 12.5"), HasSubstr("head_dim is 12.5"));
  EXPECT_THAT(with("\"head_dim\": \"large\""),
              HasSubstr("head_dim is \"large\""));
  EXPECT_THAT(with("\"head_dim\": 18446744073709551615"),
              HasSubstr("head_dim is 18446744073709551615"));
  EXPECT_THAT(with("\"head_dim\": 1e30"), HasSubstr("head_dim is 1e+30"));
  EXPECT_THAT(Refused(R"({"hidden_size": 0, "vocab_size": true})"),
              HasSubstr("hidden_size is 0: give a whole number from 1"));
  EXPECT_THAT(with("\"num_key_value_heads\": 3"),
              HasSubstr("3, which does not divide num_attention_heads (4)"));
}

TEST(ModelConfigTest, LayersAndExpertsAreBounded) {
  EXPECT_THAT(Refused(R"({"hidden_size": 64, "intermediate_size": 128,
      "num_hidden_layers": 10000000, "num_attention_heads": 4,
      "vocab_size": 1000})"),
              HasSubstr("num_hidden_layers is 10000000: give at most 4096"));
  EXPECT_THAT(Refused("{" + std::string(kSmall) +
                      R"(, "num_experts": 4, "num_experts_per_tok": 5})"),
              HasSubstr("it has 4 experts, 5 of a token"));
  EXPECT_THAT(Refused("{" + std::string(kSmall) +
                      R"(, "num_experts": 2000, "num_experts_per_tok": 5})"),
              HasSubstr("give at most 1024"));
  EXPECT_THAT(Refused("{" + std::string(kSmall) + R"(, "num_experts": 4})"),
              HasSubstr("it lacks num_experts_per_tok (or experts_per_token"));
}

TEST(ModelConfigTest, ExpertsOfAKnownArchitectureHaveAWidthOfTheirOwn) {
  EXPECT_THAT(Refused("{\"architectures\": [\"Qwen3MoeForCausalLM\"], " +
                      std::string(kSmall) +
                      R"(, "num_experts": 4, "num_experts_per_tok": 2})"),
              HasSubstr("it lacks moe_intermediate_size"));
}

TEST(ModelConfigTest, SomeLayersOfAMixtureAreDense) {
  const auto moe_layers = [](const std::string& fields) {
    return Parse(std::string(kSmall) +
                 R"(, "num_experts": 4, "num_experts_per_tok": 2, )" + fields)
        ->experts->layers;
  };
  EXPECT_EQ(moe_layers(R"("first_k_dense_replace": 1)"), 3);
  EXPECT_EQ(moe_layers(R"("decoder_sparse_step": 2)"), 2);
  EXPECT_EQ(moe_layers(R"("moe_layer_freq": 2)"), 2);
  EXPECT_EQ(moe_layers(R"("mlp_only_layers": [0, 3])"), 2);
}

TEST(ModelConfigTest, PhiHasOneFactor) {
  EXPECT_FALSE(
      Parse("\"architectures\": [\"PhiForCausalLM\"], " + std::string(kSmall))
          ->gated);
}

TEST(ModelConfigTest, ANameOfAnArchitectureIsShownSafely) {
  const ModelConfig model = Parse("\"architectures\": [\"\\u001b[31m" +
                                  std::string(1000, 'x') + "\"], " + kSmall)
                                .value();
  EXPECT_LT(model.architecture.size(), 200u);
  EXPECT_EQ(model.architecture.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace wavetune
