// UsualCheckMemory: where arguments of checked launches lie on any device, each
// a part of a larger allocation.
//
// `Session` as for measured_buffers.h.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_USUAL_CHECK_MEMORY_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_USUAL_CHECK_MEMORY_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/input_file.h"
#include "base/status_macros.h"
#include "profiler_agent/measure/measured_buffers.h"
#include "profiler_agent/measure/result_check.h"

namespace wavetune {

// Whatever a session's CheckMemory allocates.
template <DriverMemory Session>
class SessionCheckBuffer : public CheckBuffer {
 public:
  // The argument, without guards.
  virtual const typename Session::Slice& argument() const = 0;
};

template <DriverMemory Session>
class UsualCheckBuffer : public SessionCheckBuffer<Session> {
 public:
  UsualCheckBuffer(const Session& session, typename Session::Memory whole,
                   typename Session::Slice argument, size_t bytes)
      : session_(session),
        whole_(std::move(whole)),
        argument_(std::move(argument)),
        bytes_(bytes) {}

  const typename Session::Slice& argument() const override { return argument_; }

  absl::Status Write(absl::string_view whole) override {
    return CopyToDevice(session_, whole_.get(), whole);
  }

  absl::Status Restore(absl::string_view whole) override {
    if (!Session::kRestoresOnDevice) return Write(whole);
    if (!copy_) {
      ASSIGN_OR_RETURN(typename Session::Memory copy,
                       AllocateMemory(session_, bytes_));
      RETURN_IF_ERROR(CopyToDevice(session_, copy.get(), whole));
      copy_ = std::move(copy);
    }
    return CopyOnDevice(session_, copy_.get(), whole_.get(), 0, bytes_);
  }

  absl::StatusOr<std::string> Read() override {
    return CopyToHost(session_, whole_.get(), bytes_);
  }

 private:
  const Session& session_;
  const typename Session::Memory whole_;
  const typename Session::Slice argument_;  // A part of it.
  const size_t bytes_;                      // The whole has so many.
  typename Session::Memory copy_;  // The content; from its first use on.
};

template <DriverMemory Session>
class UsualCheckMemory : public CheckMemory {
 public:
  // `session` outlives it.
  explicit UsualCheckMemory(const Session& session) : session_(session) {}

  absl::StatusOr<std::unique_ptr<CheckBuffer>> Allocate(
      const Argument& argument, size_t bytes) override {
    const Guards guards = GuardsOf(argument, bytes);
    const size_t size = guards.front + bytes + guards.behind;
    absl::StatusOr<typename Session::Memory> whole =
        AllocateMemory(session_, size);
    if (!whole.ok()) return AtPath(whole.status(), argument.name);
    ASSIGN_OR_RETURN(typename Session::Slice slice,
                     SliceOf(session_, whole->get(), guards.front, bytes));
    return std::make_unique<UsualCheckBuffer<Session>>(
        session_, *std::move(whole), std::move(slice), size);
  }

 private:
  const Session& session_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_USUAL_CHECK_MEMORY_H_
