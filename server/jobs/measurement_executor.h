// MeasurementExecutor: the job runner's view of a device with an agent.
//
// The real one is a session of AgentService (server/agents/agent_session.h);
// tests use FakeMeasurementExecutor, which answers from a function.
#ifndef WAVETUNE_SERVER_JOBS_MEASUREMENT_EXECUTOR_H_
#define WAVETUNE_SERVER_JOBS_MEASUREMENT_EXECUTOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/kernel/device.h"
#include "model/kernel/measure_item.h"
#include "model/kernel/sample.h"
#include "wavetune/configuration.h"
#include "wavetune/dimension.h"
#include "wavetune/problem.h"

namespace wavetune {

namespace v1 {
class KernelSource;
}  // namespace v1

// A kernel's folder as the daemon read it; what a fingerprint stands for. The
// executor sends it on, jobs do not look inside.
struct KernelFiles {
  std::string name;
  std::string fingerprint;
  std::vector<Dimension> dimensions;
  // Manifest and sources, without a fingerprint. Not nullptr where an agent
  // gets it.
  std::shared_ptr<const v1::KernelSource> source;
};

class MeasurementExecutor {
 public:
  // What a batch does when others begin to use the device.
  enum class IfBusy { kYield, kGoOn };

  // What became of a configuration. `environment`: something ran out on the
  // device's host, so that nothing is known of the candidate; its
  // excluded_reason says what.
  struct Preparation {
    Candidate candidate;
    bool environment = false;
  };

  // Called from one thread at a time, never after the call that it belongs to
  // has returned. Returning false cancels the batch.
  using CandidateCallback = std::function<bool(const Preparation&)>;
  // Exactly one of sample and failure is set. `exclude` says that the candidate
  // crashed, hung or is wrong.
  struct Outcome {
    size_t index = 0;  // Into items.
    const Sample* sample = nullptr;
    std::string failure;
    bool exclude = false;
  };
  using OutcomeCallback = std::function<bool(const Outcome&)>;

  virtual ~MeasurementExecutor() = default;

  // Facts of the device.
  virtual DeviceFacts device() const = 0;

  // Compiles candidates and checks their results; blocks until all are
  // reported. Errors: CANCELLED after a callback returned false. UNAVAILABLE
  // when the agent or device went away. RESOURCE_EXHAUSTED when it yielded to
  // others (reported outcomes stay valid).
  virtual absl::Status Prepare(const KernelFiles& kernel,
                               const std::string& specialisation,
                               const std::vector<Configuration>& configurations,
                               const std::vector<Problem>& correctness_problems,
                               IfBusy if_busy,
                               const CandidateCallback& on_candidate) = 0;

  // Measures the items; blocks until all have an outcome. Errors: as Prepare.
  virtual absl::Status Measure(const KernelFiles& kernel,
                               const std::vector<MeasureItem>& items,
                               IfBusy if_busy,
                               const OutcomeCallback& on_outcome) = 0;

  // Waits up to `timeout_s` until nobody else uses the device. Returns why it
  // should still be left alone ("GPU-1 is used by 2 other processes"), or an
  // empty string: also where that is not known, or the agent is away.
  virtual std::string AwaitIdle(double timeout_s) = 0;

  // Returns why the device is too hot to be measured, or an empty string. A
  // batch that runs while it becomes so ends as one that yields, whatever
  // IfBusy says.
  virtual std::string WhyHot() = 0;

  // Tells the agent how many samples of the running batch are on disk. Cannot
  // fail.
  virtual void AcknowledgeStored(int64_t count) = 0;

  // Ends the running batch: its Prepare or Measure then returns CANCELLED. Any
  // thread; no effect without a batch. Beside the callbacks' answers because a
  // long compilation reports nothing.
  virtual void CancelBatch() = 0;
};

// Finds devices with an agent.
class ExecutorDirectory {
 public:
  virtual ~ExecutorDirectory() = default;

  // Returns the executor of an attached device, or nullptr. Waits up to
  // `timeout_s` for one to attach.
  virtual std::shared_ptr<MeasurementExecutor> Find(
      const std::string& device_uuid, double timeout_s) = 0;

  // Returns why a device that Find does not return cannot be used now, for
  // people; empty where all that is known is that it has no agent.
  virtual std::string WhyUnusable(const std::string& device_uuid) = 0;

  // Returns the UUIDs of attached, usable devices, sorted.
  virtual std::vector<std::string> Attached() = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_MEASUREMENT_EXECUTOR_H_
