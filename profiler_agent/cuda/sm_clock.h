// SmClock: the clock that the multiprocessors really had while launches ran, as
// they counted it themselves.
//
//   clock.Read(SmClock::Mark::kBegin); ...launches...; clock.Read(kEnd);
//   // wait for the stream
//   std::optional<SmClock::Span> span = clock.Read();
//
// Why not NVML: at the power limit its clock is too high and does not follow
// what moves latencies. Latency times the clock counted here is nearly constant
// (docs/decisions/0012).
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_SM_CLOCK_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_SM_CLOCK_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_agent/cuda/cuda_compiler.h"
#include "profiler_agent/cuda/cuda_handle.h"
#include "profiler_agent/cuda/cuda_kernel.h"
#include "profiler_agent/cuda/cuda_memory.h"

namespace wavetune {

class SmClock {
 public:
  enum class Mark : uint8_t { kBegin, kEnd };

  // Cycles in so much time, sums over the looks of all multiprocessors.
  struct Span {
    double cycles = 0;
    double nanoseconds = 0;

    void Add(const Span& other) {
      cycles += other.cycles;
      nanoseconds += other.nanoseconds;
    }
    // Returns the mean clock in MHz; 0 of nothing.
    double Mhz() const {
      return nanoseconds > 0 ? 1e3 * cycles / nanoseconds : 0;
    }
  };

  // Compiles the kernel that looks. Errors: as CudaCompiler and CudaStatus.
  static absl::StatusOr<SmClock> Create(const CudaSession& session,
                                        const CudaCompiler& compiler);

  // Enqueues a look, a launch of about 4 us. Errors: as CudaStatus.
  absl::Status Read(Mark mark);

  // Returns what lay between the last two looks, which ran; nothing where no
  // multiprocessor took both. Cannot fail.
  std::optional<Span> Read() const;

 private:
  explicit SmClock(const CudaSession& session) : session_(session) {}

  size_t Blocks() const;

  CudaSession session_;
  CudaKernel look_;
  CudaMappedMemory looks_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_SM_CLOCK_H_
