// Kernels of tests/data/kernels, as a worker gets them. For tests.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_TEST_KERNELS_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_TEST_KERNELS_H_

#include <cstdint>
#include <string>

#include "profiler_agent/measure/backend.h"
#include "proto/wavetune/v1/agent_service.pb.h"
#include "tests/lib/source_paths.h"
#include "wavetune/configuration.h"

namespace wavetune {

// One of them that works, and a configuration of it.
inline constexpr char kColumnSum[] =
    WAVETUNE_SOURCE_DIR "/tests/data/kernels/column_sum";
inline const Configuration kColumnSumConfiguration = {16, 8, 0};

// Returns the kernel in a folder (an absolute path). The test ends with an
// error where it cannot be read.
v1::KernelSource TestKernelSource(const std::string& folder);
LoadedKernel TestKernel(const std::string& folder);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_TEST_KERNELS_H_
