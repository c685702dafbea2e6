// The correctness check of a candidate against the manifest's reference.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_CHECK_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "model/configuration.h"
#include "model/kernel_spec.h"
#include "model/problem.h"
#include "profiler_agent/opencl/opencl_handle.h"
#include "profiler_agent/opencl/opencl_launch.h"

namespace wavetune {

struct OpenClCheck {
  const KernelSpec* spec = nullptr;  // With a reference.
  cl_kernel candidate = nullptr;
  cl_kernel reference = nullptr;
  Configuration configuration;
  LaunchShape shape;
};

// Runs candidate and reference on the same random inputs (of `seed`), outputs
// poisoned, and compares every output. Bytes just past an output must stay as
// they were. Errors: DATA_LOSS naming the output and its error; as Finish and
// BrokenReference where the candidate or the reference cannot be run.
absl::Status CheckResults(const OpenClSession& session,
                          const OpenClCheck& check, const Problem& problem,
                          uint64_t seed);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_CHECK_H_
