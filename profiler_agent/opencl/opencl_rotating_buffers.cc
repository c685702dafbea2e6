#include "profiler_agent/opencl/opencl_rotating_buffers.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "profiler_agent/measure/buffer_values.h"
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
      type_(argument.type),
      is_input_(argument.role == ArgumentRole::kInput),
      rotation_(ColdBytesOn(session, argument, facts)),
      max_bytes_(MaxAllocation(session.device)),
      seed_(seed) {}

absl::Status OpenClRotatingBuffers::Reserve(size_t bytes) {
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
  cl_int code = CL_SUCCESS;
  memory_ = OpenClBuffer(clCreateBuffer(session_.context, CL_MEM_READ_WRITE,
                                        size_, nullptr, &code));
  if (code == CL_SUCCESS && is_input_) {
    absl::Status filled = Fill();
    if (filled.ok()) return filled;
    memory_ = OpenClBuffer();
    return filled;
  }
  return OpenClStatus(code, absl::StrCat("allocating ", size_, " bytes"));
}

absl::Status OpenClRotatingBuffers::Fill() {
  const std::string pattern = RandomPattern(type_, size_, seed_);
  for (size_t offset = 0; offset < size_; offset += pattern.size()) {
    const size_t bytes = std::min(pattern.size(), size_ - offset);
    const cl_int code =
        clEnqueueWriteBuffer(session_.queue, memory_.get(), CL_TRUE, offset,
                             bytes, pattern.data(), 0, nullptr, nullptr);
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
