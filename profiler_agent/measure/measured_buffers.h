// MeasuredBuffers: the memory behind a kernel's buffer arguments while it is
// measured, on any device.
//
// One allocation an argument, filled with random values once, serves every
// problem: a sample would otherwise spend more time on filling buffers than on
// launches. What kernels write into is filled again for each measurement. A
// cold argument gets another slice for each launch (serving reads weights
// cold), over what slice_rotation.h says of the cache.
//
// `Session` is a backend's driver with an open device. It names two types,
// Memory (owns an allocation, movable, has get()) and Slice (what a launch is
// given), and has the functions that DriverMemory lists. AllocatableNow is
// the free memory (kTellsWhatIsFree), or a limit that never changes.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_MEASURED_BUFFERS_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_MEASURED_BUFFERS_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "model/kernel/argument.h"
#include "model/kernel/device.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/buffer_fill.h"
#include "profiler_agent/measure/buffer_values.h"
#include "profiler_agent/measure/slice_rotation.h"

namespace wavetune {

// What a backend's session does with memory. Copies to and from the device are
// done when they return; the rest is enqueued, in order.
template <typename Session>
concept DriverMemory = requires(const Session& session,
                                const typename Session::Memory& memory,
                                absl::string_view content, size_t bytes) {
  // What one allocation may have; less may be left a moment later.
  { AllocatableNow(session) } -> std::same_as<absl::StatusOr<size_t>>;
  // The error where `bytes` are too many.
  { TooLittleMemory(session, bytes) } -> std::same_as<absl::Status>;
  {
    AllocateMemory(session, bytes)
    } -> std::same_as<absl::StatusOr<typename Session::Memory>>;
  // From an offset on, so many bytes.
  {
    SliceOf(session, memory.get(), bytes, bytes)
    } -> std::same_as<absl::StatusOr<typename Session::Slice>>;
  {
    CopyToDevice(session, memory.get(), content)
    } -> std::same_as<absl::Status>;
  {
    CopyToHost(session, memory.get(), bytes)
    } -> std::same_as<absl::StatusOr<std::string>>;
  // From the beginning of one to an offset in another, so many bytes.
  {
    CopyOnDevice(session, memory.get(), memory.get(), bytes, bytes)
    } -> std::same_as<absl::Status>;
  { WriteZeros(session, memory.get(), bytes) } -> std::same_as<absl::Status>;
  { Finish(session) } -> std::same_as<absl::Status>;
};

// One argument's.
template <DriverMemory Session>
class RotatingBuffer {
 public:
  // `seed` is of the random content. Both outlive it.
  RotatingBuffer(const Session& session, const DeviceFacts& facts,
                 const Argument& argument, uint64_t seed)
      : session_(session),
        facts_(facts),
        rotation_(ColdBytesOf(argument, facts, IsCpu(facts))),
        fill_(argument, seed) {}

  // Makes room for slices of `bytes` that hold what a measurement begins with:
  // random values, within `below` where there is one (BelowOf), or the zeros of
  // a workspace. Where the device has no room for all of the rotation, it
  // rotates over less. Errors: RESOURCE_EXHAUSTED where there is none for a
  // slice, as Finish; the buffer is empty then.
  absl::Status Reserve(size_t bytes, std::optional<int64_t> below) {
    bytes_ = bytes;
    RETURN_IF_ERROR(MakeRoom(bytes));
    absl::Status filled = fill_.Fill(
        bytes, size_, below,
        [this](size_t own) { return WriteZeros(session_, memory_.get(), own); },
        [this](absl::string_view pattern, size_t own) {
          return WriteValues(pattern, own);
        });
    if (!filled.ok()) memory_ = {};
    return filled;
  }

  // Returns the slice for the next launch: always the first one, or for a cold
  // argument the one after the last. Errors: the driver's.
  absl::StatusOr<typename Session::Slice> Next() {
    return SliceOf(session_, memory_.get(), rotation_.Next(bytes_, size_),
                   bytes_);
  }

  // Overwrites the first slice.
  absl::Status Write(absl::string_view content) {
    return CopyToDevice(session_, memory_.get(), content);
  }

  size_t bytes() const { return bytes_; }  // A slice has so many.

 private:
  absl::Status MakeRoom(size_t bytes) {
    if (memory_ && rotation_.Suffices(bytes, size_)) return absl::OkStatus();
    if (memory_ && limited_ && rotation_.Fits(bytes, size_)) {
      ASSIGN_OR_RETURN(const bool worth_it, CanGrow(bytes));
      if (!worth_it) return absl::OkStatus();
    }
    memory_ = {};
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
      Log(LogLevel::kWarning, facts_.backend,
          absl::StrCat("too little device memory is free to rotate a cold "
                       "buffer of ",
                       bytes, " bytes fully; it may be read warm"));
    }
    return absl::OkStatus();
  }

  // How large the allocation should be where so much is allowed; 0: no room.
  size_t WantedBytes(size_t bytes, size_t allowed) const {
    // A rotation takes no more than half, or the other arguments had nothing.
    if (const size_t wanted = rotation_.WantedBytes(bytes, allowed / 2)) {
      return wanted;
    }
    constexpr size_t kMask = SliceRotation::kAlignment - 1;
    const size_t slice = (std::max<size_t>(bytes, 1) + kMask) & ~kMask;
    return slice <= allowed ? slice : 0;
  }

  // Whether there is room by now for (much more of) the rotation.
  absl::StatusOr<bool> CanGrow(size_t bytes) const {
    ASSIGN_OR_RETURN(const size_t allowed, AllocatableNow(session_));
    // The buffer's own memory is not free.
    const size_t held = Session::kTellsWhatIsFree ? size_ : 0;
    const size_t wanted = WantedBytes(bytes, allowed + held);
    // Not for a little more: it is filled anew.
    return rotation_.Suffices(bytes, wanted) || wanted >= 2 * size_;
  }

  absl::Status WriteValues(absl::string_view pattern, size_t bytes) {
    const absl::string_view first = pattern.substr(0, bytes);
    RETURN_IF_ERROR(Write(first));
    // The rest on the device: on GPUs a hundred times faster than over the bus.
    for (size_t at = first.size(); at < bytes; at += first.size()) {
      RETURN_IF_ERROR(CopyOnDevice(session_, memory_.get(), memory_.get(), at,
                                   std::min(first.size(), bytes - at)));
    }
    return Finish(session_);
  }

  const Session& session_;
  const DeviceFacts& facts_;
  SliceRotation rotation_;
  BufferFill fill_;
  typename Session::Memory memory_;
  size_t size_ = 0;
  size_t bytes_ = 0;
  bool limited_ = false;  // Memory had no room for all of the rotation.
};

// All of a kernel's.
template <DriverMemory Session>
class MeasuredBuffers {
 public:
  using Slices = std::map<size_t, typename Session::Slice>;  // By argument.

  // Both outlive it.
  MeasuredBuffers(const Session& session, const DeviceFacts& facts)
      : session_(session), facts_(facts) {}

  // Frees all, before another kernel.
  void Clear() { buffers_.clear(); }

  // Makes room for launches at a problem, and fills it. Errors: as
  // RotatingBuffer::Reserve; all is free then, and the next problem may fit.
  absl::Status Reserve(const KernelSpec& spec,
                       const Configuration& configuration,
                       const Problem& problem) {
    absl::Status status;
    for (size_t i = 0; i < spec.arguments.size() && status.ok(); ++i) {
      if (spec.arguments[i].role == ArgumentRole::kScalar) continue;
      status = ReserveOne(spec, i, configuration, problem);
    }
    if (!status.ok()) Clear();
    return status;
  }

  // Returns what the next launch uses. Errors: the driver's.
  absl::StatusOr<Slices> Next() {
    Slices slices;
    for (auto& [argument, buffer] : buffers_) {
      ASSIGN_OR_RETURN(slices[argument], buffer.Next());
    }
    return slices;
  }

  // Returns the bytes of a slice that was reserved.
  size_t bytes(size_t argument) const { return buffers_.at(argument).bytes(); }

 private:
  absl::Status ReserveOne(const KernelSpec& spec, size_t index,
                          const Configuration& configuration,
                          const Problem& problem) {
    const Argument& argument = spec.arguments[index];
    const uint64_t seed = index + 1;
    ASSIGN_OR_RETURN(const size_t bytes,
                     BufferBytes(argument, problem, configuration));
    RotatingBuffer<Session>& buffer =
        buffers_.try_emplace(index, session_, facts_, argument, seed)
            .first->second;
    RETURN_IF_ERROR(
        buffer.Reserve(bytes, BelowOf(argument, problem, configuration)));
    if (!FollowsElements(spec, argument)) return absl::OkStatus();
    return buffer.Write(InputValues(spec, argument, problem, configuration,
                                    bytes / ElementBytes(argument.type), seed));
  }

  const Session& session_;
  const DeviceFacts& facts_;
  std::map<size_t, RotatingBuffer<Session>> buffers_;  // By argument.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_MEASURED_BUFFERS_H_
