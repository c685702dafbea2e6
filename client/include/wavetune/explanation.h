// ExplainedGroup: what a decision compared, for people.
#ifndef WAVETUNE_EXPLANATION_H_
#define WAVETUNE_EXPLANATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "wavetune/configuration.h"
#include "wavetune/coordinates.h"

namespace wavetune {

// One line of an explanation: a macro group's row at a problem.
struct ExplainedGroup {
  Configuration configuration;  // Stage II's choice for the row.
  Coordinates coordinates;
  int64_t waves = 1;
  int64_t tiles_per_wave = 1;
  RowRegime row_regime;
  double latency_us = 0;
  double rank_us = 0;  // The latency that it competes with: above latency_us
                       // where an overlap was measured little or not at all.
  double relative_bound = 0;
  bool legal = true;  // False: a predicate excludes the row for this problem,
                      // or its counts saturate (Coordinates::saturated).
  std::vector<std::string> broken;  // The predicates that do: "k % 8 == 0".
  bool chosen = false;
  bool extrapolated = false;
  bool of_layer = false;      // Measurements of the problem's layer chose it
                              // (SubTable::layers), not the ranks.
  bool kept_default = false;  // It is the default: no row is faster by more
                              // than its bound, beyond the measured range
                              // (SubTable::wary).
};

}  // namespace wavetune

#endif  // WAVETUNE_EXPLANATION_H_
