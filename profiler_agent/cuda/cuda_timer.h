// CudaTimer: device times of launches that never wait for the host.
//
// A burst is enqueued behind a kernel that holds the stream until the host says
// go, with an event after each group of launches. Why hold: where the host
// stalls between two events (a lazy load, a busy core), the time between them
// is the stall's. Why groups: an event keeps a launch from starting while the
// one before it ends, which a graph of kernels does not. So a short launch
// would be measured as a longer one (docs/decisions/0025).
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_TIMER_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_TIMER_H_

#include <cuda.h>

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_agent/cuda/cuda_compiler.h"
#include "profiler_agent/cuda/cuda_handle.h"
#include "profiler_agent/cuda/cuda_kernel.h"
#include "profiler_agent/cuda/cuda_memory.h"
#include "profiler_agent/cuda/sm_clock.h"

namespace wavetune {

// Returns how many launches of about `launch_us` microseconds make a group of
// which the events around it are one per cent, but no more than 16. Pure.
int LaunchesPerGroup(double launch_us);

class CudaTimer {
 public:
  // Compiles the kernel that holds the stream. Errors: as CudaCompiler and
  // CudaStatus.
  static absl::StatusOr<CudaTimer> Create(const CudaSession& session,
                                          const CudaCompiler& compiler);

  // Enqueues one launch. Must not allocate or load: that may wait for the
  // stream, which waits for the end of the enqueueing.
  using LaunchOne = std::function<absl::Status()>;

  // Launches `count` times, >= 1, waits, and returns the device time of all
  // together in microseconds. Errors: of `launch`; as Finish.
  absl::StatusOr<double> TimeTogether(int count, const LaunchOne& launch);

  // Launches `count` groups of `group` launches, both >= 1, and returns the
  // mean device time of a launch of each group in microseconds. `while_running`
  // is called once they run (the first few, of a long burst). Errors: of
  // `launch`; as Finish; INTERNAL for a time that is not positive.
  absl::StatusOr<std::vector<double>> TimeGroups(
      int count, int group, const LaunchOne& launch,
      const std::function<void()>& while_running);

  // Returns whether, since the last call, launches began before all of their
  // burst were enqueued, as the host took more than two seconds for that.
  bool TakeStalled();

  // Returns the mean clock of the multiprocessors, in MHz, over the groups that
  // were timed since the last call; 0 where it is not known.
  double TakeClockMhz();

 private:
  explicit CudaTimer(const CudaSession& session) : session_(session) {}

  absl::Status ReserveEvents(size_t count);
  absl::Status Record(size_t event);
  absl::StatusOr<double> MicrosecondsBetween(size_t first, size_t last);
  absl::Status CloseGate();
  void SetGate(bool open);
  absl::Status EnqueueBurst(int groups, int group, const LaunchOne& launch);

  CudaSession session_;
  CudaKernel hold_;
  // Two ints: 0 holds; 1 where the hold gave up.
  CudaMappedMemory gate_;
  std::optional<SmClock> clock_;  // Set by Create.
  SmClock::Span span_;
  std::vector<CudaEvent> events_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_TIMER_H_
