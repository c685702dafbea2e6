// What the files of serving engines have for layers of experts: configurations
// that `wavetune bench` measures beside decisions, and that `wavetune workload
// add` declares, so that verification does.
#ifndef WAVETUNE_CLI_COMMANDS_SHIPPED_RIVALS_H_
#define WAVETUNE_CLI_COMMANDS_SHIPPED_RIVALS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "cli/command_context.h"
#include "cli/shapes_file.h"
#include "formats/workload/model_layers.h"
#include "proto/wavetune/v1/admin_service.pb.h"

namespace wavetune {
struct KernelSpec;
}

namespace wavetune::cli {

class Daemon;

struct EngineConfigs {
  // Folders of the files; empty: of the engines that are installed where the
  // interpreter is.
  std::vector<std::string> folders;
  std::string python = "python3";  // With the package, which reads them.
};

// Adds to the request, whose problems are `shapes`, what the engines that
// launch `spec` have for each in a file: "vllm's file". The first product's
// weights are taken to have two factors. Does nothing for other kernels. Prints
// which files there are. Errors: where folders are named, FAILED_PRECONDITION
// for an interpreter without the package, and INVALID_ARGUMENT for a folder
// without files, and for a kernel that no engine launches. `device_uuid` is
// empty where one device alone is attached.
absl::Status AddShippedRivals(const CommandContext& context, Daemon& daemon,
                              const EngineConfigs& configs,
                              const KernelSpec& spec,
                              const std::vector<Shape>& shapes,
                              const std::string& device_uuid,
                              v1::MeasureRequest& request);

// Adds to a workload's config.json, of `layers`, what engines have in files for
// its experts on the attached devices. Errors: as AddShippedRivals; where
// folders are named, INVALID_ARGUMENT for a model without experts, and
// FAILED_PRECONDITION where no device is attached.
absl::Status AddEngineFiles(const CommandContext& context, Daemon& daemon,
                            const EngineConfigs& configs,
                            const ModelLayers& layers, int64_t max_tokens,
                            std::string& config);

// Options --engine-configs and --python.
void AddEngineConfigOptions(CLI::App* command, EngineConfigs* configs);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_SHIPPED_RIVALS_H_
