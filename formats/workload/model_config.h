// ModelConfig: what a model's config.json (as Hugging Face has it) says of its
// layers, before any device shares them.
//
//   ASSIGN_OR_RETURN(const ModelConfig model, ParseModelConfig(text));
//   // model.projections[0]: qkv_proj of 32 layers, heads and hidden size.
//
// Families of architectures are known by name (model_families.cc), of the
// architecture or of "model_type". Any other is read as a decoder with gated
// feed-forward layers, if it has the usual fields, and `notes` says so.
//
// A field that changes layers and that nobody reads makes the layers that it
// touches be left out; `notes` names both.
//
// Thread safety: plain values, pure functions.
#ifndef WAVETUNE_FORMATS_WORKLOAD_MODEL_CONFIG_H_
#define WAVETUNE_FORMATS_WORKLOAD_MODEL_CONFIG_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// Parts of a model that a field may change; bits of a mask.
enum LayerKind : unsigned {
  kAttentionProjections = 1,  // Keys, queries, values, states.
  kAttentionItself = 2,
  kDenseFeedForward = 4,
  kExpertLayers = 8,  // Routers, experts, shared experts.
  kLogits = 16,
  kDecoder = 15,  // All but the logits.
};

// Heads, columns or groups, which tensor parallelism divides.
struct Units {
  // What config.json calls them; empty: every device has all of them.
  std::string field;
  int64_t count = 0;
  int64_t width = 1;
  // Where there are fewer than devices, each device has one, a copy.
  bool copied = false;

  friend auto operator<=>(const Units&, const Units&) = default;
};

// out[tokens, outputs] = in[tokens, inputs] * weight.
struct Projection {
  std::string name;
  LayerKind kind = kAttentionProjections;
  std::vector<Units> outputs;  // Side by side.
  Units inputs;
  std::string type;  // A quantised layer's, as ServedTypes; empty: it is not.
  // For the last token of each sequence alone (logits).
  bool of_sequences = false;
  int64_t layers = 0;

  friend auto operator<=>(const Projection&, const Projection&) = default;
};

// Two products, each grouped by expert.
struct Experts {
  int64_t count = 0;
  int64_t per_token = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  bool gated = true;
  std::string type;
  int64_t layers = 0;

  friend auto operator<=>(const Experts&, const Experts&) = default;
};

struct Attention {
  std::string name;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;        // Width of queries and keys,
  int64_t value_head_dim = 0;  // and of values.
  int64_t window = 0;          // Keys that a query sees; 0: all.
  bool prefill = true;
  bool decode = true;
  int64_t layers = 0;

  friend auto operator<=>(const Attention&, const Attention&) = default;
};

// What engines have for launches of experts in files: by label of the device
// and LaunchKey, then by the names of parameters. The Python package reads the
// files (wavetune.shipped_rivals); it goes with config.json in a field of it.
using EngineLaunches =
    std::map<std::string,
             std::map<std::string, std::map<std::string, int64_t>>>;
inline constexpr char kEngineFiles[] = "wavetune_engine_files";
inline constexpr size_t kMostEngineLaunches =
    1024;  // Four devices' of a model.

// "vllm E=128,N=768,down M=16", of a product of experts on a device.
std::string LaunchKey(absl::string_view engine, int64_t experts,
                      int64_t intermediate, bool down, int64_t tokens);

// Errors: INVALID_ARGUMENT for JSON that is none, with what to do.
absl::StatusOr<EngineLaunches> ReadEngineLaunches(absl::string_view text);

// Layers that are alike are one, with their count.
struct ModelConfig {
  std::string architecture;
  std::vector<Projection> projections;
  std::vector<Experts> experts;
  std::vector<Attention> attention;
  int64_t positions = 0;           // Longest sequence; 0: not said.
  EngineLaunches engine_launches;  // For the experts.
  // What the reader should know, for people.
  std::vector<std::string> notes;
};

// Errors: INVALID_ARGUMENT: no JSON (with the place), no object, fields that
// are missing or out of range, all at once, with what to do;
// RESOURCE_EXHAUSTED above kMaxConfigBytes (formats/config_text.h).
absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view text);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_MODEL_CONFIG_H_
