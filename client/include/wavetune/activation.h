// Activation: when a new table takes over from the one that decides.
//
// A new table may choose configurations that the application has not compiled,
// and ranks of one job must change tables at the same step. So a new table is
// *staged*: verified and compiled, but not yet deciding.
#ifndef WAVETUNE_ACTIVATION_H_
#define WAVETUNE_ACTIVATION_H_

#include <string>
#include <vector>

#include "wavetune/configuration.h"
#include "wavetune/decision.h"

namespace wavetune {

enum class ActivationPolicy {
  // The table takes over as soon as the application has prepared every
  // configuration that the table can answer (Tuner::SetPrepared), or before
  // that when the application calls Tuner::Activate.
  kAutomatic,
  // The table takes over when the application calls StepBoundary.
  kStepBoundary,
  // The table takes over only when the application calls Activate.
  kExplicit,
  // No table takes over: the tuner keeps its own.
  kPinned,
};

// A table that waits to take over.
struct StagedTable {
  std::string digest;  // Hex.
  TableOrigin origin = TableOrigin::kDaemon;
  bool stale = false;  // As Tuner::stale.
  // All configurations that it can answer, the default included.
  std::vector<Configuration> configurations;
  // Those of them that the application has not declared prepared.
  std::vector<Configuration> unprepared;
};

}  // namespace wavetune

#endif  // WAVETUNE_ACTIVATION_H_
