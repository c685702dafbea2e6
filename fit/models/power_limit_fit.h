// How much long launches of a kernel are slowed down, found from its samples.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_POWER_LIMIT_FIT_H_
#define WAVETUNE_FIT_MODELS_POWER_LIMIT_FIT_H_

#include <cstdint>

#include "fit/models/profile_state.h"
#include "model/table/power_limit_slowdown.h"

namespace wavetune {

// From here on launches count as long. Choices hardly depend on it
// (docs/decisions/0011).
inline constexpr double kLongUs = 250;

// Slowdowns are multiples of it: finer steps change no choice
// (docs/decisions/0011).
inline constexpr double kSlowdownStep = 0.0625;

// Returns the slowdown with which the wave models explain the samples best: the
// least mean of RobustErrorOf over the 64 candidates with the most long
// samples. Returns none where it gains nothing and for WaveForm::kSum. Returns
// none where fewer than 64 samples are long.
//
// Shapes: observations as measured, axes set. Cannot fail. Cost: four to nine
// fits of those candidates.
PowerLimitSlowdown FitPowerLimitSlowdown(
    const SpecialisationState& specialisation, int64_t multiprocessors);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_POWER_LIMIT_FIT_H_
