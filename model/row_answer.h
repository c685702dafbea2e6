// RowAnswer: what the two stages of a decision found in a sub-table: the row
// that won, and its candidate.
//
// A plain struct of its own: files that are compiled for more than the base
// architecture include it (model/row_kernel.h). The two doubles are apart, so
// that no compiler reads them as one vector right after they were written one
// by one, which processors do not forward.
#ifndef WAVETUNE_MODEL_ROW_ANSWER_H_
#define WAVETUNE_MODEL_ROW_ANSWER_H_

#include <cstdint>

namespace wavetune {

struct RowAnswer {
  double latency_us = 0;
  int16_t group = -1;  // -1: no row is legal for the problem.
  uint8_t candidate = 0xff;
  bool extrapolated = false;
  double relative_bound = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_ROW_ANSWER_H_
