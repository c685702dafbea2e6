// JobDevice: a job's way to its device.
//
// Stores every outcome before it is acknowledged, waits for an agent that went
// away and goes on with what is left, and keeps to the device-time budget. What
// a job measured is on disk whatever happens next.
//
//   JobDevice device(services, &control);
//   ASSIGN_OR_RETURN(DeviceFacts facts, device.Acquire());
//   device.Bind(kernel, key, generation);
//   RETURN_IF_ERROR(device.Prepare("", configurations, problems, on_record));
//   ASSIGN_OR_RETURN(auto results, device.Measure(items));
//
// Thread safety: none; used by the job's worker thread.
#ifndef WAVETUNE_SERVER_JOBS_JOB_DEVICE_H_
#define WAVETUNE_SERVER_JOBS_JOB_DEVICE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "server/catalog/kernel_catalog.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_services.h"
#include "server/jobs/measurement_executor.h"
#include "server/store/records.h"

namespace wavetune {

class JobDevice {
 public:
  // What became of one item. Neither set: the budget ended before it.
  struct Result {
    std::optional<Sample> sample;
    std::string failure;
    bool excluded = false;  // The candidate must not be used again.
  };
  // May change what is stored.
  using RecordCallback = std::function<void(CandidateRecord&)>;
  // Why candidates could not be prepared, by specialisation and configuration.
  using Unprepared =
      std::map<std::pair<std::string, Configuration>, std::string>;
  using ResultCallback = std::function<void(size_t index, const Result&)>;

  // Both outlive this.
  JobDevice(const JobServices& services, JobControl* control);

  // Waits for the device's agent and returns the device's facts. Errors:
  // CANCELLED; UNAVAILABLE after JobServices::agent_wait_s.
  absl::StatusOr<DeviceFacts> Acquire();

  // Sets what later calls compile and measure, and where outcomes are stored.
  void Bind(std::shared_ptr<const TunableKernel> kernel, ProfileKey key,
            uint64_t generation);

  // Samples of this job may use so much device time; 0: no limit.
  void SetDeviceTimeLimit(double limit_us) { device_time_limit_us_ = limit_us; }
  // True once the limit ended a batch.
  bool budget_spent() const { return budget_spent_; }

  // Whether a candidate that crashes or hangs at one problem is stored as
  // excluded, for every job and problem; as it is at first.
  void SetStoresExclusions(bool stores) { stores_exclusions_ = stores; }

  // Compiles and checks configurations; each one's record is given to
  // `on_record` and stored soon after, at the latest when this returns. One for
  // which something ran out on the device's host has no record: the next job
  // tries it again. Errors:
  // CANCELLED; UNAVAILABLE when the agent stayed away; FAILED_PRECONDITION when
  // the device came back as another one; the store's.
  absl::Status Prepare(const std::string& specialisation,
                       const std::vector<Configuration>& configurations,
                       const std::vector<Problem>& correctness_problems,
                       const RecordCallback& on_record);

  // Returns what had no record for that reason.
  const Unprepared& unprepared() const { return unprepared_; }
  // "; 22 candidates could not be compiled and checked, the first: ..."; empty
  // where there are none.
  std::string UnpreparedText() const;

  // Measures items; `on_result` hears of each, stored or about to be. Returns
  // the results in the order of `items`. A candidate that crashed is stored as
  // excluded. Errors: as Prepare.
  absl::StatusOr<std::vector<Result>> Measure(
      const std::vector<MeasureItem>& items,
      const ResultCallback& on_result = nullptr);

 private:
  // Says in the record what the job waits for.
  void ShowWaiting(const std::string& why);
  // Returns an error if the device is no longer the one that was bound.
  absl::Status CheckSameDevice(const MeasurementExecutor& executor) const;
  // Waits until nobody else uses the device, unless the job measures even then;
  // the job says what it waits for. Errors: CANCELLED.
  absl::Status AwaitIdle();
  MeasurementExecutor::IfBusy if_busy() const;
  // Runs `attempt` until it needs no other one: waits for an agent that went
  // away, gives up after attempts without progress.
  absl::Status RunToEnd(
      const std::function<absl::Status(MeasurementExecutor&)>& attempt,
      const std::function<size_t()>& left);
  // Stores what is pending; acknowledges it.
  absl::Status Flush();
  void AddSample(const MeasureItem& item, const Sample& sample);
  bool OverBudget() const;
  bool FlushIsDue() const;

  const JobServices& services_;
  JobControl* const control_;
  std::shared_ptr<MeasurementExecutor> executor_;
  std::shared_ptr<const TunableKernel> kernel_;
  ProfileKey key_;
  uint64_t generation_ = 0;
  double device_time_limit_us_ = 0;
  double device_time_us_ = 0;
  bool budget_spent_ = false;
  bool stores_exclusions_ = true;
  Unprepared unprepared_;
  // Outcomes that are not on disk yet.
  std::vector<SampleRecord> pending_samples_;
  std::vector<CandidateRecord> pending_candidates_;
  int64_t acknowledged_ = 0;  // Samples of the running batch.
  int64_t last_flush_us_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_JOB_DEVICE_H_
