// Attention with its own keys and values: heads, which some models have
// otherwise in layers with a window, or in the last layers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "formats/workload/model_draft.h"

namespace wavetune {
namespace {

struct Heads {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t value_head_dim = 0;
};

class HeadsReader {
 public:
  explicit HeadsReader(ModelDraft& draft)
      : draft_(draft), fields_(draft.fields) {}

  void Read() {
    if (draft_.Is(ModelStyle::kDeciLM)) {
      const int64_t heads = fields_.Required("num_attention_heads");
      heads_ = ByLayer(heads);
      head_dim_ = fields_.Optional("head_dim", draft_.hidden / heads);
      if (head_dim_ < 1) fields_.Fault("head_dim is 0: give at least 1");
      kv_heads_ = ReadBlockConfigs(draft_, heads);
      return;
    }
    const int64_t layers = draft_.Layers();
    heads_ = fields_.OfLayers({"num_attention_heads"}, layers, true);
    kv_heads_ = fields_.OfLayers({"num_key_value_heads"}, layers, false, -1);
    head_dim_ = fields_.Optional({"head_dim", "attention_head_dim"}, 0);
    value_dim_ =
        draft_.Is(ModelStyle::kMiMoV2) ? fields_.Optional("v_head_dim", 0) : 0;
    if (head_dim_ == 0) {
      head_dim_ = draft_.hidden / heads_[0];
      if (heads_.IsList() || head_dim_ * heads_[0] != draft_.hidden) {
        fields_.Fault(
            absl::StrCat("it has no head_dim, and num_attention_heads (",
                         heads_[0], ") does not divide hidden_size (",
                         draft_.hidden, "): add head_dim"));
      }
    }
    switch (draft_.family.style) {
      case ModelStyle::kMiMoV2:
        return ReadWindowHeads();
      case ModelStyle::kGemma4:
        return ReadGemma4Heads();
      case ModelStyle::kQwenNext:
        gated_ = fields_.Flag("attn_output_gate", true);
        return;
      case ModelStyle::kMiniMaxM3:
        return ReadSparseLayers();
      default:
        return;
    }
  }

  void Add(int64_t i) {
    const Mixer mixer = draft_.layers[static_cast<size_t>(i)].mixer;
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
                        .width = (gated_ ? 2 : 1) * own.head_dim};
    const Units keys{.field = "num_key_value_heads",
                     .count = own.kv_heads,
                     .width = own.head_dim,
                     .copied = true};
    Units values = keys;
    values.width = own.value_head_dim;
    const std::vector<absl::string_view> leaves = {
        "q_proj", "k_proj", "v_proj", "qkv_proj", "query_key_value"};
    const bool sparse = sparse_.IsList() && sparse_[i] != 0;
    if (i >= draft_.Layers() - draft_.shared_kv_layers) {
      draft_.AddOfMixer(i, "q_proj", {queries}, draft_.Hidden(), leaves);
    } else if (sparse && index_.count > 0) {
      draft_.AddOfMixer(
          i, "qkv_proj",
          {queries, keys, values, index_, Units{.count = index_.width}},
          draft_.Hidden(), leaves);
    } else {
      draft_.AddOfMixer(i, "qkv_proj", {queries, keys, values}, draft_.Hidden(),
                        leaves);
    }
    draft_.AddOfMixer(i, "o_proj", {draft_.Hidden()},
                      {.field = "num_attention_heads",
                       .count = own.heads,
                       .width = own.value_head_dim},
                      {"o_proj", "out_proj", "dense"});
    if (!sparse) AddAttention(own, mixer);
  }

 private:
  void ReadWindowHeads() {
    // transformers leaves them out.
    if (!fields_.Has("swa_num_key_value_heads")) {
      return draft_.LeaveOut(
          kAttentionProjections | kAttentionItself,
          "since swa_num_key_value_heads is missing: give the file that the "
          "model was published with");
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
    draft_.shared_kv_layers =
        std::min(fields_.Optional("num_kv_shared_layers", 0), draft_.Layers());
  }

  // MiniMax-M3: sparse layers choose their keys with an indexer, whose
  // projections are in the same product.
  void ReadSparseLayers() {
    fields_.Ignore("shared_intermediate_size");
    const nlohmann::json* sparse = fields_.Structure("sparse_attention_config");
    if (sparse == nullptr || !sparse->is_object()) return;
    ConfigFields fields(*sparse);
    sparse_ =
        fields.OfLayers({"sparse_attention_freq"}, draft_.Layers(), false);
    index_ = {.field = "num_key_value_heads",
              .count = fields.Optional("sparse_num_index_heads", 0),
              .width = fields.Optional("sparse_index_dim", 0),
              .copied = true};
    if (const absl::Status status = fields.Check("sparse_attention_config");
        !status.ok()) {
      fields_.Fault(std::string(status.message()));
    }
    draft_.Note(
        "sparse attention: its projections are derived, attention itself is "
        "not");
  }

  void AddAttention(const Heads& own, Mixer mixer) {
    Attention attention{.name = "attention",
                        .heads = own.heads,
                        .kv_heads = own.kv_heads,
                        .head_dim = own.head_dim,
                        .value_head_dim = own.value_head_dim};
    if (mixer == Mixer::kWindow && draft_.window > 0) {
      attention.name = "window attention";
      attention.window = draft_.window;
    } else if (mixer == Mixer::kChunk && draft_.chunk > 0) {
      attention.name = "chunked attention";
      attention.window = draft_.chunk;
    }
    draft_.Add(attention);
  }

  ModelDraft& draft_;
  ConfigFields& fields_;
  ByLayer heads_{0};
  ByLayer kv_heads_{-1};  // -1: as many as heads.
  int64_t head_dim_ = 0;
  int64_t value_dim_ = 0;  // 0: as head_dim_.
  bool gated_ = false;
  std::optional<Heads> window_heads_;  // Where they are others.
  std::optional<Heads> full_heads_;
  ByLayer sparse_{0};
  Units index_;
};

}  // namespace

AddLayer ReadAttention(ModelDraft& draft) {
  if (draft.Is(ModelStyle::kDeepSeekV4) ||
      (draft.fields.Has("kv_lora_rank") && !draft.Is(ModelStyle::kDeciLM))) {
    return ReadCompressedAttention(draft);
  }
  auto heads = std::make_shared<HeadsReader>(draft);
  heads->Read();
  return [heads](int64_t i) { heads->Add(i); };
}

}  // namespace wavetune
