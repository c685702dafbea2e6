#include "profiler_agent/cuda/cuda_check.h"

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "profiler_agent/cuda/cuda_memory.h"
#include "profiler_agent/cuda/cuda_status.h"

namespace wavetune {
namespace {

class CudaCheckBuffer : public CheckBuffer {
 public:
  CudaCheckBuffer(const CudaSession& session, CudaMemory whole,
                  const Guards& guards, size_t bytes)
      : session_(session),
        whole_(std::move(whole)),
        guards_(guards),
        bytes_(guards.front + bytes + guards.behind) {}

  CUdeviceptr argument() const { return whole_.get() + guards_.front; }

  absl::Status Write(absl::string_view whole) override {
    return CopyToDevice(session_, whole_.get(), whole);
  }

  // From a copy on the device: outputs are poisoned before every launch, and
  // the bus would take longer than the launch.
  absl::Status Restore(absl::string_view whole) override {
    if (!copy_) {
      ASSIGN_OR_RETURN(copy_, AllocateWith(session_, whole));
    }
    return CudaRunStatus(
        session_.driver->cuMemcpyDtoDAsync(whole_.get(), copy_.get(), bytes_,
                                           session_.stream),
        "poisoning an output");
  }

  absl::StatusOr<std::string> Read() override {
    return CopyToHost(session_, whole_.get(), bytes_);
  }

 private:
  const CudaSession& session_;
  const CudaMemory whole_;
  const Guards guards_;
  const size_t bytes_;  // Of the whole.
  CudaMemory copy_;     // Of what it held at first; from its first use on.
};

}  // namespace

absl::StatusOr<std::unique_ptr<CheckBuffer>> CudaCheckMemory::Allocate(
    const Argument& argument, size_t bytes) {
  const Guards guards = GuardsOf(argument, bytes);
  ASSIGN_OR_RETURN(
      CudaMemory whole,
      AllocateMemory(session_, guards.front + bytes + guards.behind));
  return std::make_unique<CudaCheckBuffer>(session_, std::move(whole), guards,
                                           bytes);
}

CheckedLaunch OnCheckBuffers(const CudaSession& session,
                             LaunchOnBuffers launch) {
  return [&session, launch = std::move(launch)](const CheckBuffers& buffers) {
    CudaBuffers addresses;
    for (const auto& [argument, buffer] : buffers) {
      addresses[argument] =
          static_cast<const CudaCheckBuffer*>(buffer)->argument();
    }
    RETURN_IF_ERROR(launch(addresses));
    return Finish(session);
  };
}

}  // namespace wavetune
