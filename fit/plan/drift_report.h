// DriftReport: what changed between two environments of one silicon (another
// driver, runtime or power limit), by a few measurements under both.
//
// Made by JudgeCanary (fit/plan/canary.h), kept with the job that asked.
//
// Thread safety: plain values.
#ifndef WAVETUNE_FIT_PLAN_DRIFT_REPORT_H_
#define WAVETUNE_FIT_PLAN_DRIFT_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace wavetune {

// What is done about it. Stored by number: do not reorder.
enum class DriftAction {
  kUndecided,  // It could not be judged; nothing is done.
  kCarryOver,  // The table holds.
  kRefit,   // What drifted is measured anew; the rest of the samples is kept.
  kProfile  // Everything is measured anew.
};

// Problems that are alike to the wave model.
struct DriftRegime {
  std::string specialisation;
  std::string name;  // "one row of tiles, past the first wave".
  int32_t pairs = 0;
  // Latency now / latency then, of its pairs.
  double median_ratio = 1;
  double worst_ratio = 1;  // The one farthest from the median of all.
  bool drifted = false;    // Beyond noise.

  friend bool operator==(const DriftRegime&, const DriftRegime&) = default;
};

struct DriftReport {
  // Environment keys.
  std::string from_environment;
  std::string to_environment;
  std::string digest;  // Of the table that was judged.
  int32_t samples = 0;
  double seconds = 0;        // That measuring them took.
  double overall_ratio = 1;  // What did not drift took so many times as long.
  std::vector<DriftRegime> regimes;  // The most drifted first.
  DriftAction action = DriftAction::kUndecided;
  std::string reason;  // For people.

  friend bool operator==(const DriftReport&, const DriftReport&) = default;
};

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_DRIFT_REPORT_H_
