// A kernel spec made by hand, for tests of logic that needs no files.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_TINY_KERNEL_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_TINY_KERNEL_H_

#include <string>

#include "profiler_agent/measure/backend.h"

namespace wavetune {

// Returns a kernel implemented for `backend`. It has dimensions n and k (1 to
// 4096), parameters BLOCK_N {16, 64}, BLOCK_K {8, 32} and MODE {0, 1, 2, 3},
// and specialisations "plain" and "causal". Its predicate: n is a multiple of
// MODE plus 1.
LoadedKernel TinyKernel(const std::string& backend);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_TINY_KERNEL_H_
