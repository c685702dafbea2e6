// Problems of a kernel that follow from a model's layers and from what the
// kernel's manifest says it serves (KernelSpec::serves).
//
//   for (const LayerProblems& of_layer :
//        ProblemsOf(layers, max_tokens, spec, TokenCounts::kProfiled)) ...
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_WORKLOAD_LAYER_PROBLEMS_H_
#define WAVETUNE_FORMATS_WORKLOAD_LAYER_PROBLEMS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/workload/model_layers.h"
#include "formats/workload/token_counts.h"
#include "model/kernel/weighted_problem.h"

namespace wavetune {

struct KernelSpec;

// Most sequences of a batch: what decodes, and rows of lm_head.
inline constexpr int64_t kMostSequences = 256;

// What one launch of a layer becomes.
struct LayerProblems {
  std::string layer;   // "qkv_proj, n = 6144, k = 4096"; equal ones together.
  int64_t layers = 0;  // How many of them the model has.
  // Weights add up to 1; an empty specialisation means all, as in manifests.
  std::vector<WeightedProblem> problems;
  // Problems that the kernel cannot be measured at, and why the first of them;
  // or why there are none at all.
  int64_t left_out = 0;
  std::string why_left_out;
  // Launches of engines' files that the kernel cannot have.
  int64_t files_left_out = 0;
};

// Returns what engines' files have for `problem`, which `key` (LaunchKey) is
// behind the engine's name: of the engines that launch `spec`, in their order,
// on any device. Counts in `left_out` what the kernel cannot launch there.
std::vector<Rival> RivalsOf(const KernelSpec& spec,
                            const EngineLaunches& launches,
                            absl::string_view key, const Problem& problem,
                            int64_t& left_out);

// Returns what the layers become for a kernel, layer by layer; nothing for a
// kernel that does not say what it serves, or serves no layer of the model.
// Layers that an engine runs in a type that the kernel does not compute
// (ServesType) have no problems.
//
//   linear     tokens of the ladder; lm_head at most kMostSequences of them
//   moe        each token count, routed as the workload says (`routing`)
//   attention  decode: batches of the ladder by four lengths of the cache
//              (judged: three others); prefill: one prompt, four prompts, and
//              one behind a cached prefix of three times its length; a window
//              bounds the keys, and prompts beyond it are left out
//
// Problems outside of the kernel's ranges, preconditions or limits are left
// out, under the default configuration. Cannot fail.
std::vector<LayerProblems> ProblemsOf(const ModelLayers& layers,
                                      int64_t max_tokens,
                                      const KernelSpec& spec,
                                      TokenCounts counts);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_LAYER_PROBLEMS_H_
