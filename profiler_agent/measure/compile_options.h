// The macros and options that a kernel is compiled with, on every backend.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_COMPILE_OPTIONS_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_COMPILE_OPTIONS_H_

#include <string>
#include <vector>

#include "wavetune/configuration.h"

namespace wavetune {

struct KernelSpec;

// Returns {"-DBLOCK_M=64", "-DCAUSAL=1", "-cl-fast-relaxed-math"}: parameters
// (unless `configuration` is nullptr), the specialisation's defines, then
// `options` in their order. Cannot fail.
std::vector<std::string> CompileOptions(
    const KernelSpec& spec, const Configuration* configuration,
    const std::string& specialisation, const std::vector<std::string>& options);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_COMPILE_OPTIONS_H_
