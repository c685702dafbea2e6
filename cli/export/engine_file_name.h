// Names of the files in which engines look for configurations of their experts'
// kernel: docs/engines.md has the rules, and where they were read.
//
//   ASSIGN_OR_RETURN(std::string name, VllmFileName({.experts = 128,
//                                                    .intermediate = 768,
//                                                    .device_name = "NVIDIA
//                                                    H200"}));
//   // "E=128,N=768,device_name=NVIDIA_H200.json"
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_EXPORT_ENGINE_FILE_NAME_H_
#define WAVETUNE_CLI_EXPORT_ENGINE_FILE_NAME_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune::cli {

// What a name depends on.
struct EngineFileKey {
  int64_t experts = 0;       // Of one device.
  int64_t intermediate = 0;  // Of one device: inputs of the second product.
  std::string device_name;   // As the engine's process is told it.
  std::string dtype;         // "fp8_w8a8", ...; empty: bf16 or fp16.
  std::vector<int64_t> block_shape = {};  // n, k; empty: none.
  bool per_channel_quant = false;         // SGLang only.
  bool down = false;                      // SGLang only: the second product's.
};

// Returns the name of a file in the folder $VLLM_TUNED_CONFIG_FOLDER. Errors:
// INVALID_ARGUMENT for a device name that no file can have (empty, not UTF-8,
// control characters, too long).
absl::StatusOr<std::string> VllmFileName(const EngineFileKey& key);

// Returns the names that versions of vLLM before the present rule look for,
// where they are others: without H200's rule, and with only blanks replaced
// (the name may then lie in a folder of its own). Errors: as VllmFileName.
absl::StatusOr<std::vector<std::string>> OlderVllmFileNames(
    const EngineFileKey& key);

// Returns the path of a file in the folder $SGLANG_MOE_CONFIG_DIR:
// "configs/triton_3_6_0/E=128,N=768,device_name=NVIDIA_H200.json". SGLang
// leaves slashes in a device's name, which are folders then. Errors: as
// VllmFileName; INVALID_ARGUMENT for a version of Triton that SGLang cannot
// sort, and for a device name that leads out of the folder.
absl::StatusOr<std::string> SglangFilePath(const EngineFileKey& key,
                                           absl::string_view triton_version);

// Returns whether two names are of one device to vLLM.
bool SameDeviceName(absl::string_view a, absl::string_view b);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_ENGINE_FILE_NAME_H_
