// Which layers a model has: full attention, windows, chunks, Mamba, experts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/workload/model_draft.h"

namespace wavetune {
namespace {

constexpr int64_t kMostLayers = 4096;
// Notes, so that a list of names without end is not shown.
constexpr size_t kMostNoted = 128;

class KindsReader {
 public:
  explicit KindsReader(ModelDraft& draft)
      : draft_(draft), fields_(draft.fields) {}

  void Read() {
    if (draft_.Is(ModelStyle::kNemotronH)) {
      ReadBlocks();
      if (draft_.layers.empty()) draft_.layers.resize(1);  // There is a fault.
      return;
    }
    const int64_t layers = fields_.Required("num_hidden_layers");
    if (!CheckLayers(layers)) return;
    draft_.layers.resize(static_cast<size_t>(layers));
    ReadMixers();
  }

 private:
  bool CheckLayers(int64_t layers) {
    if (layers <= kMostLayers) return true;
    fields_.Fault(absl::StrCat("num_hidden_layers is ", layers,
                               ": give at most ", kMostLayers));
    draft_.layers.resize(1);
    return false;
  }

  // Nemotron-H: each block is attention, Mamba, experts or a feed-forward
  // layer, by letter or by name.
  void ReadBlocks() {
    static const auto* const kBlocks = new std::map<std::string, LayerShape>{
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
            "a layer is of type '", ShownName(block),
            "': give mamba, attention, moe and mlp, or the letters M, *, E and "
            "-"));
        continue;
      }
      draft_.layers.push_back(known->second);
    }
  }

  void SetMixers(const auto& mixer_of) {
    for (int64_t i = 0; i < draft_.Layers(); ++i) {
      draft_.layers[static_cast<size_t>(i)].mixer = mixer_of(i);
    }
  }

  void ReadMixers() {
    ReadWindow();
    if (draft_.Is(ModelStyle::kDeepSeekV4)) {
      fields_.Ignore("layer_types compress_ratios compress_rates");
      return;
    }
    const std::vector<std::string> types = fields_.Texts("layer_types");
    if (!types.empty()) return ReadMixersByName(types);
    switch (draft_.family.style) {
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
            fields_.OfLayers({"hybrid_layer_pattern"}, draft_.Layers(), false);
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
        fields_.OfLayers({"attn_type_list"}, draft_.Layers(), false, 1);
    int64_t others = 0;
    SetMixers([&](int64_t i) {
      others += types[i] == 1 ? 0 : 1;
      return types[i] == 1 ? Mixer::kFull : Mixer::kNone;
    });
    if (others > 0) NoteOthers(others, "attn_type_list");
  }

  void NoteOthers(int64_t count, const std::string& type) {
    draft_.Note(
        absl::StrCat(count, " layers of type ", ShownName(type),
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
    if (static_cast<int64_t>(types.size()) < draft_.Layers()) {
      fields_.Fault(absl::StrCat("layer_types has ", types.size(),
                                 " values for ", draft_.Layers(),
                                 " layers: give one of each"));
      return;
    }
    std::map<std::string, int64_t> others;
    SetMixers([&](int64_t i) {
      const std::string& type = types[static_cast<size_t>(i)];
      const auto known = kNames->find(type);
      if (known != kNames->end()) return known->second;
      if (type == "linear_attention" && draft_.Is(ModelStyle::kQwenNext)) {
        return Mixer::kDelta;
      }
      if ((type == "mamba" || type == "linear_attention") &&
          draft_.Is(ModelStyle::kGraniteHybrid)) {
        return Mixer::kMamba;
      }
      ++others[type];
      return Mixer::kNone;
    });
    for (const auto& [type, count] : others) {
      if (draft_.model.notes.size() > kMostNoted) break;
      NoteOthers(count, type);
    }
  }

  // Llama 4: layers without rotary positions see all keys, the others those of
  // their chunk.
  void ReadMixersWithoutPositions() {
    const ByLayer rotary =
        fields_.OfLayers({"no_rope_layers"}, draft_.Layers(), false);
    const int64_t every =
        std::max<int64_t>(1, fields_.Optional("no_rope_layer_interval", 4));
    SetMixers([&](int64_t i) {
      const bool chunked =
          rotary.IsList() ? rotary[i] != 0 : (i + 1) % every != 0;
      return chunked ? Mixer::kChunk : Mixer::kFull;
    });
  }

  void ReadWindow() {
    draft_.window =
        fields_.Optional({"sliding_window", "sliding_window_size"}, 0);
    if (!fields_.Flag("use_sliding_window", !draft_.family.window_by_flag)) {
      draft_.window = 0;
    }
    if (draft_.Is(ModelStyle::kQwenNext) || draft_.Is(ModelStyle::kNemotronH))
      draft_.window = 0;
    if (draft_.Is(ModelStyle::kLlama4)) {
      draft_.chunk = fields_.Optional("attention_chunk_size", 0);
    }
  }

  // Which layers have a window: all, those of a period, or those from one on.
  void ReadWindowedLayers() {
    const std::string letters = fields_.Text({"sliding_window_pattern"});
    const int64_t every = letters.empty()
                              ? fields_.Optional("sliding_window_pattern",
                                                 draft_.family.full_every)
                              : 0;
    const int64_t from = draft_.family.window_by_flag
                             ? fields_.Optional("max_window_layers", 0)
                             : 0;
    if (draft_.window == 0) return;
    SetMixers([&](int64_t i) {
      bool windowed = i >= from;
      if (every > 0) windowed = (i + 1) % every != 0;
      if (!letters.empty()) {
        windowed = letters[static_cast<size_t>(i) % letters.size()] == 'L';
      }
      return windowed ? Mixer::kWindow : Mixer::kFull;
    });
  }

  ModelDraft& draft_;
  ConfigFields& fields_;
};

}  // namespace

void ReadLayerKinds(ModelDraft& draft) { KindsReader(draft).Read(); }

}  // namespace wavetune
