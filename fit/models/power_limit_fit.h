// How much long launches of a kernel are slowed down, found from its samples.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_POWER_LIMIT_FIT_H_
#define WAVETUNE_FIT_MODELS_POWER_LIMIT_FIT_H_

#include <cstdint>

#include "fit/models/profile_state.h"
#include "model/table/power_limit_slowdown.h"

namespace wavetune {

// From here on launches count as long. Choices were as good (0.08 %) from 100,
// 150, 180 and 220 us on, from 350 us on 0.07 % and from 60 us on 0.3 % worse
// (gemm_bf16 on an H200, six profiles of six draws, 2026-11).
inline constexpr double kLongUs = 250;

// Slowdowns are multiples of it. Choices between 0.15 and 0.25 differ by less
// than 0.02 %.
inline constexpr double kSlowdownStep = 0.0625;

// The serving table's slowdown stays where it explains the samples nearly as
// well: models are comparable only where it is the same.
inline constexpr double kSlowdownTie = 0.05;

// Returns the slowdown with which the wave models explain the samples best (the
// least mean of RobustErrorOf), none where that gains nothing, or that of
// `serving`; nullptr where nothing serves. None for WaveForm::kSum. Where fewer
// than 64 samples are long nothing says so: that of `serving`, or none. Shapes:
// observations as measured, axes set; the 64 candidates with the most long
// samples are asked. Cannot fail. Cost: four to nine fits of these.
PowerLimitSlowdown FitPowerLimitSlowdown(
    const SpecialisationState& specialisation, int64_t multiprocessors,
    const PowerLimitSlowdown* serving);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_POWER_LIMIT_FIT_H_
