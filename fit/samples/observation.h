// Observation: one cleaned measurement of a candidate, ready for fitting.
#ifndef WAVETUNE_FIT_SAMPLES_OBSERVATION_H_
#define WAVETUNE_FIT_SAMPLES_OBSERVATION_H_

#include "model/kernel/mapping.h"
#include "wavetune/problem.h"

namespace wavetune {

struct Observation {
  Problem problem;
  Coordinates at;  // Under the candidate's configuration.
  // Finite and > 0; the median of repeated samples, at the clock of short
  // launches once a ProfileState holds it (model/table/power_limit_slowdown.h).
  double latency_us = 0;
  double weight = 1;      // In (0, 1]; below 1 where no trusted sample exists.
  double importance = 1;  // In (0, 1]; times the weight in a fit
                          // (fit/models/importance.h).
  // The problem is one that clients ask for, not an anchor.
  bool representative = false;
};

}  // namespace wavetune

#endif  // WAVETUNE_FIT_SAMPLES_OBSERVATION_H_
