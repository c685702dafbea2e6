#include "cli/commands/drift_text.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "model/kernel/key_difference.h"

namespace wavetune::cli {
namespace {

std::string ActionName(v1::DriftReport::Action action) {
  switch (action) {
    case v1::DriftReport::ACTION_UNSPECIFIED:
      return "could not be judged";
    case v1::DriftReport::CARRY_OVER:
      return "carry over";
    default:
      return "profile anew";
  }
}

}  // namespace

void PrintDrift(Output& out, const v1::JobInfo& job) {
  if (!job.has_drift()) return;
  const v1::DriftReport& drift = job.drift();
  const std::string differs =
      KeyDifference(drift.from_environment(), drift.to_environment());
  out << "  drift probe of table " << ShortDigest(drift.digest())
      << (differs.empty() ? "" : absl::StrCat(" (", differs, ")")) << ": "
      << ActionName(drift.action()) << "\n    " << drift.reason() << "\n    "
      << absl::StrFormat("%d samples in %.1f s", drift.samples(),
                         drift.seconds())
      << "\n";
  for (const v1::DriftRegime& regime : drift.regimes()) {
    out << absl::StrFormat("    %s%s: %d pairs, median %.3f, worst %.3f%s",
                           regime.specialisation().empty()
                               ? ""
                               : absl::StrCat(regime.specialisation(), ", "),
                           regime.name(), regime.pairs(), regime.median_ratio(),
                           regime.worst_ratio(),
                           regime.drifted() ? ", drifted" : "")
        << "\n";
  }
}

void PrintPlannedJobs(Output& out, const std::vector<v1::PlannedJob>& planned) {
  for (const v1::PlannedJob& job : planned) {
    out << job.kernel() << " on " << job.device_uuid() << "\n  " << job.what()
        << "\n  at most " << job.candidates() << " candidates to compile, "
        << job.samples() << " samples";
    if (job.device_s() >= 0) {
      out << absl::StrFormat(", %.1f s of device time", job.device_s());
    } else {
      out << "; device time is not known, as nothing was measured yet";
    }
    out << "\n";
  }
  out << "nothing is queued (--dry-run)\n";
}

}  // namespace wavetune::cli
