// LoadLevel: how long and how hard a problem makes a device work, in octaves.
//
// Why: what runs into the power limit is measured apart from what does not
// (clock_settling.h), and that has to be guessed before anything ran. Short
// launches do not, as the host pauses between them, and launches that wait for
// memory draw less.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_LOAD_LEVEL_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_LOAD_LEVEL_H_

#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Returns floor(log2(work * intensity)): the work in main-loop iterations of
// the default configuration, the intensity in these over the bytes of all
// buffers. Levels compare problems of one kernel, nothing else. Extents must be
// >= 1. Cannot fail. On an H200 the clock of the default goes with it, from
// 1,790 MHz at level 0 and 1,570 at level 3 to 1,280 at level 9 (bf16
// products).
// Source: operational intensity (Williams, Waterman, Patterson, "Roofline: an
//         insightful visual performance model", CACM 52(4), 2009). Deviation:
//         iterations instead of operations, as no kernel says what one costs.
int LoadLevel(const KernelSpec& spec, const Problem& problem);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_LOAD_LEVEL_H_
