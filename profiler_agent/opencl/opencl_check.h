// How the correctness check runs something on an OpenCL device.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_CHECK_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernel/configuration.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/problem.h"
#include "profiler_agent/opencl/opencl_handle.h"
#include "profiler_agent/opencl/opencl_launch.h"
#include "profiler_agent/result_check.h"

namespace wavetune {

class OpenClRun : public CheckedRun {
 public:
  // All outlive it.
  OpenClRun(const OpenClSession& session, const KernelSpec& spec,
            const Configuration& configuration, const Problem& problem,
            cl_kernel kernel, const LaunchShape& shape)
      : session_(session),
        spec_(spec),
        configuration_(configuration),
        problem_(problem),
        kernel_(kernel),
        shape_(shape) {}

  absl::Status AddBuffer(size_t argument, const std::string& content) override;
  absl::Status Execute() override;
  absl::StatusOr<std::string> Content(size_t argument) override;

 private:
  const OpenClSession& session_;
  const KernelSpec& spec_;
  const Configuration& configuration_;
  const Problem& problem_;
  cl_kernel kernel_;
  const LaunchShape shape_;
  std::map<size_t, std::pair<OpenClBuffer, size_t>> buffers_;  // And bytes.
};

// Returns the launch of a reference of `items` work items. Pure.
LaunchShape ReferenceShape(const OpenClSession& session, int64_t items);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_CHECK_H_
