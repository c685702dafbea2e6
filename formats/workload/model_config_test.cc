#include "formats/workload/model_config.h"

#include <string>
#include <vector>

#include "formats/config_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

std::vector<std::string> NotesOf(const std::string& fields) {
  return Parse(fields)->notes;
}

// The layers of a projection; 0: it has none.
int64_t LayersOf(const ModelConfig& model, const std::string& name) {
  int64_t layers = 0;
  for (const Projection& projection : model.projections) {
    layers += projection.name == name ? projection.layers : 0;
  }
  return layers;
}

TEST(ModelConfigTest, ReadsTheUsualFields) {
  const ModelConfig model = Parse(kSmall).value();
  ASSERT_EQ(model.projections.size(), 5u);
  const Projection& qkv = model.projections[0];
  EXPECT_EQ(qkv.name, "qkv_proj");
  EXPECT_EQ(qkv.layers, 4);
  ASSERT_EQ(qkv.outputs.size(), 3u);
  EXPECT_EQ(qkv.outputs[1].count, 4);
  EXPECT_EQ(qkv.outputs[1].width, 16);
  EXPECT_EQ(LayersOf(model, "gate_up_proj"), 4);
  EXPECT_TRUE(model.experts.empty());
}

TEST(ModelConfigTest, ReadsWhatEnginesFilesHaveForExperts) {
  const std::string key = LaunchKey("vllm", 128, 768, true, 16);
  EXPECT_EQ(key, "vllm E=128,N=768,down M=16");
  const auto with = [](const std::string& files) {
    return std::string(kSmall) + R"(, "wavetune_engine_files": )" + files;
  };
  const ModelConfig model = Parse(with(R"({"NVIDIA H200": {")" + key +
                                       R"(": {"BLOCK_SIZE_M": 16}}})"))
                                .value();
  const EngineLaunches expected = {
      {"NVIDIA H200", {{key, {{"BLOCK_SIZE_M", 16}}}}}};
  EXPECT_EQ(model.engine_launches, expected);
  EXPECT_THAT(model.notes, NotesOf(kSmall));  // It changes no layer.
  EXPECT_TRUE(Parse(kSmall)->engine_launches.empty());
  for (const char* bad :
       {"[]", "null", "3", R"({"a": []})", R"({"a": {"b": 1}})",
        R"({"a": {"b": {"c": 1.5}}})", R"({"a": {"b": {"c": "x"}}})",
        R"({"a": {"b": {"c": true}}})", R"({"a": {"b": {"c": 1e99}}})"}) {
    EXPECT_THAT(Refused("{" + with(bad) + "}"),
                AllOf(HasSubstr("wavetune_engine_files holds no launches"),
                      HasSubstr("wavetune workload add --engine-configs")))
        << bad;
  }
  std::string many = R"({"a": {)";
  for (size_t i = 0; i <= kMostEngineLaunches; ++i) {
    many += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(": {"c": 1})";
  }
  EXPECT_THAT(Refused("{" + with(many + "}}") + "}"),
              HasSubstr("has 1025 launches, of which at most 1024 are read"));
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
  EXPECT_THAT(
      Refused("{" + std::string(kSmall) + R"(, "num_experts": 4})"),
      HasSubstr("it lacks num_experts_per_tok (or experts_per_token, "
                "num_experts_per_token, moe_topk, moe_k, top_k_experts): add"));
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
        ->experts.at(0)
        .layers;
  };
  EXPECT_EQ(moe_layers(R"("first_k_dense_replace": 1)"), 3);
  EXPECT_EQ(moe_layers(R"("decoder_sparse_step": 2)"), 2);
  EXPECT_EQ(moe_layers(R"("moe_layer_freq": 2)"), 2);
  EXPECT_EQ(moe_layers(R"("mlp_only_layers": [0, 3])"), 2);
  EXPECT_EQ(moe_layers(R"("moe_layer_freq": [0, 1, 1, 1])"), 3);
  EXPECT_EQ(
      moe_layers(
          R"("mlp_layer_types": ["dense", "sparse", "sparse", "sparse"])"),
      3);
}

TEST(ModelConfigTest, FamiliesAreFoundByTypeAndWithoutTheirHead) {
  EXPECT_EQ(LayersOf(*Parse("\"model_type\": \"phi\", " + std::string(kSmall)),
                     "up_proj"),
            4);
  const ModelConfig gemma =
      Parse("\"architectures\": [\"Gemma2Model\"], " + std::string(kSmall))
          .value();
  EXPECT_EQ(gemma.projections[0].outputs[0].width, 256);
  EXPECT_EQ(gemma.attention.size(), 2u);
  EXPECT_EQ(LayersOf(gemma, "lm_head"), 0);
  EXPECT_THAT(gemma.notes, ElementsAre(HasSubstr("it has no lm_head")));
  EXPECT_EQ(LayersOf(*Parse(R"("architectures":
      ["Qwen2ForSequenceClassification"], )" +
                            std::string(kSmall)),
                     "lm_head"),
            0);
  // What holds a known model of text is known by it.
  EXPECT_THAT(NotesOf(R"("architectures": ["SomethingForConditionalGeneration"],
                 "llm_config": {"model_type": "qwen2", )" +
                      std::string(kSmall) + "}"),
              IsEmpty());
}

TEST(ModelConfigTest, AModelOfTextIsFoundUnderItsNames) {
  for (const char* name :
       {"text_config", "llm_config", "language_config", "llm"}) {
    EXPECT_TRUE(Parse("\"" + std::string(name) + "\": {" + kSmall + "}").ok())
        << name;
  }
  EXPECT_TRUE(Parse(R"("thinker_config": {"text_config": {)" +
                    std::string(kSmall) + "}}")
                  .ok());
}

TEST(ModelConfigTest, LiteralsOfPythonAreRead) {
  EXPECT_TRUE(Parse(std::string(kSmall) +
                    R"(, "time_step_limit": [0.0, Infinity], "x": NaN)")
                  .ok());
}

TEST(ModelConfigTest, AFieldThatNobodyReadsLeavesOutWhatItTouches) {
  const auto model = [](const std::string& field) {
    return Parse("\"model_type\": \"llama\", " + std::string(kSmall) + ", " +
                 field)
        .value();
  };
  const ModelConfig heads = model("\"num_query_heads\": 2");
  EXPECT_EQ(LayersOf(heads, "qkv_proj"), 0);
  EXPECT_TRUE(heads.attention.empty());
  EXPECT_EQ(LayersOf(heads, "down_proj"), 4);
  EXPECT_THAT(heads.notes,
              ElementsAre("left out: projections of attention and attention, "
                          "which num_query_heads changes in a way that is not "
                          "known here"));
  const ModelConfig blocks =
      model("\"block_kinds\": [\"a\"], \"ffn_factor\": 3");
  EXPECT_EQ(blocks.projections.size(), 1u);  // lm_head.
  EXPECT_EQ(blocks.notes.size(), 2u);
  // What says nothing changes nothing, nor what is known to change nothing.
  EXPECT_THAT(model(R"("num_query_heads": 0, "block_kinds": [],
                       "expert_width": null, "moe_thing": false,
                       "rope_theta": 1e6, "embd_pdrop": 0.1,
                       "id2label": {"0": "a"}, "vision_config": {"x": 1})")
                  .notes,
              IsEmpty());
}

TEST(ModelConfigTest, AFactorOfAnUnknownActivationIsNotGuessed) {
  const ModelConfig model =
      Parse(std::string(kSmall) + R"(, "hidden_act": "relu2")").value();
  EXPECT_EQ(LayersOf(model, "gate_up_proj"), 0);
  EXPECT_EQ(LayersOf(model, "qkv_proj"), 4);
  EXPECT_THAT(model.notes, Contains(HasSubstr("an activation of relu2")));
}

TEST(ModelConfigTest, ListsByLayerAreRead) {
  const ModelConfig model = Parse(R"("hidden_size": 64, "num_hidden_layers": 3,
      "intermediate_size": [128, 256, 128], "num_attention_heads": 4,
      "num_key_value_heads": [4, 2, 2], "vocab_size": 1000)")
                                .value();
  std::vector<int64_t> layers;
  for (const Projection& projection : model.projections) {
    layers.push_back(projection.layers);
  }
  // qkv, o, gate_up, down; qkv, gate_up, down of others; lm_head.
  EXPECT_THAT(layers, ElementsAre(1, 3, 2, 2, 2, 1, 1, 1));
  EXPECT_THAT(Refused(R"({"hidden_size": 64, "num_hidden_layers": 3,
      "intermediate_size": [128, 256], "num_attention_heads": 4,
      "vocab_size": 1000})"),
              HasSubstr("intermediate_size has 2 values for 3 layers: give one "
                        "of each, or a number"));
  EXPECT_THAT(Refused("{" + std::string(kSmall) +
                      R"(, "layer_types": ["full_attention"]})"),
              HasSubstr("layer_types has 1 values for 4 layers"));
  EXPECT_THAT(Refused("{" + std::string(kSmall) + R"(, "layer_types": [1]})"),
              HasSubstr("layer_types has 1: give texts alone"));
  EXPECT_THAT(Refused("{" + std::string(kSmall) + R"(, "num_experts": 4,
      "num_experts_per_tok": 2, "mlp_only_layers": [0.5]})"),
              HasSubstr("mlp_only_layers is 0.5: give a whole number"));
}

TEST(ModelConfigTest, OneWindowInSoManyLayersMayBeLetters) {
  const ModelConfig model = Parse(std::string(kSmall) +
                                  R"(, "sliding_window": 8,
                                     "sliding_window_pattern": "LLLG")")
                                .value();
  ASSERT_EQ(model.attention.size(), 2u);
  EXPECT_EQ(model.attention[0].window, 8);
  EXPECT_EQ(model.attention[0].layers, 3);
}

TEST(ModelConfigTest, BlocksThatAreNotWhatTheyShouldBeAreSaid) {
  EXPECT_THAT(Refused(R"({"model_type": "nemotron_h",
      "hybrid_override_pattern": "MX", "hidden_size": 64, "vocab_size": 1,
      "num_attention_heads": 4})"),
              HasSubstr("a layer is of type 'X': give mamba, attention"));
  EXPECT_THAT(Refused(R"({"model_type": "nemotron_h", "hidden_size": 64,
      "vocab_size": 1, "num_attention_heads": 4})"),
              HasSubstr("it lacks hybrid_override_pattern (or "
                        "layers_block_type)"));
  EXPECT_THAT(Refused(R"({"model_type": "nemotron_h", "hidden_size": 64,
      "hybrid_override_pattern": "E", "vocab_size": 1,
      "num_attention_heads": 4})"),
              HasSubstr("it lacks n_routed_experts"));
  for (
      const char* blocks :
      {"1", "[1, 2, 3, 4]", "[{}]", "[{}, {}, {}, {}]",
       R"([{"attention": {"n_heads_in_group": 3}, "ffn": {"ffn_mult": 1}}])"}) {
    EXPECT_THAT(
        Refused("{\"architectures\": [\"DeciLMForCausalLM\"], " +
                std::string(kSmall) + ", \"block_configs\": " + blocks + "}"),
        HasSubstr("block_configs"))
        << blocks;
  }
}

TEST(ModelConfigTest, VeryManyFaultsAndWidthsAreBounded) {
  std::string widths;
  for (int i = 1; i <= 1000; ++i) {
    widths += (i > 1 ? ", " : "") + std::to_string(i);
  }
  const auto with = [&](const std::string& list) {
    return Refused(R"({"hidden_size": 64, "num_hidden_layers": 1000,
        "num_attention_heads": 4, "vocab_size": 1000,
        "intermediate_size": [)" +
                   list + "]}");
  };
  EXPECT_THAT(with(widths),
              HasSubstr("its layers have more than 128 different widths"));
  std::string words = "\"x\"";
  for (int i = 1; i < 1000; ++i) words += ", \"x\"";
  EXPECT_LT(with(words).size(), 4000u);
  EXPECT_THAT(with(words), HasSubstr("and more"));
}

std::string TypeOf(const ModelConfig& model, const std::string& name) {
  for (const Projection& projection : model.projections) {
    if (projection.name == name) return projection.type;
  }
  return "is not there";
}

TEST(ModelConfigTest, QuantisedLayersHaveATypeAndOthersNone) {
  const auto model = [](const std::string& quantization) {
    return Parse("\"model_type\": \"mixtral\", " + std::string(kSmall) +
                 R"(, "num_experts": 4, "num_experts_per_tok": 2,
                    "quantization_config": )" +
                 quantization)
        .value();
  };
  const ModelConfig fp8 = model(R"({"quant_method": "fp8",
      "modules_to_not_convert": ["model.layers.1.self_attn", "lm_head"]})");
  EXPECT_EQ(fp8.experts[0].type, "fp8");
  EXPECT_EQ(TypeOf(fp8, "router"), "");
  EXPECT_EQ(TypeOf(fp8, "lm_head"), "");
  EXPECT_EQ(TypeOf(fp8, "qkv_proj"), "fp8");
  EXPECT_EQ(fp8.projections[0].layers, 3);  // One is as it was.
  EXPECT_EQ(LayersOf(fp8, "qkv_proj"), 4);
  EXPECT_EQ(TypeOf(model(R"({"quant_method": "mxfp4"})"), "qkv_proj"), "");
  EXPECT_EQ(model(R"({"quant_method": "mxfp4"})").experts[0].type, "mxfp4");
  EXPECT_EQ(model(R"({"quant_method": "gptq", "bits": 4})").experts[0].type,
            "int4");
  const ModelConfig tensors = model(R"({"quant_method": "compressed-tensors",
      "config_groups": {"group_0": {"targets": ["Linear"],
                                    "weights": {"num_bits": 4, "type": "int"}}},
      "ignore": ["lm_head", "re:.*self_attn.*"]})");
  EXPECT_EQ(tensors.experts[0].type, "int4");
  EXPECT_EQ(TypeOf(tensors, "o_proj"), "");
  const ModelConfig mixed = model(R"({"quant_method": "modelopt",
      "quant_algo": "MIXED_PRECISION", "quantized_layers": {
        "model.layers.0.mlp.experts.3.up_proj": {"quant_algo": "NVFP4"},
        "model.layers.0.self_attn.o_proj": {"quant_algo": "FP8"},
        "lm_head": {"quant_algo": "W4A16_NVFP4"}}})");
  EXPECT_EQ(mixed.experts[0].type, "nvfp4");
  EXPECT_EQ(mixed.experts[0].layers, 1);
  EXPECT_EQ(TypeOf(mixed, "o_proj"), "fp8");
  EXPECT_EQ(TypeOf(mixed, "qkv_proj"), "");
  EXPECT_EQ(TypeOf(mixed, "lm_head"), "nvfp4");
}

TEST(ModelConfigTest, AQuantizationThatSaysTooLittleCountsForAllLayers) {
  const auto model = [](const std::string& quantization) {
    return Parse("\"model_type\": \"llama\", " + std::string(kSmall) +
                 ", \"quantization_config\": " + quantization)
        .value();
  };
  EXPECT_EQ(TypeOf(model(R"({"quant_method": "new"})"), "o_proj"), "new");
  const ModelConfig unnamed = model("{}");
  EXPECT_EQ(TypeOf(unnamed, "o_proj"), "a method without name");
  const ModelConfig odd = model(R"({"quant_method": "fp8",
      "modules_to_not_convert": ["re:(self|x)+_attn"]})");
  EXPECT_EQ(TypeOf(odd, "o_proj"), "fp8");
  EXPECT_THAT(odd.notes, Contains(HasSubstr("a pattern that is not read")));
  std::string many = "\"*self_attn*\"";
  for (int i = 0; i < 300; ++i) {
    many += ", \"*self_attn*" + std::to_string(i) + "\"";
  }
  const ModelConfig flood = model(
      R"({"quant_method": "fp8", "modules_to_not_convert": [)" + many + "]}");
  EXPECT_EQ(TypeOf(flood, "o_proj"), "fp8");
  EXPECT_THAT(flood.notes, Contains(HasSubstr("more patterns of names")));
  many = "\"\"";
  for (int i = 0; i < 17000; ++i) {
    many += ", \"layers.0." + std::to_string(i) + "\"";
  }
  EXPECT_THAT(model(R"({"quant_method": "fp8", "modules_to_not_convert": [)" +
                    many + "]}")
                  .notes,
              Contains(HasSubstr("more patterns of names")));
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
