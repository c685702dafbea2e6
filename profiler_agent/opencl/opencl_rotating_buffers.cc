#include "profiler_agent/opencl/opencl_rotating_buffers.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "profiler_agent/opencl/opencl_launch.h"
#include "profiler_agent/opencl/opencl_status.h"

namespace wavetune {
namespace {

size_t MaxAllocation(cl_device_id device) {
  cl_ulong bytes = 0;
  clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(bytes), &bytes,
                  nullptr);
  return static_cast<size_t>(bytes);
}

size_t ColdBytesOn(const OpenClSession& session, const Argument& argument,
                   const DeviceFacts& facts) {
  const size_t bytes = ColdBytesOf(argument, facts, session.is_cpu);
  if (bytes > 0 && facts.last_level_cache_bytes <= 0) {
    static std::once_flag logged;
    std::call_once(logged, [&facts] {
      Log(LogLevel::kWarning, "opencl",
          absl::StrCat("device ", facts.uuid,
                       " does not tell its cache's size; a usual one is "
                       "assumed"));
    });
  }
  return bytes;
}

}  // namespace

OpenClRotatingBuffers::OpenClRotatingBuffers(const OpenClSession& session,
                                             const DeviceFacts& facts,
                                             const Argument& argument,
                                             uint64_t seed)
    : session_(session),
      rotation_(ColdBytesOn(session, argument, facts)),
      max_bytes_(MaxAllocation(session.device)),
      element_bytes_(ElementBytes(argument.type)),
      fill_(argument, seed) {}

absl::Status OpenClRotatingBuffers::Reserve(size_t bytes,
                                            std::optional<int64_t> below) {
  absl::Status status = MakeRoom(bytes);
  if (status.ok()) {
    status = fill_.Fill(
        bytes, size_, below, [this](size_t own) { return WriteZeros(own); },
        [this](absl::string_view pattern, size_t own) {
          return WriteValues(pattern, own);
        });
  }
  if (!status.ok()) memory_ = OpenClBuffer();
  return status;
}

absl::Status OpenClRotatingBuffers::MakeRoom(size_t bytes) {
  const size_t wanted = rotation_.WantedBytes(bytes, max_bytes_);
  if (wanted == 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a buffer of ", bytes, " bytes is larger than the ",
                     max_bytes_, " that the device allocates at once"));
  }
  const bool at_most = size_ == max_bytes_;
  if (memory_ && (at_most || rotation_.Suffices(bytes, size_))) {
    return absl::OkStatus();
  }
  memory_ = OpenClBuffer();
  rotation_.Reset();
  size_ = wanted;
  fill_.Forget();
  cl_int code = CL_SUCCESS;
  memory_ = OpenClBuffer(clCreateBuffer(session_.context, CL_MEM_READ_WRITE,
                                        size_, nullptr, &code));
  return OpenClStatus(code, absl::StrCat("allocating ", size_, " bytes"));
}

absl::Status OpenClRotatingBuffers::WriteZeros(size_t bytes) {
  ASSIGN_OR_RETURN(
      const OpenClEvent event,
      EnqueueZeroing(session_, memory_.get(), element_bytes_, bytes));
  return Finish(session_);
}

absl::Status OpenClRotatingBuffers::WriteValues(absl::string_view pattern,
                                                size_t bytes) {
  for (size_t offset = 0; offset < bytes; offset += pattern.size()) {
    const size_t part = std::min(pattern.size(), bytes - offset);
    const cl_int code =
        clEnqueueWriteBuffer(session_.queue, memory_.get(), CL_TRUE, offset,
                             part, pattern.data(), 0, nullptr, nullptr);
    if (code != CL_SUCCESS) return OpenClStatus(code, "filling a buffer");
  }
  return absl::OkStatus();
}

absl::StatusOr<OpenClBuffer> OpenClRotatingBuffers::NextSlice(size_t bytes) {
  const cl_buffer_region region = {rotation_.Next(bytes, size_), bytes};
  cl_int code = CL_SUCCESS;
  OpenClBuffer buffer(clCreateSubBuffer(memory_.get(), CL_MEM_READ_WRITE,
                                        CL_BUFFER_CREATE_TYPE_REGION, &region,
                                        &code));
  if (code != CL_SUCCESS) return OpenClStatus(code, "slicing a buffer");
  return buffer;
}

absl::Status OpenClRotatingBuffers::Write(const std::string& content) {
  return OpenClStatus(
      clEnqueueWriteBuffer(session_.queue, memory_.get(), CL_TRUE, 0,
                           content.size(), content.data(), 0, nullptr, nullptr),
      "writing an input");
}

}  // namespace wavetune
