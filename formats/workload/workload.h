// Workload: a model that is served, under a name, as it was declared.
//
//   Workload workload{.name = "qwen3", .config = text,
//                     .parallelism = {.tensor = 2}, .max_tokens = 8192};
//   ASSIGN_OR_RETURN(const ModelLayers layers, LayersOf(workload));
//
// Why the text is kept: a later version may derive more from it.
//
// Thread safety: plain values, pure functions.
#ifndef WAVETUNE_FORMATS_WORKLOAD_WORKLOAD_H_
#define WAVETUNE_FORMATS_WORKLOAD_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/workload/model_layers.h"
#include "wavetune/expected_routing.h"

namespace wavetune {

// Tokens that enter a layer at once: what engines take by default, and the
// most that may be given.
inline constexpr int64_t kDefaultMaxTokens = 16384;
inline constexpr int64_t kMostMaxTokens = int64_t{1} << 20;
inline constexpr size_t kMaxWorkloadName = 64;

struct Workload {
  std::string name;
  std::string config;  // The text of the model's config.json.
  Parallelism parallelism;
  int64_t max_tokens = kDefaultMaxTokens;
  ExpertPopularity routing;  // Counts, where there are any, fall.

  friend bool operator==(const Workload&, const Workload&) = default;
};

// Errors: INVALID_ARGUMENT for a name that is not 1 to 64 letters, digits,
// '.', '_', '-' and '/', with a letter or digit first and behind each '/'.
absl::Status CheckWorkloadName(absl::string_view name);

// Returns the layers of a sound workload. Errors: as CheckWorkloadName,
// ParseModelConfig and SplitLayers; INVALID_ARGUMENT for max_tokens out of
// range, and for a routing that is not the model's. Cost: a pass over the text.
absl::StatusOr<ModelLayers> LayersOf(const Workload& workload);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_WORKLOAD_H_
