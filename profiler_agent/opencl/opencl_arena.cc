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

// A CPU's operands lie either well beyond its last-level cache or well inside.
// In between, how much of it a tenant of a shared machine gets at the moment
// decides: gemm_f32 at m = 1, n = 2560, k = 960 took 82-111 us (quartiles)
// rotating over 4 MiB, 295-417 us over 16 MiB and 540-626 us over 64 MiB on two
// cores with 32 MiB of cache; the same on a socket that reports 260 MiB:
// 178-187 us over 24 or 48 MiB, 313-371 us over 128 MiB, 588-597 us over 320
// MiB.
// So: this many times the cache,
constexpr size_t kBeyondCpuCache = 2;
// but no more than this;
constexpr size_t kMostCpuColdBytes = size_t{128} << 20;
// else this part of the cache, which is more than the cores' own caches.
constexpr size_t kInsideCpuCache = 8;

size_t RoundUp(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

size_t MaxAllocation(cl_device_id device) {
  cl_ulong bytes = 0;
  clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(bytes), &bytes,
                  nullptr);
  return static_cast<size_t>(bytes);
}

// How much to rotate over: beyond the cache, or on a CPU with a large one well
// inside.
size_t ColdBytes(const OpenClSession& session, const DeviceFacts& facts) {
  size_t cache =
      static_cast<size_t>(std::max<int64_t>(facts.last_level_cache_bytes, 0));
  if (cache == 0) {
    cache = kAssumedCacheBytes;
    static std::once_flag logged;
    std::call_once(logged, [&facts] {
      AgentLog(AgentLogLevel::kWarning,
               absl::StrCat("device ", facts.uuid,
                            " does not tell its cache's size; assuming ",
                            kAssumedCacheBytes >> 20, " MiB"));
    });
  }
  if (session.is_cpu) {
    const size_t beyond = kBeyondCpuCache * cache;
    return beyond <= kMostCpuColdBytes ? beyond : cache / kInsideCpuCache;
  }
  // A quarter above the cache, as caches are not perfectly LRU.
  return cache / 4 * 5;
}

}  // namespace

OpenClArena::OpenClArena(const OpenClSession& session, const DeviceFacts& facts,
                         const Argument& argument, uint64_t seed)
    : session_(session),
      type_(argument.type),
      is_input_(argument.role == ArgumentRole::kInput),
      max_bytes_(MaxAllocation(session.device)),
      seed_(seed) {
  if (argument.cold && is_input_) cold_bytes_ = ColdBytes(session, facts);
}

absl::Status OpenClArena::Reserve(size_t bytes) {
  const size_t slice = RoundUp(bytes, kSliceAlignment);
  if (slice > max_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a buffer of ", bytes, " bytes is larger than the ",
                     max_bytes_, " that the device allocates at once"));
  }
  const size_t wanted = std::min(max_bytes_, slice + cold_bytes_);
  if (memory_ && wanted <= size_) return absl::OkStatus();
  memory_ = OpenClBuffer();
  cursor_ = 0;
  // Powers of two, so that growing problems do not fill it again and again;
  // where that is too much, less rotation rather than none.
  size_ = std::min(max_bytes_, std::bit_ceil(slice) + cold_bytes_);
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
  if (cold_bytes_ > 0) {
    // Not over all of a memory that an earlier, larger problem wanted: how cold
    // a slice is must not depend on what was measured before.
    cursor_ += slice;
    if (cursor_ + slice > std::min(size_, slice + cold_bytes_)) cursor_ = 0;
  }
  const cl_buffer_region region = {cursor_, std::min(slice, size_ - cursor_)};
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
