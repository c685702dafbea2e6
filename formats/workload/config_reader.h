// ConfigReader: the layers of a model out of its config.json, family by family.
//
//   ASSIGN_OR_RETURN(const ModelConfig model, ReadConfig(json));
//
// The widths are those of vLLM's and SGLang's model files, layer by layer.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_WORKLOAD_CONFIG_READER_H_
#define WAVETUNE_FORMATS_WORKLOAD_CONFIG_READER_H_

#include "absl/status/statusor.h"
#include "formats/workload/model_config.h"
#include "nlohmann/json.hpp"

namespace wavetune {

// `config` is an object. Errors: as ParseModelConfig.
absl::StatusOr<ModelConfig> ReadConfig(const nlohmann::json& config);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_CONFIG_READER_H_
