// What stands on the command line of `wavetune export`.
//
// Thread safety: a plain value.
#ifndef WAVETUNE_CLI_EXPORT_EXPORT_OPTIONS_H_
#define WAVETUNE_CLI_EXPORT_EXPORT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/export/layer_options.h"
#include "formats/workload/workload.h"

namespace wavetune::cli {

struct ExportOptions {
  std::string kernel;  // A folder, or a name.
  std::string format;
  std::string out;  // A folder for engines' files, else a file; empty: print.
  bool force = false;
  std::vector<std::string> problem;

  // Which table.
  std::string table;  // A file.
  std::string digest;
  std::string device;
  std::string fingerprint;
  std::string specialisation;

  LayerOptions layer;
  int64_t max_tokens = kDefaultMaxTokens;

  // Of engines' files.
  std::string device_name;
  bool other_device = false;
  std::string dtype;
  std::string block_shape;
  bool per_channel_quant = false;
  std::string triton_version;
  bool down_file = false;

  bool vllm() const { return format == "vllm-moe"; }
  bool sglang() const { return format == "sglang-moe"; }
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_EXPORT_OPTIONS_H_
