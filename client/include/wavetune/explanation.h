// ExplainedGroup: what a decision compared, for people.
#ifndef WAVETUNE_EXPLANATION_H_
#define WAVETUNE_EXPLANATION_H_

#include <cstdint>

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
  double rank_us = 0;  // What it competes with: more where little or nothing
                       // was measured and the form says so
                       // (model/kernel/wave_form.h).
  double relative_bound = 0;
  bool legal = true;  // False: a predicate excludes the row for this problem,
                      // or its counts saturate (Coordinates::saturated).
  bool chosen = false;
  bool extrapolated = false;
  bool of_layer = false;  // Chosen since measurements of the problem's layer
                          // say so (SubTable::layers), whatever the ranks.
};

}  // namespace wavetune

#endif  // WAVETUNE_EXPLANATION_H_
