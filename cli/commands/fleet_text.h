// How a node stands to its fleet, in a line.
//
// Thread safety: as the daemon's.
#ifndef WAVETUNE_CLI_COMMANDS_FLEET_TEXT_H_
#define WAVETUNE_CLI_COMMANDS_FLEET_TEXT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "cli/daemon.h"

namespace wavetune::cli {

// Nothing where the node is in no fleet, or its daemon is older than fleets.
// Errors: as Daemon::Ask.
absl::StatusOr<std::optional<v1::GetFleetResponse>> FleetOf(Daemon& daemon);

// "node-1, registry answers, 12 tables, 1 BEHIND, 1 rollout HALTED; ...".
std::string FleetLine(const v1::GetFleetResponse& fleet);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_FLEET_TEXT_H_
