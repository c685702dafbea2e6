#include "cli/commands/fleet_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace wavetune::cli {

absl::StatusOr<std::optional<v1::GetFleetResponse>> FleetOf(Daemon& daemon) {
  const absl::StatusOr<v1::GetFleetResponse> fleet =
      daemon.Ask<v1::GetFleetResponse>(v1::GetFleetRequest());
  if (absl::IsFailedPrecondition(fleet.status())) return std::nullopt;
  RETURN_IF_ERROR(fleet.status());
  if (fleet->node().empty()) return std::nullopt;
  return std::optional<v1::GetFleetResponse>(*fleet);
}

std::string FleetLine(const v1::GetFleetResponse& fleet) {
  const auto behind = std::count_if(
      fleet.heads().begin(), fleet.heads().end(),
      [](const v1::FleetHeadStatus& head) { return !head.behind().empty(); });
  const auto tables = std::count_if(
      fleet.heads().begin(), fleet.heads().end(),
      [](const v1::FleetHeadStatus& head) { return !head.digest().empty(); });
  const auto halted =
      std::count_if(fleet.rollouts().begin(), fleet.rollouts().end(),
                    [](const v1::FleetRolloutStatus& rollout) {
                      return !rollout.halted().empty();
                    });
  std::string line =
      absl::StrCat("node ", fleet.node(),
                   fleet.outage().empty()  ? ", registry answers, "
                   : fleet.never_reached() ? ", registry NEVER REACHED, "
                                           : ", registry OUT OF REACH, ",
                   tables, " tables");
  if (behind > 0) absl::StrAppend(&line, ", ", behind, " BEHIND");
  if (!fleet.absent().empty()) absl::StrAppend(&line, ", ABSENT");
  if (halted > 0) {
    absl::StrAppend(&line, ", ", halted, halted == 1 ? " rollout" : " rollouts",
                    " HALTED");
  }
  return absl::StrCat(line, " (wavetune fleet status)");
}

}  // namespace wavetune::cli
