// JobDevice: a job's way to its device.
//
// Stores every outcome before it is acknowledged, waits for an agent that went
// away and goes on with the rest, and keeps to the device-time budget. What a
// job measured is on disk whatever happens next.
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

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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

class JobWait;

class JobDevice {
 public:
  // What became of one item. Neither set: the budget ended before it.
  struct Result {
    std::optional<Sample> sample;
    std::string failure;
    bool excluded = false;  // The candidate must not be used again.
  };
  // May change the record that is stored.
  using RecordCallback = std::function<void(CandidateRecord&)>;
  // Why candidates could not be prepared, by specialisation and configuration.
  using Unprepared =
      std::map<std::pair<std::string, Configuration>, std::string>;
  using ResultCallback = std::function<void(size_t index, const Result&)>;

  // What the devices of a job share: device time in microseconds.
  struct DeviceTime {
    std::atomic<double> used_us = 0;
    std::atomic<double> limit_us = 0;  // 0: none.

    bool spent() const {
      return limit_us.load() > 0 && used_us.load() >= limit_us.load();
    }
  };

  // The job's own device. Both outlive this.
  JobDevice(const JobServices& services, JobControl* control);
  // One of its devices (device_team.h).
  JobDevice(const JobServices& services, JobControl* control,
            std::string device_uuid, std::shared_ptr<DeviceTime> time);

  // Whether calls wait for a device that is away, used by others or hot; as
  // they do at first. Otherwise they end, as UNAVAILABLE or RESOURCE_EXHAUSTED.
  void SetPatient(bool patient) { patient_ = patient; }

  // Waits for the device's agent and returns the device's facts. Errors:
  // CANCELLED; UNAVAILABLE after JobServices::agent_wait_s.
  absl::StatusOr<DeviceFacts> Acquire();

  // Returns how long calls waited for the device in all, in seconds: for its
  // agent, for others to leave it, for it to cool.
  double waited_s() const { return waited_s_; }

  // Sets what later calls compile and measure, and where outcomes are stored.
  void Bind(std::shared_ptr<const TunableKernel> kernel, ProfileKey key,
            uint64_t generation);

  // Samples of this job may use so much device time; 0: no limit.
  void SetDeviceTimeLimit(double limit_us) { time_->limit_us.store(limit_us); }
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

  // Returns the candidates that had no record for that reason.
  const Unprepared& unprepared() const { return unprepared_; }
  // "; 22 candidates could not be compiled and checked, the first: ..."; empty
  // where there are none.
  std::string UnpreparedText() const;
  static std::string TextOf(const Unprepared& unprepared,
                            const TunableKernel* kernel);

  // Measures items; `on_result` hears of each, stored or about to be. Returns
  // the results in the order of `items`. A candidate that crashed is stored as
  // excluded. Errors: as Prepare.
  absl::StatusOr<std::vector<Result>> Measure(
      const std::vector<MeasureItem>& items,
      const ResultCallback& on_result = nullptr);

  // Ends what it runs, which then returns CANCELLED. Any thread.
  void Cancel();

 private:
  // Returns an error if the device is no longer the one that was bound.
  absl::Status CheckSameDevice(const MeasurementExecutor& executor) const;
  absl::Status AwaitAgent(JobWait& wait);
  // Waits until the device is cool and nobody else uses it, unless the job
  // measures even then; the job says what it waits for. Errors: CANCELLED;
  // FAILED_PRECONDITION where it stays hot; RESOURCE_EXHAUSTED at once where it
  // is not patient.
  absl::Status AwaitUsable(JobWait& wait);
  // Returns what the job says while it waits for this reason.
  std::string BusyText(const std::string& why) const;
  // The same of a device that is hot. Errors: it has been so for too long.
  absl::StatusOr<std::string> HotText(const std::string& why) const;
  MeasurementExecutor::IfBusy if_busy() const;
  // What Cancel, and the job's end, end.
  void SetRunning(const std::shared_ptr<MeasurementExecutor>& executor);
  // Runs `attempt` until it needs no other one: waits for an agent that went
  // away, gives up after attempts without progress.
  absl::Status RunToEnd(
      const std::function<absl::Status(MeasurementExecutor&)>& attempt,
      const std::function<size_t()>& left);
  // Stores pending records; acknowledges them.
  absl::Status Flush();
  void AddSample(const MeasureItem& item, const Sample& sample);
  bool FlushIsDue() const;

  const JobServices& services_;
  JobControl* const control_;
  const uint64_t job_id_;
  const std::string device_uuid_;
  const std::shared_ptr<DeviceTime> time_;
  bool patient_ = true;
  double hot_waited_s_ = 0;  // In all: one that is hot again and again is.
  double waited_s_ = 0;
  std::mutex running_mutex_;  // Cancel comes from another thread.
  std::shared_ptr<MeasurementExecutor> running_;  // Guarded by running_mutex_.
  std::shared_ptr<MeasurementExecutor> executor_;
  std::shared_ptr<const TunableKernel> kernel_;
  ProfileKey key_;
  uint64_t generation_ = 0;
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
