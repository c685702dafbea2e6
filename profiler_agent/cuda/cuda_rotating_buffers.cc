#include "profiler_agent/cuda/cuda_rotating_buffers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "profiler_agent/cuda/cuda_memory.h"
#include "profiler_agent/cuda/cuda_status.h"

namespace wavetune {

CudaRotatingBuffers::CudaRotatingBuffers(const CudaSession& session,
                                         const DeviceFacts& facts,
                                         const Argument& argument,
                                         uint64_t seed)
    : session_(session),
      rotation_(ColdBytesOf(argument, facts, /*is_cpu=*/false)),
      fill_(argument, seed) {}

absl::Status CudaRotatingBuffers::Reserve(size_t bytes,
                                          std::optional<int64_t> below) {
  RETURN_IF_ERROR(MakeRoom(bytes));
  absl::Status filled = fill_.Fill(
      bytes, size_, below,
      [this](size_t own) {
        return EnqueueZeroing(session_, memory_.get(), own);
      },
      [this](absl::string_view pattern, size_t own) {
        return WriteValues(pattern, own);
      });
  if (!filled.ok()) memory_ = CudaMemory();
  return filled;
}

absl::Status CudaRotatingBuffers::MakeRoom(size_t bytes) {
  if (memory_ && rotation_.Suffices(bytes, size_)) return absl::OkStatus();
  if (memory_ && limited_ && rotation_.Fits(bytes, size_)) {
    ASSIGN_OR_RETURN(const bool worth_it, CanGrow(bytes));
    if (!worth_it) return absl::OkStatus();
  }
  memory_ = CudaMemory();
  size_ = 0;
  rotation_.Reset();
  ASSIGN_OR_RETURN(const size_t allowed, AllocatableNow(session_));
  const size_t wanted = WantedBytes(bytes, allowed);
  if (wanted == 0) return TooLittleMemory(session_, bytes);
  ASSIGN_OR_RETURN(memory_, AllocateMemory(session_, wanted));
  size_ = wanted;
  fill_.Forget();
  limited_ = !rotation_.Suffices(bytes, size_);
  if (limited_) {
    Log(LogLevel::kWarning, "cuda",
        absl::StrCat("too little device memory is free to rotate a cold "
                     "buffer of ",
                     bytes, " bytes fully; it may be read warm"));
  }
  return absl::OkStatus();
}

size_t CudaRotatingBuffers::WantedBytes(size_t bytes, size_t allowed) const {
  // A rotation takes no more than half, or the other arguments had nothing.
  if (const size_t wanted = rotation_.WantedBytes(bytes, allowed / 2)) {
    return wanted;
  }
  constexpr size_t kMask = SliceRotation::kAlignment - 1;
  const size_t slice = (std::max<size_t>(bytes, 1) + kMask) & ~kMask;
  return slice <= allowed ? slice : 0;
}

absl::StatusOr<bool> CudaRotatingBuffers::CanGrow(size_t bytes) const {
  ASSIGN_OR_RETURN(const size_t allowed, AllocatableNow(session_));
  const size_t wanted = WantedBytes(bytes, allowed + size_);
  // Not for a little more: it is filled anew.
  return rotation_.Suffices(bytes, wanted) || wanted >= 2 * size_;
}

absl::Status CudaRotatingBuffers::WriteValues(absl::string_view pattern,
                                              size_t bytes) {
  const absl::string_view first = pattern.substr(0, bytes);
  RETURN_IF_ERROR(CopyToDevice(session_, memory_.get(), first));
  // The rest on the device: a hundred times faster than over the bus.
  for (size_t at = first.size(); at < bytes; at += first.size()) {
    const size_t part = std::min(first.size(), bytes - at);
    RETURN_IF_ERROR(CudaRunStatus(
        session_.driver->cuMemcpyDtoDAsync(memory_.get() + at, memory_.get(),
                                           part, session_.stream),
        "filling a buffer"));
  }
  return Finish(session_);
}

CUdeviceptr CudaRotatingBuffers::NextSlice(size_t bytes) {
  return memory_.get() + rotation_.Next(bytes, size_);
}

absl::Status CudaRotatingBuffers::Write(const std::string& content) {
  return CopyToDevice(session_, memory_.get(), content);
}

}  // namespace wavetune
