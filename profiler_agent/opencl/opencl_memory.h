// Memory of an OpenCL device (DriverMemory of measure/measured_buffers.h).
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_MEMORY_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_MEMORY_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_agent/opencl/opencl_handle.h"
#include "profiler_agent/opencl/opencl_launch.h"  // Finish

namespace wavetune {

// Returns what the device allocates at once. Cannot fail.
absl::StatusOr<size_t> AllocatableNow(const OpenClSession& session);

// Returns RESOURCE_EXHAUSTED with both numbers.
absl::Status TooLittleMemory(const OpenClSession& session, size_t wanted_bytes);

// Errors of all below: as OpenClStatus.
absl::StatusOr<OpenClBuffer> AllocateMemory(const OpenClSession& session,
                                            size_t bytes);

// Returns a part of a buffer.
absl::StatusOr<OpenClBuffer> SliceOf(const OpenClSession& session,
                                     cl_mem buffer, size_t offset,
                                     size_t bytes);

// Copy, and return when it is done.
absl::Status CopyToDevice(const OpenClSession& session, cl_mem buffer,
                          absl::string_view content);
absl::StatusOr<std::string> CopyToHost(const OpenClSession& session,
                                       cl_mem buffer, size_t bytes);

// Enqueue.
absl::Status CopyOnDevice(const OpenClSession& session, cl_mem from, cl_mem to,
                          size_t offset, size_t bytes);
absl::Status WriteZeros(const OpenClSession& session, cl_mem buffer,
                        size_t bytes);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_MEMORY_H_
