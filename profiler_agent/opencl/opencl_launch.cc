#include "profiler_agent/opencl/opencl_launch.h"

#include <array>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "profiler_agent/measure/buffer_values.h"
#include "profiler_agent/opencl/opencl_status.h"

namespace wavetune {
namespace {

absl::Status TooMuchForDevice(absl::string_view what, int64_t wanted,
                              int64_t limit) {
  return absl::FailedPreconditionError(absl::StrCat(
      "it wants ", what, " ", wanted, ", the device allows ", limit));
}

// The error of a kernel that ran. Codes that mean too many resources where a
// launch is enqueued mean a fault here.
absl::Status RunStatus(cl_int code, absl::string_view what) {
  absl::Status status = OpenClStatus(code, what);
  if (status.ok() || absl::IsUnavailable(status) ||
      absl::IsResourceExhausted(status)) {
    return status;
  }
  return absl::AbortedError(status.message());
}

std::array<size_t, 3> SidesOf(const LaunchExtent& extent) {
  return {static_cast<size_t>(extent.x), static_cast<size_t>(extent.y),
          static_cast<size_t>(extent.z)};
}

}  // namespace

absl::StatusOr<OpenClLaunchShape> ShapeOf(const KernelSpec& spec,
                                          const Implementation& implementation,
                                          const std::string& specialisation,
                                          const Configuration& configuration,
                                          const Problem& problem,
                                          const DeviceFacts& facts) {
  const LaunchShape shape = ShapeOf(
      DescribeLaunch(spec, implementation, specialisation, configuration),
      problem.View());
  const int64_t block_size = shape.block_size.Total();
  if (facts.max_group_size > 0 && block_size > facts.max_group_size) {
    return TooMuchForDevice("a block of", block_size, facts.max_group_size);
  }
  if (facts.max_shared_memory_bytes > 0 &&
      shape.shared_bytes > facts.max_shared_memory_bytes) {
    return TooMuchForDevice("bytes of local memory:", shape.shared_bytes,
                            facts.max_shared_memory_bytes);
  }
  if (shape.blocks.Total() >= kExpressionLimit) {
    return absl::FailedPreconditionError(
        absl::StrCat("it wants ", FormatExtent(shape.blocks), " blocks of ",
                     FormatExtent(shape.block_size)));
  }
  return shape;
}

absl::Status SetScalars(cl_kernel kernel, const KernelSpec& spec,
                        const Configuration& configuration,
                        const Problem& problem) {
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    const Argument& argument = spec.arguments[i];
    if (argument.role != ArgumentRole::kScalar) continue;
    ASSIGN_OR_RETURN(const std::string bytes,
                     ScalarBytes(argument, problem.View(), configuration));
    RETURN_IF_ERROR(OpenClStatus(
        clSetKernelArg(kernel, static_cast<cl_uint>(i), bytes.size(),
                       bytes.data()),
        absl::StrCat("setting scalar argument '", argument.name, "'")));
  }
  return absl::OkStatus();
}

absl::Status SetLocalMemory(cl_kernel kernel, const KernelSpec& spec,
                            const OpenClLaunchShape& shape) {
  if (shape.shared_bytes == 0) return absl::OkStatus();
  return OpenClStatus(
      clSetKernelArg(kernel, static_cast<cl_uint>(spec.arguments.size()),
                     static_cast<size_t>(shape.shared_bytes), nullptr),
      "setting dynamic local memory");
}

absl::Status SetBuffer(cl_kernel kernel, size_t index, cl_mem buffer) {
  return OpenClStatus(clSetKernelArg(kernel, static_cast<cl_uint>(index),
                                     sizeof(cl_mem), &buffer),
                      absl::StrCat("setting buffer argument ", index));
}

absl::StatusOr<OpenClEvent> EnqueueLaunch(const OpenClSession& session,
                                          cl_kernel kernel,
                                          const OpenClLaunchShape& shape,
                                          cl_event gate) {
  const LaunchExtent& blocks = shape.blocks;
  const LaunchExtent& block = shape.block_size;
  const auto local = SidesOf(block);
  const auto global =
      SidesOf({blocks.x * block.x, blocks.y * block.y, blocks.z * block.z});
  // As many as there are sides: a line is compiled as one.
  const cl_uint sides = blocks.z * block.z > 1   ? 3
                        : blocks.y * block.y > 1 ? 2
                                                 : 1;
  cl_event event = nullptr;
  const cl_int code = clEnqueueNDRangeKernel(
      session.queue, kernel, sides, nullptr, global.data(), local.data(),
      gate == nullptr ? 0 : 1, gate == nullptr ? nullptr : &gate, &event);
  if (code != CL_SUCCESS) {
    return OpenClStatus(code, absl::StrCat("launching ", FormatExtent(blocks),
                                           " blocks of ", FormatExtent(block)));
  }
  return OpenClEvent(event);
}

absl::Status Finish(const OpenClSession& session) {
  return RunStatus(clFinish(session.queue), "waiting for the device");
}

absl::StatusOr<OpenClEvent> EnqueueZeroing(const OpenClSession& session,
                                           cl_mem buffer, size_t element_bytes,
                                           size_t bytes, cl_event gate) {
  constexpr uint64_t kZero = 0;
  cl_event event = nullptr;
  const cl_int code = clEnqueueFillBuffer(
      session.queue, buffer, &kZero, element_bytes, 0, bytes,
      gate == nullptr ? 0 : 1, gate == nullptr ? nullptr : &gate, &event);
  if (code != CL_SUCCESS) return OpenClStatus(code, "zeroing a workspace");
  return OpenClEvent(event);
}

absl::StatusOr<double> DeviceTimeUs(cl_event first, cl_event launch) {
  cl_int state = CL_COMPLETE;
  clGetEventInfo(launch, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state),
                 &state, nullptr);
  if (state < 0) return RunStatus(state, "running the kernel");
  cl_ulong start = 0;
  cl_ulong end = 0;
  cl_int code = clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_START,
                                        sizeof(start), &start, nullptr);
  if (code == CL_SUCCESS) {
    code = clGetEventProfilingInfo(launch, CL_PROFILING_COMMAND_END,
                                   sizeof(end), &end, nullptr);
  }
  if (code != CL_SUCCESS) return OpenClStatus(code, "reading a launch's time");
  if (end <= start) {
    return absl::InternalError(absl::StrCat("the driver timed a launch from ",
                                            start, " to ", end,
                                            " ns; its clock is not usable"));
  }
  return static_cast<double>(end - start) / 1000;
}

}  // namespace wavetune
