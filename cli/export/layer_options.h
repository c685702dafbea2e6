// The expert layers that a file is for: from a model's config.json, or from
// numbers.
//
// Thread safety: pure functions, but for the file that is read.
#ifndef WAVETUNE_CLI_EXPORT_LAYER_OPTIONS_H_
#define WAVETUNE_CLI_EXPORT_LAYER_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/workload/model_layers.h"

namespace wavetune::cli {

// What stands on the command line; 0: nothing.
struct LayerOptions {
  std::string config;  // Path of a config.json.
  int64_t experts = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t top_k = 0;
  int64_t tensor = 1;
  int64_t expert = 1;

  // Whether a layer is named at all.
  bool given() const {
    return !config.empty() || experts != 0 || hidden != 0 ||
           intermediate != 0 || top_k != 0;
  }
};

// Returns the distinct expert layers of one device, at least one. Errors:
// INVALID_ARGUMENT for numbers that are missing or do not divide, for a model
// without experts, and for both a model and numbers; as ReadTextFile and
// ParseModelConfig.
absl::StatusOr<std::vector<MoeLayer>> ExpertLayersOf(
    const LayerOptions& options);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_LAYER_OPTIONS_H_
