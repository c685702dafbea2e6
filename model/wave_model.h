// The wave model: predicted latency of a launch from its physical coordinates.
//
//   double latency_us =
//       PredictLatencyUs(form, capacity, segment, tiles, iterations, longest);
//
// Why out of line: binary64 + and * only, in one fixed order, compiled without
// contraction, so that every rank, compiler and CPU gets the same bits; a
// caller's flags cannot reach it.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_WAVE_MODEL_H_
#define WAVETUNE_MODEL_WAVE_MODEL_H_

#include <cstdint>

#include "model/table.h"

namespace wavetune {

// Returns the model's latency in microseconds, not below segment.floor_us, in
// the order of operations of model/wave_arithmetic.h.
//
// Shapes: capacity is the group's, >= 1; tiles is G >= 1, iterations is L > 0,
// longest_loop is Lx >= 1. Finite and > 0 for every segment that CheckTable
// accepts. Cannot fail.
// Source: arXiv 2604.10187, section 4.1. Deviations: WaveForm
// (model/wave_form.h).
double PredictLatencyUs(WaveForm form, int64_t capacity,
                        const WaveSegment& segment, int64_t tiles,
                        double iterations, int64_t longest_loop);

// Returns whether (w, L) lies outside of the segment's measured range. A
// segment that nothing was measured for has an iteration range of [0, 0]:
// always outside.
bool IsExtrapolated(const WaveSegment& segment, double iterations,
                    int64_t waves);

// Returns the index of the row regime that a problem belongs to: the first that
// takes it, else the last.
int RowRegimeIndex(const SubTable& sub_table, int64_t rows, double row_fill);

// Returns the index of the wave regime that `waves` belongs to.
int WaveRegimeIndex(const SubTable& sub_table, int64_t waves);

// Returns the index of the loop anchor nearest to `iterations`; of two equally
// near, the lower.
int LoopAnchorIndex(const SubTable& sub_table, double iterations);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_WAVE_MODEL_H_
