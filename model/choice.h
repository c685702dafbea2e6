// Choice: what the two stages of a decision found in a sub-table, or why there
// is nothing to find.
#ifndef WAVETUNE_MODEL_CHOICE_H_
#define WAVETUNE_MODEL_CHOICE_H_

#include <cstdint>

#include "model/decision.h"

namespace wavetune {

struct Choice {
  double latency_us = 0;
  double relative_bound = 0;
  int16_t group = -1;  // -1: no row is legal for the problem.
  uint8_t candidate = 0xff;
  bool extrapolated = false;
  DefaultReason reason = DefaultReason::kNone;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_CHOICE_H_
