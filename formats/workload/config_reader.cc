#include "formats/workload/config_reader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "formats/workload/changing_fields.h"
#include "formats/workload/config_fields.h"
#include "formats/workload/model_families.h"
#include "formats/workload/quantization.h"

namespace wavetune {
namespace {

constexpr int64_t kMostLayers = 4096;
constexpr int64_t kMostExperts = 1024;
// Widths that differ, of all layers; each becomes problems.
constexpr size_t kMostDistinct = 128;
// Of a name that anybody may have written: it is shown to operators.
constexpr size_t kMaxShownName = 128;
// Engines pad the vocabulary to whole multiples of this.
constexpr int64_t kVocabularyMultiple = 64;

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// What a model without experts may have all the same.
constexpr char kFieldsOfExperts[] =
    "num_experts_per_tok moe_intermediate_size decoder_sparse_step "
    "mlp_only_layers moe_layer_freq mlp_layer_types first_k_dense_replace "
    "shared_expert_intermediate_size top_k_experts n_shared_experts "
    "moe_layers interleave_moe_layer_step";

// What comes first in a layer, and second.
enum class Mixer { kFull, kWindow, kChunk, kDelta, kMamba, kNone };
enum class FeedForward { kDense, kExperts, kBoth, kNone };

struct Layer {
  Mixer mixer = Mixer::kFull;
  FeedForward feed_forward = FeedForward::kDense;
};

// Heads of an attention layer.
struct Heads {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t value_head_dim = 0;
};

// Modules as files name them.
const std::vector<absl::string_view> kAttentionFolders = {"self_attn", "attn",
                                                          "attention", "mixer"};
const std::vector<absl::string_view> kFeedForwardFolders = {
    "mlp", "ffn", "feed_forward", "block_sparse_moe", "mixer"};
// Of Gemma 4's experts, which are beside the dense layer.
const std::vector<absl::string_view> kNoFolder = {"", "moe"};
const std::vector<absl::string_view> kSharedFolders = {
    "mlp.shared_experts",
    "mlp.shared_expert",
    "ffn.shared_experts",
    "feed_forward.shared_expert",
    "mixer.shared_experts",
    "shared_mlp",
    "block_sparse_moe.shared_experts"};
const std::vector<absl::string_view> kFirstLeaves = {
    "gate_proj", "up_proj", "gate_up_proj", "w1", "w3", "fc1"};
const std::vector<absl::string_view> kSecondLeaves = {"down_proj", "w2", "fc2"};

// Adds one layer to those that are alike.
template <typename T>
void Count(const T& one, std::vector<T>& all, std::map<T, size_t>& places) {
  const auto [place, is_new] = places.try_emplace(one, all.size());
  if (is_new) all.push_back(one);
  ++all[place->second].layers;
}

class ConfigReader {
 public:
  ConfigReader(const nlohmann::json& config, ModelIdentity identity)
      : identity_(std::move(identity)),
        known_(identity_.family != nullptr ? *identity_.family : ModelFamily{}),
        fields_(config, known_.defaults) {
    model_.architecture =
        identity_.name.empty()
            ? "an architecture that it does not name"
            : absl::CHexEscape(ShortenedText(identity_.name, kMaxShownName));
    fields_.Ignore(known_.harmless);
  }

  absl::StatusOr<ModelConfig> Read() {
    hidden_ = fields_.Required("hidden_size");
    vocabulary_ = fields_.Required("vocab_size");
    model_.positions = fields_.Optional("max_position_embeddings", 0);
    ReadQuantization();
    ReadActivation();
    ReadLayers();
    ReadAttention();
    ReadFeedForward();
    RETURN_IF_ERROR(fields_.Check(model_.architecture));
    for (int64_t i = 0; i < Layers(); ++i) AddLayer(i);
    AddLogits();
    RETURN_IF_ERROR(fields_.Check(model_.architecture));
    LeaveOutWhatIsNotKnown();
    NoteTypes();
    return std::move(model_);
  }

 private:
  int64_t Layers() const { return static_cast<int64_t>(layers_.size()); }
  bool Is(ModelStyle style) const { return known_.style == style; }

  void Note(std::string text) { model_.notes.push_back(std::move(text)); }

  // --- What holds of all layers ---

  void ReadQuantization() {
    if (identity_.family == nullptr) {
      Note(absl::StrCat(model_.architecture,
                        " is not known: it is read as a decoder whose "
                        "feed-forward layers have two factors in their first "
                        "product"));
    }
    const nlohmann::json* config = fields_.Structure("quantization_config");
    // ModelOpt writes a file of its own (formats/config_text.h).
    const nlohmann::json* beside = fields_.Structure("hf_quant_config");
    if (config == nullptr && beside != nullptr && beside->is_object()) {
      const auto found = beside->find("quantization");
      if (found != beside->end()) config = &*found;
    }
    if (config == nullptr || !config->is_object()) return;
    quantization_ = Quantization(*config, &model_.notes);
    const std::string experts = fields_.Text({"expert_dtype"});
    if (Is(ModelStyle::kDeepSeekV4) && experts != "fp8" &&
        !config->contains("moe_quant_algo")) {
      quantization_.SetExperts("mxfp4");
    }
  }

  void ReadActivation() {
    const std::string name =
        fields_.Text({"hidden_act", "hidden_activation", "activation_function",
                      "mlp_hidden_act"});
    if (identity_.family != nullptr || name.empty() || name == "silu" ||
        name == "swish" || name == "swiglu") {
      return;
    }
    left_out_ |= kDenseFeedForward | kExpertLayers;
    Note(
        absl::StrCat("left out: ", KindsText(kDenseFeedForward | kExpertLayers),
                     ", since whether an activation of ",
                     absl::CHexEscape(ShortenedText(name, kMaxShownName)),
                     " has one factor or two before it is not known here"));
  }

  // --- Which layers there are ---

  void ReadLayers() {
    if (Is(ModelStyle::kNemotronH)) {
      ReadBlocks();
      if (layers_.empty()) layers_.resize(1);  // There is a fault.
      return;
    }
    const int64_t layers = fields_.Required("num_hidden_layers");
    if (!CheckLayers(layers)) return;
    layers_.resize(static_cast<size_t>(layers));
    ReadMixers();
  }

  bool CheckLayers(int64_t layers) {
    if (layers <= kMostLayers) return true;
    fields_.Fault(absl::StrCat("num_hidden_layers is ", layers,
                               ": give at most ", kMostLayers));
    layers_.resize(1);
    return false;
  }

  // Nemotron-H: each block is attention, Mamba, experts or a feed-forward
  // layer, by letter or by name.
  void ReadBlocks() {
    static const auto* const kBlocks = new std::map<std::string, Layer>{
        {"M", {Mixer::kMamba, FeedForward::kNone}},
        {"mamba", {Mixer::kMamba, FeedForward::kNone}},
        {"*", {Mixer::kFull, FeedForward::kNone}},
        {"attention", {Mixer::kFull, FeedForward::kNone}},
        {"E", {Mixer::kNone, FeedForward::kExperts}},
        {"moe", {Mixer::kNone, FeedForward::kExperts}},
        {"-", {Mixer::kNone, FeedForward::kDense}},
        {"mlp", {Mixer::kNone, FeedForward::kDense}},
        // As transformers 5 names them.
        {"linear_attention", {Mixer::kMamba, FeedForward::kNone}},
        {"full_attention", {Mixer::kFull, FeedForward::kNone}},
    };
    std::vector<std::string> blocks = fields_.Texts("layers_block_type");
    const std::string letters = fields_.Text({"hybrid_override_pattern"});
    if (blocks.empty() && letters.empty())
      blocks = fields_.Texts("layer_types");
    for (const char letter : blocks.empty() ? letters : "") {
      if (blocks.size() > static_cast<size_t>(kMostLayers)) break;
      blocks.emplace_back(1, letter);
    }
    if (blocks.empty()) {
      fields_.Required({"hybrid_override_pattern", "layers_block_type"});
    }
    fields_.Ignore("num_hidden_layers layer_types");
    if (!CheckLayers(static_cast<int64_t>(blocks.size()))) return;
    for (const std::string& block : blocks) {
      const auto known = kBlocks->find(block);
      if (known == kBlocks->end()) {
        fields_.Fault(absl::StrCat(
            "a layer is of type '",
            absl::CHexEscape(ShortenedText(block, kMaxShownName)),
            "': give mamba, attention, moe and mlp, or the letters M, *, E and "
            "-"));
        continue;
      }
      layers_.push_back(known->second);
    }
  }

  void SetMixers(const auto& mixer_of) {
    for (int64_t i = 0; i < Layers(); ++i) {
      layers_[static_cast<size_t>(i)].mixer = mixer_of(i);
    }
  }

  void ReadMixers() {
    ReadWindow();
    if (Is(ModelStyle::kDeepSeekV4)) {
      fields_.Ignore("layer_types compress_ratios compress_rates");
      return;
    }
    const std::vector<std::string> types = fields_.Texts("layer_types");
    if (!types.empty()) return ReadMixersByName(types);
    switch (known_.style) {
      case ModelStyle::kQwenNext: {
        const int64_t every = std::max<int64_t>(
            1, fields_.Optional("full_attention_interval", 4));
        return SetMixers([&](int64_t i) {
          return (i + 1) % every == 0 ? Mixer::kFull : Mixer::kDelta;
        });
      }
      case ModelStyle::kLlama4:
        return ReadMixersWithoutPositions();
      case ModelStyle::kMiMoV2: {
        const ByLayer window =
            fields_.OfLayers({"hybrid_layer_pattern"}, Layers(), false);
        return SetMixers([&](int64_t i) {
          return window[i] != 0 ? Mixer::kWindow : Mixer::kFull;
        });
      }
      default:
        ReadAttentionTypes();
        return ReadWindowedLayers();
    }
  }

  // MiniMax-M2: lists of 1 alone; 0 is another kind of attention.
  void ReadAttentionTypes() {
    const ByLayer types =
        fields_.OfLayers({"attn_type_list"}, Layers(), false, 1);
    int64_t others = 0;
    SetMixers([&](int64_t i) {
      others += types[i] == 1 ? 0 : 1;
      return types[i] == 1 ? Mixer::kFull : Mixer::kNone;
    });
    if (others > 0) NoteOthers(others, "attn_type_list");
  }

  void NoteOthers(int64_t count, const std::string& type) {
    Note(absl::StrCat(count, " layers of type ",
                      absl::CHexEscape(ShortenedText(type, kMaxShownName)),
                      " have another kind of attention, whose projections are "
                      "not derived"));
  }

  // "layer_types": what follows the model's own layers is of draft models.
  void ReadMixersByName(const std::vector<std::string>& types) {
    static const auto* const kNames = new std::map<std::string, Mixer>{
        {"full_attention", Mixer::kFull},
        {"attention", Mixer::kFull},
        {"deepseek_sparse_attention", Mixer::kFull},
        {"indexed_attention", Mixer::kFull},
        {"sliding_attention", Mixer::kWindow},
        {"chunked_attention", Mixer::kChunk},
    };
    fields_.Ignore(
        "sliding_window_pattern full_attention_interval "
        "no_rope_layers hybrid_layer_pattern max_window_layers");
    if (static_cast<int64_t>(types.size()) < Layers()) {
      fields_.Fault(absl::StrCat("layer_types has ", types.size(),
                                 " values for ", Layers(),
                                 " layers: give one of each"));
      return;
    }
    std::map<std::string, int64_t> others;
    SetMixers([&](int64_t i) {
      const std::string& type = types[static_cast<size_t>(i)];
      const auto known = kNames->find(type);
      if (known != kNames->end()) return known->second;
      if (type == "linear_attention" && Is(ModelStyle::kQwenNext)) {
        return Mixer::kDelta;
      }
      if ((type == "mamba" || type == "linear_attention") &&
          Is(ModelStyle::kGraniteHybrid)) {
        return Mixer::kMamba;
      }
      ++others[type];
      return Mixer::kNone;
    });
    for (const auto& [type, count] : others) {
      if (model_.notes.size() > kMostDistinct) break;
      NoteOthers(count, type);
    }
  }

  // Llama 4: layers without rotary positions see all keys, the others those of
  // their chunk.
  void ReadMixersWithoutPositions() {
    const ByLayer rotary =
        fields_.OfLayers({"no_rope_layers"}, Layers(), false);
    const int64_t every =
        std::max<int64_t>(1, fields_.Optional("no_rope_layer_interval", 4));
    SetMixers([&](int64_t i) {
      const bool chunked =
          rotary.IsList() ? rotary[i] != 0 : (i + 1) % every != 0;
      return chunked ? Mixer::kChunk : Mixer::kFull;
    });
  }

  void ReadWindow() {
    window_ = fields_.Optional({"sliding_window", "sliding_window_size"}, 0);
    if (!fields_.Flag("use_sliding_window", !known_.window_by_flag)) {
      window_ = 0;
    }
    if (Is(ModelStyle::kQwenNext) || Is(ModelStyle::kNemotronH)) window_ = 0;
    if (Is(ModelStyle::kLlama4)) {
      chunk_ = fields_.Optional("attention_chunk_size", 0);
    }
  }

  // Which layers have a window: all, those of a period, or those from one on.
  void ReadWindowedLayers() {
    const std::string letters = fields_.Text({"sliding_window_pattern"});
    const int64_t every =
        letters.empty()
            ? fields_.Optional("sliding_window_pattern", known_.full_every)
            : 0;
    const int64_t from =
        known_.window_by_flag ? fields_.Optional("max_window_layers", 0) : 0;
    if (window_ == 0) return;
    SetMixers([&](int64_t i) {
      bool windowed = i >= from;
      if (every > 0) windowed = (i + 1) % every != 0;
      if (!letters.empty()) {
        windowed = letters[static_cast<size_t>(i) % letters.size()] == 'L';
      }
      return windowed ? Mixer::kWindow : Mixer::kFull;
    });
  }

  // --- Attention ---

  void ReadAttention() {
    if (Is(ModelStyle::kDeciLM)) return ReadDeciLMBlocks();
    if (fields_.Has("kv_lora_rank")) return ReadLatent();
    if (Is(ModelStyle::kDeepSeekV4)) return ReadDeepSeekV4();
    const int64_t layers = Layers();
    heads_ = fields_.OfLayers({"num_attention_heads"}, layers, true);
    kv_heads_ = fields_.OfLayers({"num_key_value_heads"}, layers, false, -1);
    head_dim_ = fields_.Optional({"head_dim", "attention_head_dim"}, 0);
    value_dim_ =
        Is(ModelStyle::kMiMoV2) ? fields_.Optional("v_head_dim", 0) : 0;
    if (head_dim_ == 0) {
      head_dim_ = hidden_ / heads_[0];
      if (heads_.IsList() || head_dim_ * heads_[0] != hidden_) {
        fields_.Fault(absl::StrCat(
            "it has no head_dim, and num_attention_heads (", heads_[0],
            ") does not divide hidden_size (", hidden_, "): add head_dim"));
      }
    }
    switch (known_.style) {
      case ModelStyle::kMiMoV2:
        return ReadWindowHeads();
      case ModelStyle::kGemma4:
        return ReadGemma4Heads();
      case ModelStyle::kQwenNext:
        gated_attention_ = fields_.Flag("attn_output_gate", true);
        return ReadDelta();
      case ModelStyle::kMiniMaxM3:
        return ReadSparseLayers();
      case ModelStyle::kNemotronH:
        return ReadMamba("mamba_num_heads", "mamba_head_dim", "n_groups",
                         "ssm_state_size");
      case ModelStyle::kGraniteHybrid:
        return ReadMamba("mamba_n_heads", "mamba_expand", "mamba_n_groups",
                         "mamba_d_state");
      default:
        return;
    }
  }

  void ReadWindowHeads() {
    // transformers leaves them out.
    if (!fields_.Has("swa_num_key_value_heads")) {
      left_out_ |= kAttentionProjections | kAttentionItself;
      return Note(absl::StrCat(
          "left out: ", KindsText(kAttentionProjections | kAttentionItself),
          ", since swa_num_key_value_heads is missing: give the file that the "
          "model was published with"));
    }
    window_heads_ = Heads{
        .heads = fields_.Optional("swa_num_attention_heads", heads_[0]),
        .kv_heads = fields_.Optional("swa_num_key_value_heads", kv_heads_[0]),
        .head_dim = fields_.Optional("swa_head_dim", head_dim_),
        .value_head_dim = fields_.Optional("swa_v_head_dim", value_dim_)};
  }

  // Full attention has heads of its own; the last layers may take keys and
  // values from earlier ones.
  void ReadGemma4Heads() {
    full_heads_ =
        Heads{.heads = heads_[0],
              .kv_heads = kv_heads_[0],
              .head_dim = fields_.Optional("global_head_dim", head_dim_)};
    const int64_t global =
        fields_.Optional("num_global_key_value_heads", kv_heads_[0]);
    if (fields_.Flag("attention_k_eq_v", false)) full_heads_->kv_heads = global;
    shared_kv_layers_ =
        std::min(fields_.Optional("num_kv_shared_layers", 0), Layers());
    wide_ = fields_.Flag("use_double_wide_mlp", false);
  }

  // Mamba 2. Granite gives the width of all heads by `expand` alone.
  void ReadMamba(const char* heads, const char* size, const char* groups,
                 const char* state) {
    const bool any = std::any_of(
        layers_.begin(), layers_.end(),
        [](const Layer& layer) { return layer.mixer == Mixer::kMamba; });
    if (!any) return fields_.Ignore(size);
    const int64_t count = fields_.Required(heads);
    const int64_t given = fields_.Required(size);
    const bool by_expand = Is(ModelStyle::kGraniteHybrid);
    if (by_expand && given * hidden_ % count != 0) {
      fields_.Fault(absl::StrCat(heads, " is ", count,
                                 ", which does not divide ", size,
                                 " times hidden_size (", given * hidden_, ")"));
    }
    const int64_t width = by_expand ? given * hidden_ / count : given;
    const Units of_heads{.field = heads, .count = count, .width = width};
    const Units of_groups{.field = groups,
                          .count = fields_.Required(groups),
                          .width = fields_.Required(state),
                          .copied = true};
    mamba_in_ = {of_heads,
                 of_heads,
                 of_groups,
                 of_groups,
                 {.field = heads, .count = count}};
    mamba_out_ = of_heads;
  }

  // The gated delta rule: keys (and queries) and values have their own heads.
  void ReadDelta() {
    const bool any = std::any_of(
        layers_.begin(), layers_.end(),
        [](const Layer& layer) { return layer.mixer == Mixer::kDelta; });
    if (!any) return;
    delta_keys_ = {.field = "linear_num_key_heads",
                   .count = fields_.Required("linear_num_key_heads"),
                   .width = fields_.Required("linear_key_head_dim")};
    delta_values_ = {.field = "linear_num_value_heads",
                     .count = fields_.Required("linear_num_value_heads"),
                     .width = fields_.Required("linear_value_head_dim")};
    Note(
        "layers of the gated delta rule: their projections are derived, the "
        "rule itself is not");
  }

  // MiniMax-M3: sparse layers choose their keys with an indexer, whose
  // projections are in the same product.
  void ReadSparseLayers() {
    fields_.Ignore("shared_intermediate_size");
    const nlohmann::json* sparse = fields_.Structure("sparse_attention_config");
    if (sparse == nullptr || !sparse->is_object()) return;
    ConfigFields fields(*sparse);
    sparse_ = fields.OfLayers({"sparse_attention_freq"}, Layers(), false);
    index_ = {.field = "num_key_value_heads",
              .count = fields.Optional("sparse_num_index_heads", 0),
              .width = fields.Optional("sparse_index_dim", 0),
              .copied = true};
    if (const absl::Status status = fields.Check("sparse_attention_config");
        !status.ok()) {
      fields_.Fault(std::string(status.message()));
    }
    Note(
        "sparse attention: its projections are derived, attention itself is "
        "not");
  }

  void ReadLatent() {
    heads_ = ByLayer(fields_.Required("num_attention_heads"));
    latent_ = Latent{.query_rank = fields_.Optional("q_lora_rank", 0),
                     .key_value_rank = fields_.Required("kv_lora_rank"),
                     .plain_head_dim = fields_.Required("qk_nope_head_dim"),
                     .rotary_head_dim = fields_.Required("qk_rope_head_dim"),
                     .value_head_dim = fields_.Required("v_head_dim")};
    fields_.Ignore("num_key_value_heads head_dim qk_head_dim");
    if (!fields_.Has("index_topk")) return;
    indexer_keys_ = fields_.Required("index_topk");
    indexer_heads_ = fields_.Required("index_n_heads");
    indexer_dim_ = fields_.Required("index_head_dim");
    ReadIndexedLayers();
    Note(absl::StrCat("queries see at most ", indexer_keys_,
                      " keys, which an indexer chooses: its projections are "
                      "derived, its scores are not"));
  }

  // Layers that have an indexer; the others take what the last one chose.
  void ReadIndexedLayers() {
    const std::vector<std::string> types = fields_.Texts("indexer_types");
    const std::string letters = fields_.Text({"index_topk_pattern"});
    const int64_t every =
        std::max<int64_t>(1, fields_.Optional("index_topk_freq", 1));
    const int64_t offset = fields_.Optional("index_skip_topk_offset", 2);
    fields_.Ignore("index_share_for_mtp_iteration");
    for (int64_t i = 0; i < Layers(); ++i) {
      const auto at = static_cast<size_t>(i);
      bool has = std::max<int64_t>(i - offset + 1, 0) % every == 0;
      if (at < types.size()) has = types[at] == "full";
      if (at < letters.size()) has = letters[at] != 'S';
      indexed_.push_back(has);
    }
  }

  void ReadDeepSeekV4() {
    heads_ = ByLayer(fields_.Required("num_attention_heads"));
    head_dim_ = fields_.Required("head_dim");
    query_rank_ = fields_.Required("q_lora_rank");
    out_rank_ = fields_.Required("o_lora_rank");
    out_groups_ = fields_.Required("o_groups");
    fields_.Ignore("qk_rope_head_dim index_topk index_n_heads index_head_dim");
    Note(
        "attention is left out, with its compressors and indexers and the "
        "product by groups (wo_a): no kernel here computes its like");
  }

  // DeciLM: each layer has its heads of keys, and its width, or none.
  void ReadDeciLMBlocks() {
    const int64_t heads = fields_.Required("num_attention_heads");
    heads_ = ByLayer(heads);
    head_dim_ = fields_.Optional("head_dim", hidden_ / heads);
    if (head_dim_ < 1) fields_.Fault("head_dim is 0: give at least 1");
    const nlohmann::json* blocks = fields_.Structure("block_configs");
    if (blocks == nullptr || !blocks->is_array() ||
        static_cast<int64_t>(blocks->size()) < Layers()) {
      return fields_.Fault(
          "block_configs is no list with one block of each layer: give the "
          "model's own file");
    }
    std::vector<int64_t> kv_heads;
    std::vector<int64_t> widths;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const nlohmann::json attention = Part((*blocks)[i], "attention");
      const nlohmann::json ffn = Part((*blocks)[i], "ffn");
      if (!attention.is_object() || !ffn.is_object()) {
        return fields_.Fault(absl::StrCat("block_configs: block ", i,
                                          " has no attention or no ffn"));
      }
      if (Flagged(attention, "replace_with_linear") ||
          Flagged(ffn, "replace_with_linear")) {
        return fields_.Fault(
            absl::StrCat("block_configs: block ", i,
                         " has replace_with_linear, which is not read"));
      }
      if (Flagged(attention, "no_op")) layers_[i].mixer = Mixer::kNone;
      if (Flagged(ffn, "no_op")) layers_[i].feed_forward = FeedForward::kNone;
      kv_heads.push_back(GroupedHeads(attention, heads, i));
      widths.push_back(DeciLMWidth(ffn, i));
    }
    kv_heads_ = ByLayer(std::move(kv_heads));
    width_ = ByLayer(std::move(widths));
    fields_.Ignore("num_key_value_heads intermediate_size");
  }

  static nlohmann::json Part(const nlohmann::json& block, const char* name) {
    return block.is_object() ? block.value(name, nlohmann::json())
                             : nlohmann::json();
  }

  static bool Flagged(const nlohmann::json& block, const char* name) {
    const auto found = block.find(name);
    return found != block.end() && found->is_boolean() && found->get<bool>();
  }

  int64_t GroupedHeads(const nlohmann::json& block, int64_t heads, size_t i) {
    if (layers_[i].mixer == Mixer::kNone) return heads;
    const auto found = block.find("n_heads_in_group");
    const int64_t group = found != block.end() && found->is_number_integer()
                              ? found->get<int64_t>()
                              : 0;
    if (group >= 1 && heads % group == 0) return heads / group;
    fields_.Fault(absl::StrCat("block_configs: n_heads_in_group of block ", i,
                               " does not divide num_attention_heads (", heads,
                               ")"));
    return heads;
  }

  // Widths are multiples of 256, as the model's own code has it.
  int64_t DeciLMWidth(const nlohmann::json& ffn, size_t i) {
    if (layers_[i].feed_forward == FeedForward::kNone) return 1;
    const auto width = ffn.find("intermediate_size");
    if (width != ffn.end() && width->is_number_integer() &&
        width->get<int64_t>() >= 1 &&
        width->get<int64_t>() <= kMaxConfigNumber) {
      return width->get<int64_t>();
    }
    const auto factor = ffn.find("ffn_mult");
    if (factor != ffn.end() && factor->is_number() &&
        factor->get<double>() > 0 && factor->get<double>() < 1024) {
      const double exact =
          2 * factor->get<double>() * static_cast<double>(hidden_) / 3;
      return RoundUp(std::max<int64_t>(1, static_cast<int64_t>(exact)), 256);
    }
    fields_.Fault(absl::StrCat("block_configs: ffn of block ", i,
                               " has no ffn_mult and no intermediate_size"));
    return 1;
  }

  // --- Feed-forward layers ---

  void ReadFeedForward() {
    const int64_t layers = Layers();
    experts_ = fields_.OfLayers({"num_experts", "n_routed_experts",
                                 "num_local_experts", "moe_num_experts"},
                                layers, false);
    bool any = false;
    for (int64_t i = 0; i < layers; ++i) any = any || experts_[i] > 0;
    const auto needs = [&](FeedForward kind) {
      return std::any_of(
          layers_.begin(), layers_.end(),
          [&](const Layer& layer) { return layer.feed_forward == kind; });
    };
    const bool on =
        fields_.Flag("enable_moe_block", true) && fields_.Flag("use_moe", true);
    if (any && on) {
      ReadExperts();
    } else {
      if (needs(FeedForward::kExperts)) fields_.Required("n_routed_experts");
      fields_.Ignore(kFieldsOfExperts);
    }
    if (Is(ModelStyle::kDeciLM)) return;
    if (!needs(FeedForward::kDense) && !needs(FeedForward::kBoth)) {
      return fields_.Ignore(
          "intermediate_size intermediate_size_mlp dense_intermediate_size");
    }
    if (Is(ModelStyle::kGraniteHybrid)) {
      width_ = ByLayer(fields_.Required("shared_intermediate_size"));
      return fields_.Ignore("intermediate_size num_experts_per_tok");
    }
    const char* field = Is(ModelStyle::kLlama4)      ? "intermediate_size_mlp"
                        : Is(ModelStyle::kMiniMaxM3) ? "dense_intermediate_size"
                                                     : "intermediate_size";
    width_ = fields_.OfLayers({field}, layers, true);
  }

  void ReadExperts() {
    const int64_t layers = Layers();
    per_token_ = fields_.OfLayers(
        {"num_experts_per_tok", "experts_per_token", "num_experts_per_token",
         "moe_topk", "moe_k", "top_k_experts"},
        layers, true);
    const bool own = known_.own_expert_width || Is(ModelStyle::kErnie) ||
                     Is(ModelStyle::kGemma4);
    const bool common = Is(ModelStyle::kLlama4) || Is(ModelStyle::kMiniMaxM3);
    expert_width_ =
        own ? fields_.OfLayers({"moe_intermediate_size"}, layers, true)
        : common
            ? fields_.OfLayers({"intermediate_size"}, layers, true)
            : fields_.OfLayers({"moe_intermediate_size", "intermediate_size"},
                               layers, true);
    expert_hidden_ = hidden_;
    if (Is(ModelStyle::kNemotronH)) {
      latent_width_ = fields_.Optional("moe_latent_size", 0);
      if (latent_width_ > 0) expert_hidden_ = latent_width_;
    }
    ReadSharedExperts();
    ReadExpertLayers();
    for (int64_t i = 0; i < layers; ++i) {
      if (!HasExperts(i)) continue;
      if (experts_[i] <= kMostExperts && per_token_[i] <= experts_[i]) continue;
      fields_.Fault(absl::StrCat("it has ", experts_[i], " experts, ",
                                 per_token_[i], " of a token: give at most ",
                                 kMostExperts,
                                 ", and no more of a token than there are"));
      break;
    }
  }

  bool HasExperts(int64_t i) const {
    const FeedForward kind = layers_[static_cast<size_t>(i)].feed_forward;
    return kind == FeedForward::kExperts || kind == FeedForward::kBoth;
  }

  void ReadSharedExperts() {
    if (Is(ModelStyle::kLlama4)) {
      shared_width_ = expert_width_;
      return;
    }
    const int64_t count = fields_.Optional(
        {"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"},
        0);
    const int64_t all = fields_.Optional(
        {"shared_expert_intermediate_size", "share_expert_dim"}, 0);
    const int64_t also = fields_.Optional("shared_intermediate_size", 0);
    if (Is(ModelStyle::kNemotronH)) {
      const int64_t each =
          fields_.Optional("moe_shared_expert_intermediate_size", 0);
      shared_width_ = ByLayer(count * each);
    } else if (all > 0 || (also > 0 && !Is(ModelStyle::kMiniMaxM3))) {
      shared_width_ = ByLayer(all > 0 ? all : also);
    } else {
      std::vector<int64_t> widths;
      for (int64_t i = 0; i < Layers(); ++i) {
        widths.push_back(count * expert_width_[i]);
      }
      if (!widths.empty()) shared_width_ = ByLayer(std::move(widths));
    }
  }

  // Layers that have experts: by name, by list, by number or by period.
  void ReadExpertLayers() {
    if (Is(ModelStyle::kNemotronH)) return;  // By block.
    const std::vector<std::string> types = fields_.Texts("mlp_layer_types");
    const std::vector<int64_t> only = fields_.Numbers("mlp_only_layers");
    const std::set<int64_t> dense(only.begin(), only.end());
    const std::vector<int64_t> listed = Is(ModelStyle::kLlama4)
                                            ? fields_.Numbers("moe_layers")
                                            : std::vector<int64_t>();
    const std::set<int64_t> sparse(listed.begin(), listed.end());
    const ByLayer period =
        fields_.OfLayers({"moe_layer_freq"}, Layers(), false, 1);
    const int64_t first =
        fields_.Optional({"first_k_dense_replace", "moe_layer_start_index"}, 0);
    const int64_t last = fields_.Optional("moe_layer_end_index", Layers() - 1);
    const int64_t step = std::max<int64_t>(
        1, fields_.Optional({"decoder_sparse_step", "moe_layer_interval",
                             "interleave_moe_layer_step"},
                            1));
    if (!types.empty() && static_cast<int64_t>(types.size()) < Layers()) {
      fields_.Fault(absl::StrCat("mlp_layer_types has ", types.size(),
                                 " values for ", Layers(),
                                 " layers: give one of each"));
      return;
    }
    const auto has = [&](int64_t i) {
      if (!types.empty()) return types[static_cast<size_t>(i)] != "dense";
      if (!sparse.empty()) return sparse.contains(i);
      if (period.IsList()) return period[i] != 0;
      return i >= first && i <= last && (i + 1) % step == 0 &&
             i % std::max<int64_t>(1, period[0]) == 0 && !dense.contains(i);
    };
    const FeedForward kind =
        Is(ModelStyle::kGemma4) ? FeedForward::kBoth : FeedForward::kExperts;
    for (int64_t i = 0; i < Layers(); ++i) {
      if (experts_[i] > 0 && has(i)) {
        layers_[static_cast<size_t>(i)].feed_forward = kind;
      }
    }
  }

  // --- Layers, one by one ---

  void AddLayer(int64_t i) {
    const Layer& layer = layers_[static_cast<size_t>(i)];
    if (layer.mixer == Mixer::kMamba) {
      AddMamba(i);
    } else if (layer.mixer == Mixer::kDelta) {
      AddDelta(i);
    } else if (layer.mixer != Mixer::kNone) {
      if (latent_) {
        AddLatent(i);
      } else if (Is(ModelStyle::kDeepSeekV4)) {
        AddDeepSeekV4(i);
      } else {
        AddHeads(i, layer.mixer);
      }
    }
    if (layer.feed_forward == FeedForward::kDense ||
        layer.feed_forward == FeedForward::kBoth) {
      const bool twice = wide_ && i >= Layers() - shared_kv_layers_;
      AddFeedForward(i, "", kDenseFeedForward, kFeedForwardFolders,
                     "the intermediate size", (twice ? 2 : 1) * width_[i]);
    }
    if (HasExperts(i)) AddExperts(i);
    if (model_.projections.size() > kMostDistinct) {
      fields_.Fault(absl::StrCat("its layers have more than ", kMostDistinct,
                                 " different widths"));
      layers_.resize(static_cast<size_t>(i));
    }
  }

  Units Whole(int64_t count) const { return {.count = count}; }
  Units Hidden() const { return Whole(hidden_); }

  void Add(absl::string_view name, LayerKind kind, std::vector<Units> outputs,
           Units inputs, std::string type) {
    Count(Projection{.name = std::string(name),
                     .kind = kind,
                     .outputs = std::move(outputs),
                     .inputs = std::move(inputs),
                     .type = std::move(type)},
          model_.projections, projections_);
  }

  // A projection of attention.
  void AddOf(
      int64_t i, absl::string_view name, std::vector<Units> outputs,
      Units inputs, std::vector<absl::string_view> leaves,
      const std::vector<absl::string_view>& folders = kAttentionFolders) {
    Add(name, kAttentionProjections, std::move(outputs), std::move(inputs),
        quantization_.TypeOf({folders, std::move(leaves)}, i));
  }

  void AddHeads(int64_t i, Mixer mixer) {
    Heads own{.heads = heads_[i],
              .kv_heads = kv_heads_[i] < 0 ? heads_[i] : kv_heads_[i],
              .head_dim = head_dim_,
              .value_head_dim = value_dim_};
    if (mixer == Mixer::kWindow && window_heads_) own = *window_heads_;
    if (mixer == Mixer::kFull && full_heads_) own = *full_heads_;
    if (own.value_head_dim == 0) own.value_head_dim = own.head_dim;
    if (own.heads < 1 || own.head_dim < 1) {
      return fields_.Fault(absl::StrCat("attention has ", own.heads,
                                        " heads of ", own.head_dim,
                                        ": give at least 1"));
    }
    if (own.kv_heads < 1 || own.heads % own.kv_heads != 0) {
      return fields_.Fault(absl::StrCat(
          "num_key_value_heads is ", own.kv_heads,
          ", which does not divide num_attention_heads (", own.heads, ")"));
    }
    const Units queries{.field = "num_attention_heads",
                        .count = own.heads,
                        .width = (gated_attention_ ? 2 : 1) * own.head_dim};
    const Units keys{.field = "num_key_value_heads",
                     .count = own.kv_heads,
                     .width = own.head_dim,
                     .copied = true};
    Units values = keys;
    values.width = own.value_head_dim;
    const std::vector<absl::string_view> leaves = {
        "q_proj", "k_proj", "v_proj", "qkv_proj", "query_key_value"};
    const bool sparse = sparse_.IsList() && sparse_[i] != 0;
    if (i >= Layers() - shared_kv_layers_) {
      AddOf(i, "q_proj", {queries}, Hidden(), leaves);
    } else if (sparse && index_.count > 0) {
      AddOf(i, "qkv_proj", {queries, keys, values, index_, Whole(index_.width)},
            Hidden(), leaves);
    } else {
      AddOf(i, "qkv_proj", {queries, keys, values}, Hidden(), leaves);
    }
    AddOf(i, "o_proj", {Hidden()},
          {.field = "num_attention_heads",
           .count = own.heads,
           .width = own.value_head_dim},
          {"o_proj", "out_proj", "dense"});
    if (!sparse) AddAttention(own, mixer);
  }

  void AddAttention(const Heads& own, Mixer mixer) {
    Attention attention{.name = "attention",
                        .heads = own.heads,
                        .kv_heads = own.kv_heads,
                        .head_dim = own.head_dim,
                        .value_head_dim = own.value_head_dim};
    if (mixer == Mixer::kWindow && window_ > 0) {
      attention.name = "window attention";
      attention.window = window_;
    } else if (mixer == Mixer::kChunk && chunk_ > 0) {
      attention.name = "chunked attention";
      attention.window = chunk_;
    }
    Count(attention, model_.attention, attention_);
  }

  // Prefill expands keys and values for all heads; decode works on what is
  // compressed, which all heads share.
  void AddLatent(int64_t i) {
    const Latent& latent = *latent_;
    const int64_t head_dim = latent.plain_head_dim + latent.rotary_head_dim;
    const int64_t cached = latent.key_value_rank + latent.rotary_head_dim;
    const auto heads = [&](int64_t width) {
      return Units{
          .field = "num_attention_heads", .count = heads_[i], .width = width};
    };
    if (latent.query_rank > 0) {
      AddOf(i, "fused_qkv_a_proj", {Whole(latent.query_rank + cached)},
            Hidden(), {"q_a_proj", "kv_a_proj_with_mqa", "fused_qkv_a_proj"});
      AddOf(i, "q_b_proj", {heads(head_dim)}, Whole(latent.query_rank),
            {"q_b_proj"});
    } else {
      AddOf(i, "q_proj", {heads(head_dim)}, Hidden(), {"q_proj"});
      AddOf(i, "kv_a_proj", {Whole(cached)}, Hidden(), {"kv_a_proj_with_mqa"});
    }
    AddOf(i, "kv_b_proj",
          {heads(latent.plain_head_dim + latent.value_head_dim)},
          Whole(latent.key_value_rank), {"kv_b_proj"});
    AddOf(i, "o_proj", {Hidden()}, heads(latent.value_head_dim), {"o_proj"});
    if (indexer_keys_ > 0 && indexed_[static_cast<size_t>(i)]) {
      AddOf(i, "indexer.wq_b", {Whole(indexer_heads_ * indexer_dim_)},
            Whole(latent.query_rank), {"indexer.wq_b"});
      Add("indexer.wk_weights_proj", kAttentionProjections,
          {Whole(indexer_dim_ + indexer_heads_)}, Hidden(), "");
    }
    Count(Attention{.name = "attention of prefill",
                    .heads = heads_[i],
                    .kv_heads = heads_[i],
                    .head_dim = head_dim,
                    .value_head_dim = latent.value_head_dim,
                    .window = indexer_keys_,
                    .decode = false},
          model_.attention, attention_);
    Count(Attention{.name = "attention of decode",
                    .heads = heads_[i],
                    .kv_heads = 1,
                    .head_dim = cached,
                    .value_head_dim = latent.key_value_rank,
                    .window = indexer_keys_,
                    .prefill = false},
          model_.attention, attention_);
  }

  void AddDeepSeekV4(int64_t i) {
    AddOf(i, "fused_wqa_wkv", {Whole(query_rank_ + head_dim_)}, Hidden(),
          {"wq_a", "wkv", "fused_wqa_wkv"});
    AddOf(i, "wq_b",
          {{.field = "num_attention_heads",
            .count = heads_[i],
            .width = head_dim_}},
          Whole(query_rank_), {"wq_b"});
    AddOf(i, "wo_b", {Hidden()},
          {.field = "o_groups", .count = out_groups_, .width = out_rank_},
          {"wo_b"});
  }

  void AddMamba(int64_t i) {
    const std::vector<absl::string_view> folders = {"mixer", "mamba"};
    AddOf(i, "mamba.in_proj", mamba_in_, Hidden(), {"in_proj"}, folders);
    AddOf(i, "mamba.out_proj", {Hidden()}, mamba_out_, {"out_proj"}, folders);
  }

  void AddDelta(int64_t i) {
    const std::vector<absl::string_view> folders = {"linear_attn"};
    AddOf(i, "linear_attn.in_proj_qkvz",
          {delta_keys_, delta_keys_, delta_values_, delta_values_}, Hidden(),
          {"in_proj_qkv", "in_proj_z", "in_proj_qkvz"}, folders);
    Units gates = delta_values_;
    gates.width = 1;
    AddOf(i, "linear_attn.in_proj_ba", {gates, gates}, Hidden(),
          {"in_proj_b", "in_proj_a", "in_proj_ba"}, folders);
    AddOf(i, "linear_attn.out_proj", {Hidden()}, delta_values_, {"out_proj"},
          folders);
  }

  void AddFeedForward(int64_t i, absl::string_view prefix, LayerKind kind,
                      const std::vector<absl::string_view>& folders,
                      const char* field, int64_t width) {
    const Units units{.field = field, .count = width};
    Add(absl::StrCat(prefix, known_.gated ? "gate_up_proj" : "up_proj"), kind,
        known_.gated ? std::vector<Units>{units, units}
                     : std::vector<Units>{units},
        Hidden(), quantization_.TypeOf({folders, kFirstLeaves}, i));
    Add(absl::StrCat(prefix, "down_proj"), kind, {Hidden()}, units,
        quantization_.TypeOf({folders, kSecondLeaves}, i));
  }

  void AddExperts(int64_t i) {
    Add("router", kExpertLayers, {Whole(experts_[i])}, Hidden(), "");
    if (latent_width_ > 0) {
      const auto type = [&](absl::string_view leaf) {
        return quantization_.TypeOf({{"mixer"}, {leaf}}, i);
      };
      Add("fc1_latent_proj", kExpertLayers, {Whole(latent_width_)}, Hidden(),
          type("fc1_latent_proj"));
      Add("fc2_latent_proj", kExpertLayers, {Hidden()}, Whole(latent_width_),
          type("fc2_latent_proj"));
    }
    if (shared_width_[i] > 0) {
      AddFeedForward(i, "shared_experts.", kExpertLayers, kSharedFolders,
                     "the shared experts' intermediate size", shared_width_[i]);
    }
    Count(
        Experts{.count = experts_[i],
                .per_token = per_token_[i],
                .hidden = expert_hidden_,
                .intermediate = expert_width_[i],
                .gated = known_.gated,
                .type = quantization_.TypeOf(
                    {Is(ModelStyle::kGemma4) ? kNoFolder : kFeedForwardFolders,
                     {"experts"},
                     true},
                    i)},
        model_.experts, expert_places_);
  }

  void AddLogits() {
    if (!identity_.has_logits) {
      return Note(
          "it has no lm_head: what follows its last layer is not "
          "derived");
    }
    model_.projections.push_back(
        {.name = "lm_head",
         .kind = kLogits,
         .outputs = {{.field = "the padded vocabulary",
                      .count = RoundUp(vocabulary_, kVocabularyMultiple)}},
         .inputs = Hidden(),
         .type = quantization_.TypeOf({{""}, {"lm_head", "head"}}, -1),
         .of_sequences = true,
         .layers = 1});
  }

  // --- What nobody read ---

  void LeaveOutWhatIsNotKnown() {
    LeftOut unread = WhatChange(fields_.Unused());
    left_out_ |= unread.kinds;
    for (std::string& note : unread.notes) Note(std::move(note));
    const auto is_left_out = [&](const Projection& projection) {
      return (left_out_ & projection.kind) != 0;
    };
    std::erase_if(model_.projections, is_left_out);
    if ((left_out_ & kExpertLayers) != 0) model_.experts.clear();
    if ((left_out_ & kAttentionItself) != 0) model_.attention.clear();
  }

  void NoteTypes() {
    std::set<std::string> types;
    for (const Projection& projection : model_.projections) {
      types.insert(projection.type);
    }
    for (const Experts& experts : model_.experts) types.insert(experts.type);
    types.erase("");
    if (types.empty()) return;
    Note(absl::StrCat("layers that run in ", absl::StrJoin(types, ", "),
                      " are problems only of kernels that say so (serves)"));
  }

  // Attention with compressed keys and values (DeepSeek).
  struct Latent {
    int64_t query_rank = 0;  // 0: queries are not compressed.
    int64_t key_value_rank = 0;
    int64_t plain_head_dim = 0;   // Of queries and keys, without positions,
    int64_t rotary_head_dim = 0;  // and with.
    int64_t value_head_dim = 0;
  };

  const ModelIdentity identity_;
  const ModelFamily known_;
  ConfigFields fields_;
  Quantization quantization_;
  ModelConfig model_;
  unsigned left_out_ = 0;

  int64_t hidden_ = 0;
  int64_t vocabulary_ = 0;
  std::vector<Layer> layers_;
  int64_t window_ = 0;
  int64_t chunk_ = 0;

  ByLayer heads_{0};
  ByLayer kv_heads_{-1};  // -1: as many as heads.
  int64_t head_dim_ = 0;
  int64_t value_dim_ = 0;  // 0: as head_dim_.
  bool gated_attention_ = false;
  std::optional<Heads> window_heads_;  // Where they are others.
  std::optional<Heads> full_heads_;
  int64_t shared_kv_layers_ = 0;  // The last ones, without keys of their own.
  bool wide_ = false;  // These have feed-forward layers twice as wide.
  ByLayer sparse_{0};
  Units index_;
  std::optional<Latent> latent_;
  int64_t indexer_keys_ = 0;  // 0: there is no indexer.
  int64_t indexer_heads_ = 0;
  int64_t indexer_dim_ = 0;
  std::vector<bool> indexed_;
  int64_t query_rank_ = 0;
  int64_t out_rank_ = 0;
  int64_t out_groups_ = 0;
  std::vector<Units> mamba_in_;
  Units mamba_out_;
  Units delta_keys_;
  Units delta_values_;

  ByLayer width_{0};
  ByLayer experts_{0};
  ByLayer per_token_{0};
  ByLayer expert_width_{0};
  ByLayer shared_width_{0};
  int64_t expert_hidden_ = 0;
  int64_t latent_width_ = 0;

  std::map<Projection, size_t> projections_;
  std::map<Experts, size_t> expert_places_;
  std::map<Attention, size_t> attention_;
};

}  // namespace

absl::StatusOr<ModelConfig> ReadConfig(const nlohmann::json& config) {
  return ConfigReader(config, IdentityOf(config)).Read();
}

}  // namespace wavetune
