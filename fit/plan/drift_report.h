// DriftReport: what changed between two environments of one silicon (another
// driver, runtime or power limit), by a few measurements under both.
//
// JudgeDriftProbe (fit/plan/drift_probe.h) makes it; the job keeps it.
//
// Thread safety: plain values.
#ifndef WAVETUNE_FIT_PLAN_DRIFT_REPORT_H_
#define WAVETUNE_FIT_PLAN_DRIFT_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace wavetune {

// The step that follows. Stored by number: do not renumber. 2 was a refit with
// some of the samples of before.
enum class DriftAction {
  kUndecided = 0,  // It could not be judged; nothing is done.
  kCarryOver = 1,  // The table holds.
  kProfile = 3     // It does not: everything is measured anew.
};

// Pairs that may drift together: of problems that are alike to the wave model,
// or of one configuration.
struct DriftRegime {
  std::string specialisation;
  // "one row of tiles, more waves"; "BLOCK_M=64 BLOCK_N=32".
  std::string name;
  int32_t pairs = 0;
  // Latency now / latency then, of its pairs.
  double median_ratio = 1;
  double worst_ratio = 1;  // The one farthest from 1.
  bool drifted = false;    // Beyond noise.

  friend bool operator==(const DriftRegime&, const DriftRegime&) = default;
};

struct DriftReport {
  // Environment keys.
  std::string from_environment;
  std::string to_environment;
  std::string digest;  // The judged table's.
  int32_t samples = 0;
  double seconds = 0;  // That measuring them took.
  // Those that drifted first, the farthest off before the others.
  std::vector<DriftRegime> regimes;
  DriftAction action = DriftAction::kUndecided;
  std::string reason;  // For people.

  friend bool operator==(const DriftReport&, const DriftReport&) = default;
};

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_DRIFT_REPORT_H_
