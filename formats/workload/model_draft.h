// ModelDraft: a model while its config.json is read, and the parts that read
// it.
//
//   ModelDraft draft(json, IdentityOf(json));
//   ReadLayerKinds(draft);
//   const AddLayer attention = ReadAttention(draft);
//   for (int64_t i = 0; i < draft.Layers(); ++i) attention(i);
//
// Each part asks for its fields once, for all layers, and returns what adds a
// layer's launches to the draft: what is missing is said before any is added.
//
// Thread safety: used by one thread.
#ifndef WAVETUNE_FORMATS_WORKLOAD_MODEL_DRAFT_H_
#define WAVETUNE_FORMATS_WORKLOAD_MODEL_DRAFT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/workload/config_fields.h"
#include "formats/workload/model_config.h"
#include "formats/workload/model_families.h"
#include "formats/workload/quantization.h"
#include "nlohmann/json.hpp"

namespace wavetune {

// What comes first in a layer, and second.
enum class Mixer { kFull, kWindow, kChunk, kDelta, kMamba, kNone };
enum class FeedForward { kDense, kExperts, kBoth, kNone };

struct LayerShape {
  Mixer mixer = Mixer::kFull;
  FeedForward feed_forward = FeedForward::kDense;
};

class ModelDraft {
 public:
  // `config` must outlive this.
  ModelDraft(const nlohmann::json& config, ModelIdentity identity);

  int64_t Layers() const { return static_cast<int64_t>(layers.size()); }
  bool Is(ModelStyle style) const { return family.style == style; }
  bool Any(Mixer mixer) const;
  bool Any(FeedForward kind) const;
  bool HasExperts(int64_t layer) const;

  void Note(std::string text) { model.notes.push_back(std::move(text)); }
  // Leaves out layers of these kinds, and says why: "since ...".
  void LeaveOut(unsigned kinds, absl::string_view why);

  // What every device has.
  Units Hidden() const { return {.count = hidden}; }

  // Adds one layer to those that are alike.
  void Add(const Projection& one) { Count(one, model.projections, places_); }
  void Add(const Experts& one) { Count(one, model.experts, of_experts_); }
  void Add(const Attention& one) { Count(one, model.attention, of_attention_); }
  // A projection of layer `i`'s mixer, in the type of these modules.
  void AddOfMixer(int64_t i, absl::string_view name, std::vector<Units> outputs,
                  Units inputs, std::vector<absl::string_view> leaves,
                  std::vector<absl::string_view> folders = {
                      "self_attn", "attn", "attention", "mixer"});

  const ModelIdentity identity;
  const ModelFamily family;
  ConfigFields fields;
  Quantization quantization;
  ModelConfig model;
  unsigned left_out = 0;
  int64_t hidden = 0;
  std::vector<LayerShape> layers;
  int64_t window = 0;  // Keys that windowed layers see, and chunked ones.
  int64_t chunk = 0;
  int64_t shared_kv_layers = 0;  // The last ones, without keys of their own.
  ByLayer block_widths{0};       // DeciLM's dense layers'.

 private:
  template <typename T>
  static void Count(const T& one, std::vector<T>& all,
                    std::map<T, size_t>& places) {
    const auto [place, is_new] = places.try_emplace(one, all.size());
    if (is_new) all.push_back(one);
    ++all[place->second].layers;
  }

  std::map<Projection, size_t> places_;
  std::map<Experts, size_t> of_experts_;
  std::map<Attention, size_t> of_attention_;
};

// Returns a name that anybody may have written as operators may see it.
std::string ShownName(absl::string_view name);

// Returns the next multiple that is not smaller.
int64_t RoundUp(int64_t value, int64_t multiple);

// Adds what layer `i` launches.
using AddLayer = std::function<void(int64_t i)>;

// Which layers there are: `layers`, `window` and `chunk` of the draft.
void ReadLayerKinds(ModelDraft& draft);  // layer_kinds.cc

// Attention with keys; of compressed ones; without keys, as Mamba.
AddLayer ReadAttention(ModelDraft& draft);            // attention_layers.cc
AddLayer ReadCompressedAttention(ModelDraft& draft);  // compressed_attention.cc
AddLayer ReadRecurrence(ModelDraft& draft);           // recurrent_layers.cc

// Dense layers and experts.
AddLayer ReadFeedForward(ModelDraft& draft);  // feed_forward_layers.cc

// DeciLM's block lists: which blocks have attention and a feed-forward layer,
// and `block_widths`. Returns the heads of keys.
ByLayer ReadBlockConfigs(ModelDraft& draft, int64_t heads);  // block_configs.cc

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_MODEL_DRAFT_H_
