// AgentDevice: a device behind an agent's stream, as jobs see it.
//
// A job's thread blocks in Prepare or Measure while the stream's thread hands
// over what the agent reports. One batch at a time, as the job queue promises.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_AGENTS_AGENT_DEVICE_H_
#define WAVETUNE_SERVER_AGENTS_AGENT_DEVICE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/recent_map.h"
#include "proto/wavetune/v1/agent_service.pb.h"
#include "server/agents/device_health.h"
#include "server/jobs/measurement_executor.h"

namespace wavetune {

class AgentDevice : public MeasurementExecutor {
 public:
  // What the devices of one stream share.
  struct Stream {
    std::function<void(v1::AttachResponse)> send;  // Never blocks.
    std::function<void(const absl::Status&)> end;  // Ends the stream.
    std::string agent_name;
    double heartbeat_timeout_s = 30;
    // Others must have left the device for so long.
    double idle_grace_s = 5;
    std::atomic<uint64_t> next_batch_id = 1;
    // When the last message came, by the steady time.
    std::atomic<int64_t> last_message_us = 0;

    // The stream is being ended, as the agent was silent.
    std::atomic<bool> ended = false;

    // Fingerprints of the kernels that the agent keeps. Held until a batch that
    // carries or names one is sent, so that both ends see the same order.
    std::mutex kernels_mutex;
    RecentMap<bool> kernels;  // Guarded by kernels_mutex.

    void Touch();
    // Seconds since the last message.
    double SilentForS() const;
    // True when the agent has been silent for longer than the timeout, also
    // where it speaks again since.
    bool Silent() const;
  };

  AgentDevice(DeviceFacts facts, std::shared_ptr<Stream> stream);

  DeviceFacts device() const override;
  absl::Status Prepare(const KernelFiles& kernel,
                       const std::string& specialisation,
                       const std::vector<Configuration>& configurations,
                       const std::vector<Problem>& correctness_problems,
                       IfBusy if_busy,
                       const CandidateCallback& on_candidate) override;
  absl::Status Measure(const KernelFiles& kernel,
                       const std::vector<MeasureItem>& items, IfBusy if_busy,
                       const OutcomeCallback& on_outcome) override;
  std::string AwaitIdle(double timeout_s) override;
  std::string WhyHot() override;
  void AcknowledgeStored(int64_t count) override;
  void CancelBatch() override;

  const std::string& agent_name() const { return stream_->agent_name; }
  bool silent() const { return stream_->Silent(); }
  double silent_for_s() const { return stream_->SilentForS(); }
  double heartbeat_timeout_s() const { return stream_->heartbeat_timeout_s; }

  // Ends the stream of an agent that has hung. Returns whether it has.
  bool EndIfSilent();

  // Hands over a report of a batch. Returns false where it is of no running
  // batch of this device: a late one after a cancellation. Errors:
  // RESOURCE_EXHAUSTED where the batch had more reports than it can have.
  absl::StatusOr<bool> Deliver(uint64_t batch_id, v1::AttachRequest report);

  // Why the device cannot be used; empty where it can.
  std::string problem() const;
  void SetProblem(const std::string& problem);

  // What the device does; nullopt where it does not say, or not lately.
  std::optional<DeviceState> state() const;
  void SetState(DeviceState state);

  // The device is the same, under another power limit.
  void SetFacts(DeviceFacts facts);

  // The stream has ended: a running batch ends as UNAVAILABLE.
  void Close(const std::string& why);

 private:
  // Returns false to cancel.
  using ReportHandler = std::function<bool(const v1::AttachRequest&)>;

  // Sends `request`, a batch of `items` without number and kernel, and hands
  // reports to `handler` until the batch is done.
  absl::Status RunBatch(const KernelFiles& kernel,
                        const v1::AttachResponse& request, size_t items,
                        IfBusy if_busy, const ReportHandler& handler);
  // The same, once. Errors: also NOT_FOUND where the agent does not keep the
  // kernel after all; then the next batch carries it.
  absl::Status TryBatch(const KernelFiles& kernel,
                        const v1::AttachResponse& request, size_t items,
                        const ReportHandler& handler);
  // Sends the batch, by its kernel's fingerprint where the agent keeps that.
  void SendBatch(const KernelFiles& kernel, v1::AttachResponse request,
                 uint64_t batch_id);
  // Waits for the next report. Returns an error where none will come.
  absl::Status NextReport(v1::AttachRequest* report);
  // Asks the agent to end the running batch. Holds mutex_.
  void CancelBatchLocked();
  void SendCancel();  // Once more does no harm. Holds mutex_.
  // The state while it is fresh. Holds mutex_.
  const DeviceState* FreshState() const;
  void TakeHeat(const Sample& sample);
  // Why the running batch should end, for others or for heat. Holds mutex_.
  std::string WhyYield() const;
  // Why the device should be left alone, and a while after. Holds mutex_.
  std::string BusyNow() const;

  const std::shared_ptr<Stream> stream_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  DeviceFacts facts_;
  uint64_t batch_id_ = 0;       // The running batch's; 0: none.
  uint64_t last_batch_id_ = 0;  // Samples are acknowledged after its end too.
  std::deque<v1::AttachRequest> inbox_;
  uint64_t reports_left_ = 0;  // That the running batch may still have.
  IfBusy if_busy_ = IfBusy::kGoOn;
  std::string yielded_;  // Not empty: why the running batch yields.
  std::optional<DeviceState> state_;
  Clock::Duration state_at_{0};
  std::string last_busy_;
  Clock::Duration busy_at_{0};
  DeviceHealth health_;
  bool cancelling_ = false;
  Clock::Duration cancelled_at_{0};
  std::string problem_;
  std::string closed_;  // Not empty: why the stream has ended.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_AGENTS_AGENT_DEVICE_H_
