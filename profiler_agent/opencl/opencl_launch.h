// One launch: its shape, its scalar arguments, its enqueueing.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_LAUNCH_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_LAUNCH_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernel/device.h"
#include "model/kernel/launch_descriptor.h"
#include "profiler_agent/opencl/opencl_handle.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct Implementation;
struct KernelSpec;

// Dynamic local memory is passed as one more __local argument after the
// manifest's where it is not 0.
using OpenClLaunchShape = LaunchShape;

// Returns the shape of a launch: blocks default to the mapping's tiles. Errors:
// FAILED_PRECONDITION where the device's limits are exceeded (says which).
absl::StatusOr<OpenClLaunchShape> ShapeOf(const KernelSpec& spec,
                                          const Implementation& implementation,
                                          const std::string& specialisation,
                                          const Configuration& configuration,
                                          const Problem& problem,
                                          const DeviceFacts& facts);

// Sets all scalar arguments. Errors: FAILED_PRECONDITION, as OpenClStatus.
absl::Status SetScalars(cl_kernel kernel, const KernelSpec& spec,
                        const Configuration& configuration,
                        const Problem& problem);

// Sets the dynamic local memory, if any.
absl::Status SetLocalMemory(cl_kernel kernel, const KernelSpec& spec,
                            const OpenClLaunchShape& shape);

// Sets one buffer argument.
absl::Status SetBuffer(cl_kernel kernel, size_t index, cl_mem buffer);

// Enqueues a launch, after `gate` if that is not nullptr. Errors: as
// OpenClStatus.
absl::StatusOr<OpenClEvent> EnqueueLaunch(const OpenClSession& session,
                                          cl_kernel kernel,
                                          const OpenClLaunchShape& shape,
                                          cl_event gate = nullptr);

// Waits for everything that was enqueued. Errors: UNAVAILABLE and
// RESOURCE_EXHAUSTED as OpenClStatus; ABORTED for all else, as a kernel failed
// while it ran and may have broken the context with it.
absl::Status Finish(const OpenClSession& session);

// Enqueues zeroing a buffer of `bytes`, a multiple of the element's, after
// `gate` if that is not nullptr. Errors: as OpenClStatus.
absl::StatusOr<OpenClEvent> EnqueueZeroing(const OpenClSession& session,
                                           cl_mem buffer, size_t element_bytes,
                                           size_t bytes,
                                           cl_event gate = nullptr);

// Returns the device time in microseconds, > 0, from the beginning of a command
// to the end of a launch, both finished. Errors: as Finish when the launch
// itself failed; as OpenClStatus; INTERNAL for a time that is not positive.
absl::StatusOr<double> DeviceTimeUs(cl_event first, cl_event launch);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_LAUNCH_H_
