// The wave model: predicted latency of a launch from its physical coordinates.
//
//   double latency_us =
//       PredictLatencyUs(form, tiles_per_wave, segment, coordinates);
//
// Why out of line: binary64 + and * only, in one fixed order, compiled without
// contraction. So every rank, compiler and CPU gets the same bits; a caller's
// flags cannot reach it.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_TABLE_WAVE_MODEL_H_
#define WAVETUNE_MODEL_TABLE_WAVE_MODEL_H_

#include <cstdint>

#include "model/kernel/mapping.h"
#include "model/table/table.h"

namespace wavetune {

// Returns the model's latency in microseconds, not below segment.floor_us, in
// the order of operations of model/table/wave_arithmetic.h.
//
// Shapes: tiles_per_wave is the group's, >= 1; `at` as MapProblem gives it.
// Finite and > 0 for every segment that CheckTable accepts. Cannot fail.
// Source: arXiv 2604.10187, section 4.1. Deviations: WaveForm
// (model/kernel/wave_form.h).
double PredictLatencyUs(WaveForm form, int64_t tiles_per_wave,
                        const WaveSegment& segment, const Coordinates& at);

// Returns a row share (Coordinates::row_share) of problems in the regime, for
// questions about a regime and not a problem. It is that of a single row as
// full as it may be at half, or of the most rows; 0 where they have no limit.
// Cannot fail.
double TypicalRowShare(const RowRegime& regime);

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

// Returns the index of the first group that the default configuration leads, or
// -1. A wary sub-table (SubTable::wary) answers with it beyond the measured
// range.
int DefaultGroup(const Table& table, const SubTable& sub_table);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_WAVE_MODEL_H_
