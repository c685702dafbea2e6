// RemoteDevice: a Device in a worker process, watched over.
//
//   RemoteDevice device({.command = {"wavetune-agent", "worker", "--backend",
//                                    "opencl"},
//                        .facts = facts, .cache_dir = "/var/cache/wavetune"});
//
// The worker is started when first needed. It is killed when it does not answer
// in time or reports that the device is lost or a launch failed. After a crash
// or a kill it is started again, the device opened and the kernel loaded as
// before. A worker that cannot be started is tried again with growing pauses,
// and given up after several attempts in a row.
//
// Thread safety: one thread, as for any Device.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_REMOTE_DEVICE_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_REMOTE_DEVICE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/recent_map.h"
#include "profiler_agent/measure/backend.h"
#include "profiler_agent/measure/throttle_episode.h"
#include "profiler_agent/worker/worker_process.h"

namespace wavetune {

struct RemoteDeviceOptions {
  std::vector<std::string> command;  // The worker's.
  DeviceFacts facts;                 // As enumerated.
  std::string cache_dir;
  // A worker that prepares is so many steps of nice(2) below this process, one
  // that measures is not: it is started anew where the same device does both.
  int prepare_nice = 0;
  std::chrono::milliseconds start_timeout{30'000};
  // PoCL and NVRTC need seconds at most for sane kernels; a check launches too.
  std::chrono::milliseconds prepare_timeout{120'000};
  std::chrono::milliseconds measure_timeout{60'000};
  int max_failed_starts = 5;  // In a row.
  Clock* clock = &SystemClock();
};

// Returns whether both are the same device under the same driver. The power
// limit may be another one: that may change at any time, and is the environment
// key's matter. Cannot fail.
bool SameDevice(const DeviceFacts& a, const DeviceFacts& b);

class RemoteDevice : public Device {
 public:
  explicit RemoteDevice(RemoteDeviceOptions options);
  ~RemoteDevice() override {
    SayThrottling(throttling_.End(clock_.SteadyNow()));
  }

  const DeviceFacts& facts() const override { return options_.facts; }

  // Remembers the kernel; the worker gets it with the next call that needs it.
  // Cannot fail: what is wrong with it shows then.
  absl::Status Load(LoadedKernel kernel) override;

  // Errors, besides Device's: ABORTED the worker crashed (with the signal and
  // its last line), or the device was lost or a launch failed in two processes
  // one after the other. RESOURCE_EXHAUSTED something ran out, or somebody else
  // killed the worker twice (environment_error.h). DEADLINE_EXCEEDED it hung.
  // UNAVAILABLE it cannot be started, also as NotTried. UNIMPLEMENTED it
  // crashed or hung in the reference, whatever the candidate.
  absl::StatusOr<Candidate> Prepare(
      const Configuration& configuration,
      const std::vector<Problem>& correctness_problems) override;
  absl::StatusOr<LaunchTimes> Measure(const Configuration& configuration,
                                      const Problem& problem, int warmup,
                                      int launches) override;
  absl::StatusOr<LaunchTimes> MeasureVendorBaseline(const std::string& library,
                                                    const Problem& problem,
                                                    int warmup,
                                                    int launches) override;
  // Starts the worker, with the kernel, unless one of that use runs.
  void WarmUp(Use use) override;
  // Ends the worker.
  void Release() override;

  // Starts the worker unless it runs. Errors: UNAVAILABLE.
  absl::Status Start();

  // Starts the worker anew, so that it opens the device again. Errors:
  // UNAVAILABLE.
  absl::Status Reopen();

  // Lists what the worker's backend can open. Errors: as Prepare.
  absl::StatusOr<Backend::Enumeration> Enumerate();

  // Process id of the running worker, or -1.
  pid_t worker_pid() const;

 private:
  // `measure` says what; the rest is filled in.
  absl::StatusOr<LaunchTimes> CallMeasure(v1::WorkerMeasure measure,
                                          const Problem& problem, int warmup,
                                          int launches);
  absl::StatusOr<v1::WorkerResponse> CallLoaded(
      const v1::WorkerRequest& request, int nice,
      std::chrono::milliseconds timeout);
  // Ends a worker of another use.
  void SetNice(int nice);
  absl::Status StartOnce();
  // Returns why a worker was killed by somebody else: for want of memory, where
  // the kernel says so.
  absl::Status Killed(const absl::Status& how) const;
  absl::Status EnsureLoaded();
  // Sends the kernel, by its fingerprint where the worker keeps it.
  absl::StatusOr<v1::WorkerLoaded> SendKernel();
  absl::StatusOr<v1::WorkerResponse> Call(const v1::WorkerRequest& request,
                                          std::chrono::milliseconds timeout);
  static void SayThrottling(const std::string& line);

  RemoteDeviceOptions options_;
  Clock& clock_;
  std::unique_ptr<WorkerProcess> worker_;
  std::optional<LoadedKernel> kernel_;
  int nice_ = 0;         // The worker's that runs, or is started next.
  bool loaded_ = false;  // The running worker has the kernel.
  // What the running worker keeps, by fingerprint: LoadedKernel::source_bytes.
  RecentMap<std::shared_ptr<const std::string>> kept_;
  bool given_up_ = false;  // The next start has one attempt.
  int64_t oom_kills_ = 0;  // Our cgroup's when the worker was started.
  // Here and not in the worker: that may be killed before it has summed up.
  ThrottleEpisode throttling_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_REMOTE_DEVICE_H_
