#include "formats/workload/model_config.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "formats/workload/config_fields.h"
#include "nlohmann/json.hpp"

namespace wavetune {
namespace {

constexpr int64_t kMostLayers = 4096;
constexpr int64_t kMostExperts = 1024;
// Of a name that anybody may have written: it is shown to operators.
constexpr size_t kMaxShownName = 128;

// What an architecture means beyond the fields of its config.json.
struct Architecture {
  const char* name;
  bool gated = true;              // The first product has two factors.
  bool own_expert_width = false;  // moe_intermediate_size is a must.
  bool window_by_flag = false;  // Only use_sliding_window turns the window on.
  // One layer in so many sees all keys, the others a window; 0: all have it.
  int64_t full_every = 0;
  // Fields that its files may leave out, as transformers' classes have them.
  std::map<std::string, int64_t> defaults = {};
};

const std::vector<Architecture>& KnownArchitectures() {
  static const auto* const kKnown = new std::vector<Architecture>{
      {.name = "LlamaForCausalLM"},
      {.name = "MistralForCausalLM"},
      {.name = "Mistral3ForConditionalGeneration"},
      {.name = "MixtralForCausalLM"},
      {.name = "Qwen2ForCausalLM", .window_by_flag = true},
      {.name = "Qwen2MoeForCausalLM",
       .own_expert_width = true,
       .window_by_flag = true},
      {.name = "Qwen3ForCausalLM", .window_by_flag = true},
      {.name = "Qwen3MoeForCausalLM",
       .own_expert_width = true,
       .window_by_flag = true},
      {.name = "GemmaForCausalLM", .defaults = {{"head_dim", 256}}},
      {.name = "Gemma2ForCausalLM",
       .full_every = 2,
       .defaults = {{"head_dim", 256}, {"sliding_window", 4096}}},
      {.name = "Gemma3ForCausalLM",
       .full_every = 6,
       .defaults = {{"head_dim", 256}, {"sliding_window", 4096}}},
      // Its files leave out what the smallest model of the family has.
      {.name = "Gemma3ForConditionalGeneration",
       .full_every = 6,
       .defaults = {{"head_dim", 256},
                    {"num_attention_heads", 8},
                    {"num_key_value_heads", 4},
                    {"sliding_window", 4096},
                    {"vocab_size", 262208}}},
      {.name = "PhiForCausalLM", .gated = false},
      {.name = "Phi3ForCausalLM"},
      {.name = "DeepseekV2ForCausalLM", .own_expert_width = true},
      {.name = "DeepseekV3ForCausalLM", .own_expert_width = true},
      {.name = "GptOssForCausalLM", .full_every = 2},
  };
  return *kKnown;
}

// Returns the name in "architectures", else in "model_type"; empty: neither.
std::string ArchitectureOf(const nlohmann::json& config) {
  const auto list = config.find("architectures");
  if (list != config.end() && list->is_array() && !list->empty() &&
      list->front().is_string()) {
    return list->front().get<std::string>();
  }
  const auto type = config.find("model_type");
  return type != config.end() && type->is_string() ? type->get<std::string>()
                                                   : "";
}

class ConfigReader {
 public:
  ConfigReader(const nlohmann::json& config, const Architecture* known,
               ModelConfig model)
      : known_(known != nullptr ? *known : Architecture{.name = ""}),
        fields_(config, known_.defaults),
        model_(std::move(model)) {}

  absl::StatusOr<ModelConfig> Read() {
    model_.hidden = fields_.Required("hidden_size");
    model_.vocabulary = fields_.Required("vocab_size");
    model_.layers = fields_.Required("num_hidden_layers");
    if (model_.layers > kMostLayers) {
      fields_.Fault(absl::StrCat("num_hidden_layers is ", model_.layers,
                                 ": give at most ", kMostLayers));
      model_.layers = 1;
    }
    model_.positions = fields_.Optional("max_position_embeddings", 0);
    model_.gated = known_.gated;
    ReadAttention();
    ReadWindow();
    ReadFeedForward();
    RETURN_IF_ERROR(fields_.Check(model_.architecture));
    return std::move(model_);
  }

 private:
  void ReadAttention() {
    model_.heads = fields_.Required("num_attention_heads");
    if (fields_.Has("kv_lora_rank")) return ReadLatent();
    model_.kv_heads = fields_.Optional("num_key_value_heads", model_.heads);
    if (model_.kv_heads < 1 || model_.heads % model_.kv_heads != 0) {
      fields_.Fault(absl::StrCat(
          "num_key_value_heads is ", model_.kv_heads,
          ", which does not divide num_attention_heads (", model_.heads, ")"));
    }
    model_.head_dim = fields_.Optional("head_dim", 0);
    if (model_.head_dim > 0) return;
    model_.head_dim = model_.hidden / model_.heads;
    if (model_.head_dim * model_.heads != model_.hidden) {
      fields_.Fault(absl::StrCat(
          "it has no head_dim, and num_attention_heads (", model_.heads,
          ") does not divide hidden_size (", model_.hidden, "): add head_dim"));
    }
  }

  void ReadLatent() {
    model_.latent =
        LatentAttention{.query_rank = fields_.Optional("q_lora_rank", 0),
                        .key_value_rank = fields_.Required("kv_lora_rank"),
                        .plain_head_dim = fields_.Required("qk_nope_head_dim"),
                        .rotary_head_dim = fields_.Required("qk_rope_head_dim"),
                        .value_head_dim = fields_.Required("v_head_dim")};
  }

  // How many layers have a window: by name, by pattern, or all.
  void ReadWindow() {
    model_.full_layers = model_.layers;
    const std::vector<std::string> types = fields_.Texts("layer_types");
    const auto named = [&](const char* type) {
      return static_cast<int64_t>(std::count(types.begin(), types.end(), type));
    };
    if (!types.empty()) model_.full_layers = named("full_attention");
    const int64_t others = static_cast<int64_t>(types.size()) -
                           named("full_attention") - named("sliding_attention");
    if (!types.empty() && others > 0) {
      model_.notes.push_back(absl::StrCat(
          others,
          " layers have another kind of attention, whose projections are not "
          "derived"));
    }
    model_.window = fields_.Optional("sliding_window", 0);
    if (!fields_.Flag("use_sliding_window", !known_.window_by_flag)) {
      model_.window = 0;
    }
    if (!types.empty()) {
      model_.window_layers = named("sliding_attention");
      if (model_.window == 0) {
        model_.full_layers += std::exchange(model_.window_layers, 0);
      }
    } else if (model_.window > 0) {
      model_.window_layers = WindowLayers();
      model_.full_layers -= model_.window_layers;
    }
  }

  int64_t WindowLayers() {
    const int64_t every =
        std::min(fields_.Optional("sliding_window_pattern", known_.full_every),
                 model_.layers);
    if (every > 0) return model_.layers - model_.layers / every;
    if (!known_.window_by_flag) return model_.layers;
    return model_.layers -
           std::min(model_.layers, fields_.Optional("max_window_layers", 0));
  }

  void ReadFeedForward() {
    const int64_t experts = fields_.Optional(
        {"num_experts", "n_routed_experts", "num_local_experts"}, 0);
    model_.dense_layers = model_.layers;
    if (experts > 0) ReadExperts(experts);
    if (model_.dense_layers > 0) {
      model_.intermediate = fields_.Required("intermediate_size");
    }
  }

  void ReadExperts(int64_t count) {
    Experts experts{.count = count};
    experts.per_token =
        fields_.Required({"num_experts_per_tok", "experts_per_token",
                          "num_experts_per_token", "moe_topk"});
    experts.intermediate =
        known_.own_expert_width
            ? fields_.Required("moe_intermediate_size")
            : fields_.Required({"moe_intermediate_size", "intermediate_size"});
    experts.shared_intermediate = fields_.Optional(
        "shared_expert_intermediate_size",
        fields_.Optional({"n_shared_experts", "num_shared_experts"}, 0) *
            experts.intermediate);
    experts.layers = ExpertLayers();
    if (count > kMostExperts || experts.per_token > count) {
      fields_.Fault(absl::StrCat("it has ", count, " experts, ",
                                 experts.per_token,
                                 " of a token: give at most ", kMostExperts,
                                 ", and no more of a token than "
                                 "there are"));
    }
    model_.dense_layers -= experts.layers;
    if (experts.layers > 0) model_.experts = experts;
  }

  // Layers that have experts: others are dense by number, by list or by period.
  int64_t ExpertLayers() {
    const int64_t first = fields_.Optional("first_k_dense_replace", 0);
    const int64_t period =
        std::max<int64_t>(1, fields_.Optional("moe_layer_freq", 1));
    const int64_t step =
        std::max<int64_t>(1, fields_.Optional("decoder_sparse_step", 1));
    const std::vector<int64_t> listed = fields_.Numbers("mlp_only_layers");
    const std::set<int64_t> dense(listed.begin(), listed.end());
    int64_t layers = 0;
    for (int64_t i = first; i < model_.layers; ++i) {
      const bool is_dense =
          i % period != 0 || (i + 1) % step != 0 || dense.contains(i);
      layers += is_dense ? 0 : 1;
    }
    return layers;
  }

  const Architecture known_;
  ConfigFields fields_;
  ModelConfig model_;
};

absl::StatusOr<nlohmann::json> ParseObject(absl::string_view text) {
  nlohmann::json config;
  try {
    config = nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception& error) {  // Also 1e999.
    // What stands before the first blank is the library's own number.
    const absl::string_view what = error.what();
    return absl::InvalidArgumentError(absl::StrCat(
        "config.json is no JSON, or cut off: ",
        PrintableText(what.substr(std::min(what.size(), what.find(' ') + 1))),
        "; fetch the file again"));
  }
  if (!config.is_object()) {
    return absl::InvalidArgumentError(
        "config.json holds no object: give a model's config.json, as "
        "Hugging Face has it beside the weights");
  }
  return config;
}

}  // namespace

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view text) {
  if (text.size() > kMaxConfigBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "config.json has ", text.size(), " bytes, of which at most ",
        kMaxConfigBytes, " are read: give the model's config.json alone"));
  }
  ASSIGN_OR_RETURN(const nlohmann::json config, ParseObject(text));
  const std::string name = ArchitectureOf(config);
  const std::vector<Architecture>& all = KnownArchitectures();
  const auto known =
      std::find_if(all.begin(), all.end(),
                   [&](const Architecture& a) { return name == a.name; });
  ModelConfig model;
  model.architecture =
      name.empty() ? "an architecture that it does not name"
                   : absl::CHexEscape(ShortenedText(name, kMaxShownName));
  if (known == all.end()) {
    model.notes.push_back(absl::StrCat(
        model.architecture,
        " is not known: it is read as a decoder whose feed-forward layers have "
        "two factors in their first product"));
  }
  return ConfigReader(config, known == all.end() ? nullptr : &*known,
                      std::move(model))
      .Read();
}

}  // namespace wavetune
