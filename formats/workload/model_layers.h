// ModelLayers: the layers of a model as an engine launches them on one device:
// fused where engines fuse, split as tensor and expert parallelism split.
//
//   ASSIGN_OR_RETURN(const ModelLayers layers,
//                    SplitLayers(model, {.tensor = 2}));
//   // layers.linear[0]: qkv_proj, n = 3072, k = 4096, 32 times.
//
// Thread safety: plain values, pure functions.
#ifndef WAVETUNE_FORMATS_WORKLOAD_MODEL_LAYERS_H_
#define WAVETUNE_FORMATS_WORKLOAD_MODEL_LAYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/workload/model_config.h"
#include "wavetune/expected_routing.h"

namespace wavetune {

// Devices that share a layer.
struct Parallelism {
  int64_t tensor = 1;
  int64_t expert = 1;

  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};

inline constexpr int64_t kMaxParallelism = 1024;

// out[tokens, n] = in[tokens, k] * weight.
struct LinearLayer {
  std::string name;
  int64_t n = 0;
  int64_t k = 0;
  int64_t layers = 0;  // How many there are.
  // In which a quantised layer is computed ("fp8"); empty: it is not quantised.
  std::string type = {};
  // For the last token of each sequence alone (logits).
  bool of_sequences = false;

  friend bool operator==(const LinearLayer&, const LinearLayer&) = default;
};

// The products of a mixture of experts: first to 2 * intermediate, then back.
struct MoeLayer {
  int64_t experts = 0;        // In the model,
  int64_t local_experts = 0;  // of them on a device.
  int64_t top_k = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;  // On a device.
  bool gated = true;
  int64_t layers = 0;
  std::string type = {};  // As LinearLayer's.

  friend bool operator==(const MoeLayer&, const MoeLayer&) = default;
};

struct AttentionLayer {
  std::string name;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;        // Width of queries and keys,
  int64_t value_head_dim = 0;  // and of values.
  int64_t window = 0;          // Keys that a query sees; 0: all.
  bool prefill = true;
  bool decode = true;
  int64_t layers = 0;

  friend bool operator==(const AttentionLayer&,
                         const AttentionLayer&) = default;
};

struct ModelLayers {
  std::string architecture;
  std::vector<LinearLayer> linear;
  std::vector<MoeLayer> moe;
  std::vector<AttentionLayer> attention;
  ExpertPopularity routing;        // The tokens', to the experts of `moe`.
  int64_t positions = 0;           // Longest sequence; 0: not said.
  EngineLaunches engine_launches;  // For `moe`.
  std::vector<std::string> notes;
};

// Returns the layers of one device. Heads, intermediate widths and the
// vocabulary (padded to 64 as engines do) are divided by `tensor`; keys and
// values of fewer heads than devices are copied. Experts are divided by
// `expert`; the rest of `tensor` divides each. Where experts do not divide,
// some devices have one more: there is a layer of each kind. Routers and what
// compresses (DeepSeek) are on every device.
//
// Errors: INVALID_ARGUMENT for a number that does not divide, with those that
// do.
absl::StatusOr<ModelLayers> SplitLayers(const ModelConfig& model,
                                        const Parallelism& parallelism);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_MODEL_LAYERS_H_
