// DeviceHost: one device, its workers and the batches waiting for it.
//
// Batches of a device run one after the other, on a thread of their own.
// Preparing uses all workers, measuring the first only, so nothing of ours
// competes with a measurement on the same device. A device that was lost is
// probed until it is back; the daemon is told both.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_SESSION_DEVICE_HOST_H_
#define WAVETUNE_PROFILER_AGENT_SESSION_DEVICE_HOST_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "profiler_agent/backend.h"
#include "profiler_agent/session/batch_executor.h"

namespace wavetune {

struct DeviceHostOptions {
  // The same device, in several workers; the first measures. At least one.
  std::vector<std::unique_ptr<Device>> workers;
  // Tries to bring a lost device back.
  std::function<absl::Status()> probe = [] { return absl::OkStatus(); };
  std::chrono::milliseconds probe_interval{5'000};
};

class DeviceHost {
 public:
  DeviceHost(DeviceHostOptions options, ReportSink report);
  // Cancels everything and waits for the running burst.
  ~DeviceHost();

  const DeviceFacts& facts() const { return workers_.front()->facts(); }

  // Why the device cannot be used now; empty when it can.
  std::string problem() const;

  // Queues a batch; its reports go to the sink.
  void Submit(v1::PrepareBatch batch);
  void Submit(v1::MeasureBatch batch);

  // Cancels a batch: one that waits is done at once, the running one after the
  // current burst. Unknown ids are ignored (it may just be done).
  void Cancel(uint64_t batch_id);
  void CancelAll();

  // Blocks until nothing runs or waits.
  void WaitUntilIdle();

 private:
  struct Job {
    uint64_t batch_id = 0;
    std::function<absl::Status(const std::stop_token&)> run;
    std::stop_source cancel;
  };

  void Enqueue(uint64_t batch_id,
               std::function<absl::Status(const std::stop_token&)> run);
  void Work(const std::stop_token& stop);
  void SetProblem(const std::string& problem);

  std::vector<std::unique_ptr<Device>> workers_;
  std::vector<Device*> pool_;
  std::function<absl::Status()> probe_;
  std::chrono::milliseconds probe_interval_;
  ReportSink report_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Job> waiting_;
  Job running_;
  bool busy_ = false;
  std::string problem_;
  std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_SESSION_DEVICE_HOST_H_
