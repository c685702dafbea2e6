// LoadLevel: how long and how hard a problem makes a device work, in octaves.
//
// Why: problems that run into the power limit are measured apart from others
// (profiler_agent/measure/clock_settling.h), and which they are has to be
// guessed before anything ran. Short launches do not run into it, as the host
// pauses between them; launches that wait for memory draw less power.
//
// Thread safety: pure.
#ifndef WAVETUNE_MODEL_KERNEL_LOAD_LEVEL_H_
#define WAVETUNE_MODEL_KERNEL_LOAD_LEVEL_H_

#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Returns floor(log2(work * intensity)): the work in main-loop iterations of
// the default configuration, the intensity in these over the bytes of all
// buffers. Levels compare problems of one kernel, nothing else. Extents must be
// >= 1. Cannot fail. The clock that a device settles to falls with the level
// (docs/decisions/0012).
// Source: operational intensity (Williams, Waterman, Patterson, "Roofline: an
//         insightful visual performance model", CACM 52(4), 2009). Deviation:
//         iterations instead of operations, as no kernel says what one costs.
int LoadLevel(const KernelSpec& spec, const Problem& problem);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_LOAD_LEVEL_H_
