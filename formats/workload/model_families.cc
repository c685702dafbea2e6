#include "formats/workload/model_families.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "formats/workload/config_fields.h"

namespace wavetune {
namespace {

const std::vector<ModelFamily>& KnownFamilies() {
  static const auto* const kKnown = new std::vector<ModelFamily>{
      {.names = "llama mistral mistral3 ministral ministral3 mixtral phi3 "
                "minimaxm2 olmoe"},
      {.names = "glm4moe", .defaults = {{"head_dim", 128}}},
      {.names = "qwen2 qwen3 qwen25vl qwen2vl qwen3vl mimo",
       .window_by_flag = true},
      {.names = "qwen2moe qwen3moe qwen3vlmoe",
       .own_expert_width = true,
       .window_by_flag = true},
      {.names = "gemma", .defaults = {{"head_dim", 256}}},
      {.names = "gemma2",
       .full_every = 2,
       .defaults = {{"head_dim", 256}, {"sliding_window", 4096}},
       .harmless = "query_pre_attn_scalar"},
      // Its files leave out what the smallest model of the family has.
      {.names = "gemma3",
       .full_every = 6,
       .defaults = {{"head_dim", 256},
                    {"num_attention_heads", 8},
                    {"num_key_value_heads", 4},
                    {"sliding_window", 4096},
                    {"vocab_size", 262208}},
       .harmless = "query_pre_attn_scalar mm_tokens_per_image"},
      {.names = "phi starcoder2 gptneox persimmon nemotron arcee apertus "
                "biogpt",
       .gated = false},
      {.names = "deepseekv2 deepseekv3 kimik2 kimik25 deepseekv32 glmmoedsa",
       .own_expert_width = true,
       .harmless = "head_dim qk_head_dim num_key_value_heads ep_size"},
      {.names = "gptoss",
       .full_every = 2,
       .harmless = "initial_context_length experts_per_token"},
      {.names = "llama4",
       .style = ModelStyle::kLlama4,
       .defaults = {{"num_local_experts", 16},
                    {"num_experts_per_tok", 1},
                    {"attention_chunk_size", 8192},
                    {"intermediate_size_mlp", 16384},
                    {"head_dim", 128}},
       .harmless = "no_rope_layer_interval attn_temperature_tuning attn_scale "
                   "floor_scale for_llm_compressor"},
      {.names = "qwen3next qwen35 qwen35moe",
       .style = ModelStyle::kQwenNext,
       .own_expert_width = true,
       .harmless = "linear_conv_kernel_dim use_sliding_window sliding_window "
                   "max_window_layers"},
      {.names = "nemotronh",
       .style = ModelStyle::kNemotronH,
       .gated = false,
       .own_expert_width = true,
       .harmless = "expand conv_kernel chunk_size mamba_hidden_act "
                   "time_step_rank sliding_window moe_shared_expert_overlap"},
      {.names = "granitemoehybrid",
       .style = ModelStyle::kGraniteHybrid,
       .harmless = "mamba_d_conv mamba_chunk_size mamba_d_head"},
      {.names = "granite granitemoe granitemoeshared"},
      {.names = "deepseekv4",
       .style = ModelStyle::kDeepSeekV4,
       .own_expert_width = true,
       .harmless = "num_key_value_heads num_hash_layers "
                   "hc_mult hc_sinkhorn_iters compress_rope_theta ep_size"},
      {.names = "gemma4 gemma4unified",
       .style = ModelStyle::kGemma4,
       .full_every = 6,
       .harmless = "vocab_size_per_layer_input use_bidirectional_attention"},
      {.names = "mimov2flash mimov2",
       .style = ModelStyle::kMiMoV2,
       .own_expert_width = true,
       .harmless = "attention_chunk_size attention_value_scale "
                   "swa_rope_theta add_swa_attention_sink_bias "
                   "add_full_attention_sink_bias"},
      {.names = "minimaxm3 minimaxm3sparse minimaxm3vl",
       .style = ModelStyle::kMiniMaxM3,
       .harmless = "first_k_dense_replace moe_intermediate_size"},
      {.names = "ernie45moe", .style = ModelStyle::kErnie},
      {.names = "ernie45 seedoss exaone4 olmo2 olmo3 cohere2",
       .harmless = "layer_switch order_of_interleaved_layers "
                   "use_gated_activation use_parallel_block "
                   "use_parallel_embedding rotary_pct"},
      {.names = "decilm nemotronnas", .style = ModelStyle::kDeciLM},
  };
  return *kKnown;
}

// Heads of a model, which say what comes behind its last layer. Longest first.
constexpr absl::string_view kHeadsWithLogits[] = {"ForConditionalGeneration",
                                                  "ForCausalLM", "LMHeadModel"};
constexpr absl::string_view kOtherHeads[] = {"ForSequenceClassification",
                                             "ForTokenClassification",
                                             "ForRewardModel",
                                             "ForQuestionAnswering",
                                             "ForProcessRewardModel",
                                             "ForEmbedding",
                                             "TextModel",
                                             "Model"};

std::string Normalised(absl::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == '.') continue;
    plain += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  absl::string_view result = plain;
  absl::ConsumeSuffix(&result, "text");
  return std::string(result);
}

const ModelFamily* FamilyOf(absl::string_view name) {
  const std::string plain = Normalised(name);
  if (plain.empty()) return nullptr;
  for (const ModelFamily& family : KnownFamilies()) {
    const std::vector<absl::string_view> names =
        absl::StrSplit(family.names, ' ');
    if (std::find(names.begin(), names.end(), plain) != names.end()) {
      return &family;
    }
  }
  return nullptr;
}

std::string TextOf(const nlohmann::json& config, const char* field) {
  const auto found = config.find(field);
  if (found == config.end()) return "";
  const nlohmann::json* value = &*found;
  if (value->is_array() && !value->empty()) value = &value->front();
  return value->is_string() ? value->get<std::string>() : "";
}

// Returns a name of an architecture without its head.
absl::string_view WithoutHead(absl::string_view name, bool* has_logits) {
  for (const absl::string_view head : kHeadsWithLogits) {
    if (absl::ConsumeSuffix(&name, head)) return name;
  }
  for (const absl::string_view head : kOtherHeads) {
    if (!absl::ConsumeSuffix(&name, head)) continue;
    *has_logits = false;
    return name;
  }
  return name;
}

}  // namespace

ModelIdentity IdentityOf(const nlohmann::json& config) {
  const std::string architecture = TextOf(config, "architectures");
  const std::string type = TextOf(config, "model_type");
  ModelIdentity identity{.name = architecture.empty() ? type : architecture};
  const absl::string_view body =
      WithoutHead(architecture, &identity.has_logits);
  // What holds a model of text is the text model's business: it is asked first.
  const nlohmann::json& text = ConfigFields::TextModel(config);
  bool ignored = true;
  const std::string text_architecture =
      &text == &config ? "" : TextOf(text, "architectures");
  const std::string text_type =
      &text == &config ? "" : TextOf(text, "model_type");
  for (const absl::string_view name :
       {WithoutHead(text_architecture, &ignored), absl::string_view(text_type),
        body, absl::string_view(type)}) {
    identity.family = FamilyOf(name);
    if (identity.family != nullptr) break;
  }
  return identity;
}

}  // namespace wavetune
