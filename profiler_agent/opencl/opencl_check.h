// Where arguments of checked launches lie on an OpenCL device.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_CHECK_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_agent/measure/result_check.h"
#include "profiler_agent/opencl/opencl_handle.h"
#include "profiler_agent/opencl/opencl_launch.h"

namespace wavetune {

// Whatever an OpenCL device's CheckMemory allocates.
class OpenClCheckBuffer : public CheckBuffer {
 public:
  // The argument, without guards.
  virtual cl_mem argument() const = 0;
};

// Usual memory: the argument is a part of a larger buffer.
class OpenClCheckMemory : public CheckMemory {
 public:
  // `session` outlives it.
  explicit OpenClCheckMemory(const OpenClSession& session)
      : session_(session) {}

  absl::StatusOr<std::unique_ptr<CheckBuffer>> Allocate(
      const Argument& argument, size_t bytes) override;

 private:
  const OpenClSession& session_;
};

// Sets the buffers as a kernel's arguments. All are OpenClCheckBuffers. Errors:
// as OpenClStatus.
absl::Status SetCheckBuffers(cl_kernel kernel, const CheckBuffers& buffers);

// Launches and waits. Errors: as Finish and EnqueueLaunch.
absl::Status LaunchAndFinish(const OpenClSession& session, cl_kernel kernel,
                             const OpenClLaunchShape& shape);

// Copies, and returns when it is done. Errors: as OpenClStatus.
absl::Status WriteOpenClBuffer(const OpenClSession& session, cl_mem buffer,
                               absl::string_view content);
absl::StatusOr<std::string> ReadOpenClBuffer(const OpenClSession& session,
                                             cl_mem buffer, size_t bytes);

// Returns the launch of a reference of `items` work items. Pure.
OpenClLaunchShape ReferenceShape(const OpenClSession& session, int64_t items);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_CHECK_H_
