// DeviceHost: one device, its workers and the batches waiting for it.
//
// Batches of a device run one after the other, on a thread of their own.
// Of several workers the first measures and the others prepare. While these
// prepare, it gets ready; while it measures they are released, so nothing of
// ours competes with a measurement on the same device.
// Workers that have nothing to do for a while are ended: an idle agent takes no
// memory of a device, and no upgrade of its driver waits for it.
// A device that was lost is probed until it is back; the daemon is told both.
// One that has nothing to do is lost, too, where its telemetry says so.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_LINK_DEVICE_HOST_H_
#define WAVETUNE_PROFILER_AGENT_LINK_DEVICE_HOST_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "profiler_agent/link/batch_executor.h"
#include "profiler_agent/measure/backend.h"
#include "profiler_agent/measure/clock_settling.h"

namespace wavetune {

struct DeviceHostOptions {
  // The same device, in several workers; the first measures, and prepares where
  // there is no other. At least one.
  std::vector<std::unique_ptr<Device>> workers;
  // Tries to bring a lost device back.
  std::function<absl::Status()> probe = [] { return absl::OkStatus(); };
  std::chrono::milliseconds probe_interval{5'000};
  // Says what the device does; empty for a kind that does not.
  std::function<absl::StatusOr<DeviceState>()> read_telemetry;
  // Ends what watches the device, so that it holds no driver; empty for a kind
  // that does not.
  std::function<void()> stop_watching;
  // Workers are ended when they had nothing to do for so long: they hold the
  // device's memory and its driver.
  std::chrono::milliseconds idle_release{60'000};
  // After our last launch utilisation is ours for so long.
  std::chrono::milliseconds quiet_period{2'000};
  // Where others' processes cannot be seen, a batch waits for a quiet look when
  // the last one is older: a pause of two seconds in thirty.
  std::chrono::milliseconds quiet_look_interval{30'000};
};

class DeviceHost {
 public:
  // A daemon sends one batch at a time for a device.
  static constexpr size_t kMaxWaitingBatches = 16;

  using SharedKernel = std::shared_ptr<const LoadedKernel>;

  DeviceHost(DeviceHostOptions options, ReportSink report);
  // Cancels everything and waits for the running burst.
  ~DeviceHost();

  // As enumerated, but for a power limit that changed since.
  DeviceFacts facts() const;

  // Why the device cannot be used now; empty when it can.
  std::string problem() const;

  // How many batches have begun so far.
  int64_t batches() const;

  // Queues a batch of `kernel`, whatever the batch carries; its reports go to
  // the sink. Where kMaxWaitingBatches wait it is reported as done with that as
  // its error.
  void Submit(v1::PrepareBatch batch, SharedKernel kernel);
  void Submit(v1::MeasureBatch batch, SharedKernel kernel);

  // Cancels a batch: one that waits is done at once, the running one after the
  // current burst. Unknown ids are ignored (it may just be done).
  void Cancel(uint64_t batch_id);
  void CancelAll();

  // Looks at what the device does, and reports it, and a changed power limit;
  // nothing where the device does not say.
  void Watch();

  // Ends what watches the device, and the workers unless a batch runs; both
  // come back when they are needed. Waits for a look that has begun.
  void LetGo();

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
  // Waits until there is a batch, or something to do without one.
  void AwaitWork(std::unique_lock<std::mutex>& lock,
                 const std::stop_token& stop);
  // Probes a device that is lost, or releases the workers.
  void WorkIdle();
  // Runs a batch, on thread_.
  absl::Status Prepare(const v1::PrepareBatch& batch,
                       const LoadedKernel& kernel,
                       const std::stop_token& cancel);
  // Has the worker that measures get ready for a kernel, on a thread of its
  // own, unless that does so already. Does not wait.
  void BeginWarmUp(const LoadedKernel& kernel,
                   const std::string& specialisation);
  // Waits until the worker that measures may be used.
  void EndWarmUp();
  // Keeps why the device cannot be used, as `source` (a member below) knows it,
  // and reports where that changes whether, or why, it can.
  void SetProblem(std::string DeviceHost::*source, const std::string& known);
  const std::string& Problem() const;  // Holds mutex_.
  // Says once where looks fail.
  void SayLook(const absl::Status& status);
  void SetLaunching(bool launching);
  // No launch of ours for the quiet period. Holds mutex_.
  bool Quiet() const;
  // Looks while nothing of ours runs, where that is the way to see others.
  void WatchQuietly(const std::stop_token& cancel);
  // Takes the limit that `state` tells; returns whether it changed. Holds
  // mutex_.
  bool TakePowerLimit(const DeviceState& state);

  std::vector<std::unique_ptr<Device>> workers_;
  Device* const measuring_;
  std::vector<Device*> preparing_;  // measuring_ where there is no other.
  std::jthread warm_up_;            // Uses measuring_ while it is joinable.
  PowerCapHistory history_;         // Those of batches, which run on thread_.
  std::function<absl::Status()> probe_;
  std::chrono::milliseconds probe_interval_;
  std::function<absl::StatusOr<DeviceState>()> read_telemetry_;
  std::function<void()> stop_watching_;
  std::chrono::milliseconds idle_release_;
  std::chrono::milliseconds quiet_period_;
  std::chrono::milliseconds quiet_look_interval_;
  ReportSink report_;
  PrepareWidth width_;  // Batches', as history_.
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Job> waiting_;
  Job running_;
  bool busy_ = false;
  int64_t batches_ = 0;
  bool workers_run_ = false;  // As far as we know.
  bool let_go_ = false;       // Asked for, and not done.
  std::string problem_;       // That of batches; probes clear it.
  // Looks' problem, which they clear; alone it needs no probe.
  std::string seen_problem_;
  std::string look_failure_;  // The last look's, as it was logged.
  DeviceFacts facts_;
  bool launching_ = false;
  // When our last launch was, and the last look without any.
  std::optional<Clock::Duration> launched_at_;
  std::optional<Clock::Duration> quiet_look_at_;
  bool others_hidden_ = false;  // Only utilisation tells of them.
  std::string busy_reason_;
  std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_LINK_DEVICE_HOST_H_
