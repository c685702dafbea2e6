// The Triton that tests compile with, and kernels for it. For tests.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TEST_TRITON_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TEST_TRITON_H_

#include <map>
#include <string>

#include "profiler_agent/measure/backend.h"
#include "tests/lib/source_paths.h"

namespace wavetune {

inline constexpr char kTritonGelu[] =
    WAVETUNE_SOURCE_DIR "/tests/kernels/triton_gelu";

// Returns the interpreter of tests/triton_environment.py, which is made the
// first time; empty where that cannot be done. WAVETUNE_TEST_TRITON_PYTHON
// names another one: on a machine that has Triton, and no PyPI.
std::string TestTritonPython();

// What a test is skipped with where there is none.
inline constexpr char kNoTestTriton[] =
    "skipped: no Triton to compile with (tests/triton_environment.py says why)";

// Returns kTritonGelu with these contents in place of its own files'.
LoadedKernel TritonGelu(const std::map<std::string, std::string>& files = {});

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TEST_TRITON_H_
