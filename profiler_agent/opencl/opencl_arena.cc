#include "profiler_agent/opencl/opencl_arena.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_agent/agent_log.h"
#include "profiler_agent/buffer_values.h"
#include "profiler_agent/opencl/opencl_status.h"

namespace wavetune {
namespace {

// A page: slices start alike, whatever their size, and above every device's
// alignment for sub-buffers (128 bytes on PoCL, 4096 at most elsewhere).
constexpr size_t kSliceAlignment = 4096;

// Random content repeats with this period (a prime number of elements below
// 2^22, so that no two rows of a matrix are equal).
constexpr size_t kPatternElements = 4194301;

// Where the driver does not say how large the last-level cache is: as large as
// those of most devices (an H100 has 50 MiB), or larger.
constexpr size_t kAssumedCacheBytes = size_t{64} << 20;

size_t RoundUp(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

size_t MaxAllocation(cl_device_id device) {
  cl_ulong bytes = 0;
  clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(bytes), &bytes,
                  nullptr);
  return static_cast<size_t>(bytes);
}

size_t CacheBytes(const DeviceFacts& facts) {
  if (facts.last_level_cache_bytes > 0) {
    return static_cast<size_t>(facts.last_level_cache_bytes);
  }
  static std::once_flag logged;
  std::call_once(logged, [&facts] {
    AgentLog(AgentLogLevel::kWarning,
             absl::StrCat("device ", facts.uuid,
                          " does not tell its cache's size; assuming ",
                          kAssumedCacheBytes >> 20, " MiB"));
  });
  return kAssumedCacheBytes;
}

size_t ColdBytesOf(const Argument& argument, const OpenClSession& session,
                   const DeviceFacts& facts) {
  const bool cold = argument.cold && argument.role == ArgumentRole::kInput;
  return cold ? ColdBytes(CacheBytes(facts), session.is_cpu) : 0;
}

}  // namespace

OpenClArena::OpenClArena(const OpenClSession& session, const DeviceFacts& facts,
                         const Argument& argument, uint64_t seed)
    : session_(session),
      type_(argument.type),
      is_input_(argument.role == ArgumentRole::kInput),
      rotation_(ColdBytesOf(argument, session, facts)),
      max_bytes_(MaxAllocation(session.device)),
      seed_(seed) {}

absl::Status OpenClArena::Reserve(size_t bytes) {
  const size_t slice = RoundUp(bytes, kSliceAlignment);
  if (slice > max_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a buffer of ", bytes, " bytes is larger than the ",
                     max_bytes_, " that the device allocates at once"));
  }
  const size_t wanted = std::min(max_bytes_, slice + rotation_.cold_bytes());
  if (memory_ && wanted <= size_) return absl::OkStatus();
  memory_ = OpenClBuffer();
  rotation_.Restart();
  // Powers of two, so that growing problems do not fill it again and again;
  // where that is too much, less rotation rather than none.
  size_ = std::min(max_bytes_, std::bit_ceil(slice) + rotation_.cold_bytes());
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

absl::Status OpenClArena::Fill() {
  const size_t elements =
      std::min(kPatternElements, size_ / ElementBytes(type_));
  const std::string pattern = RandomValues(type_, elements, seed_);
  for (size_t offset = 0; offset < size_; offset += pattern.size()) {
    const size_t bytes = std::min(pattern.size(), size_ - offset);
    const cl_int code =
        clEnqueueWriteBuffer(session_.queue, memory_.get(), CL_TRUE, offset,
                             bytes, pattern.data(), 0, nullptr, nullptr);
    if (code != CL_SUCCESS) return OpenClStatus(code, "filling a buffer");
  }
  return absl::OkStatus();
}

absl::StatusOr<OpenClBuffer> OpenClArena::NextSlice(size_t bytes) {
  const size_t slice = RoundUp(bytes, kSliceAlignment);
  const size_t offset = rotation_.NextOffset(slice, size_);
  const cl_buffer_region region = {offset, std::min(slice, size_ - offset)};
  cl_int code = CL_SUCCESS;
  OpenClBuffer buffer(clCreateSubBuffer(memory_.get(), CL_MEM_READ_WRITE,
                                        CL_BUFFER_CREATE_TYPE_REGION, &region,
                                        &code));
  if (code != CL_SUCCESS) return OpenClStatus(code, "slicing a buffer");
  return buffer;
}

absl::Status OpenClArena::Write(const std::string& content) {
  return OpenClStatus(
      clEnqueueWriteBuffer(session_.queue, memory_.get(), CL_TRUE, 0,
                           content.size(), content.data(), 0, nullptr, nullptr),
      "writing an input");
}

}  // namespace wavetune
