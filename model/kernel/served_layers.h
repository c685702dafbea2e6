// ServedLayers: which layers of a model a kernel computes, and which of its
// dimensions are what.
//
// Why: a workload is declared once, for all kernels that serve a part of it
// (formats/workload/).
//
// Thread safety: plain values.
#ifndef WAVETUNE_MODEL_KERNEL_SERVED_LAYERS_H_
#define WAVETUNE_MODEL_KERNEL_SERVED_LAYERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace wavetune {

// Dense layers, with every specialisation.
struct ServedLinear {
  int32_t m = 0;  // Indices into KernelSpec::dimensions: tokens,
  int32_t n = 0;  // outputs,
  int32_t k = 0;  // inputs.

  friend bool operator==(const ServedLinear&, const ServedLinear&) = default;
};

// The two grouped products of a mixture of experts.
struct ServedMoe {
  int32_t tokens = 0;  // Repeated: slots of each local expert.
  int32_t n = 0;
  int32_t k = 0;
  int32_t top_k = -1;   // -1: the kernel has no such dimension.
  std::string gate_up;  // Specialisations; empty: the kernel has none.
  std::string down;
  std::vector<std::string> engines;  // That launch this very kernel.

  friend bool operator==(const ServedMoe&, const ServedMoe&) = default;
};

enum class AttentionPhase { kPrefill, kDecode };

// What a specialisation of an attention kernel computes.
struct AttentionVariant {
  std::string specialisation;  // Empty: the kernel has none.
  AttentionPhase phase = AttentionPhase::kPrefill;
  int64_t head_dim = 0;
  bool causal = false;

  friend bool operator==(const AttentionVariant&,
                         const AttentionVariant&) = default;
};

struct ServedAttention {
  int32_t batch = 0;
  int32_t heads = 0;
  int32_t kv_heads = 0;
  int32_t seq_q = 0;
  int32_t seq_kv = 0;
  std::vector<AttentionVariant> variants;

  friend bool operator==(const ServedAttention&,
                         const ServedAttention&) = default;
};

// Types in which layers are computed. A layer that is not quantised has the
// type that the engine is told, any of the first three.
inline constexpr const char* kServedTypes[] = {
    "float32", "float16", "bfloat16", "fp8", "mxfp8",
    "int8",    "nvfp4",   "mxfp4",    "nf4", "int4"};
inline constexpr size_t kPlainTypes = 3;

// Returns whether a kernel that computes `types` computes layers of `type`;
// empty: not quantised. No types at all are those that are not quantised.
inline bool ServesType(const std::vector<std::string>& types,
                       const std::string& type) {
  if (types.empty()) return type.empty();
  const auto has = [&types](const std::string& one) {
    return std::find(types.begin(), types.end(), one) != types.end();
  };
  if (!type.empty()) return has(type);
  return std::any_of(kServedTypes, kServedTypes + kPlainTypes, has);
}

// std::monostate: the manifest does not say.
using ServedLayers =
    std::variant<std::monostate, ServedLinear, ServedMoe, ServedAttention>;

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_SERVED_LAYERS_H_
