// Use of kernels as people read it.
#ifndef WAVETUNE_CLI_COMMANDS_USAGE_TEXT_H_
#define WAVETUNE_CLI_COMMANDS_USAGE_TEXT_H_

#include "cli/output.h"
#include "proto/wavetune/v1/usage_service.pb.h"

namespace wavetune::cli {

// Prints decisions by source, a row per kernel and kind of device (and per
// specialisation, where there are several), and the problems asked for most.
void PrintUsage(Output& out, const v1::GetUsageResponse& usage);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_USAGE_TEXT_H_
