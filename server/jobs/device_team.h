// DeviceTeam: a job's way to the devices of its class.
//
// Has the face of JobDevice. With one device, all work runs on the job's thread
// and nothing is split. So it is in a job for one device, and for a class of
// which one is attached. Where several are attached each measures on a thread
// of its own, inside a call. The call's items are split into parts
// (device_split.h), and an idle device takes the next one. A device that is
// lost, used by others or hot gives back the items that it has not measured.
// Before it takes parts a device measures a common set, which gives its ratio
// to the class (device_ratio.h). Its samples are handed on divided by it, and
// stored as they are. A device that deviates is left out.
//
//   DeviceTeam team(services, &control);
//   ASSIGN_OR_RETURN(DeviceFacts facts, team.Acquire());
//   team.Bind(kernel, key, generation);
//   auto results = team.Measure(items, KeepTogether::kProblem);
//
// Thread safety: none; used by the job's worker thread. Callbacks run on one
// thread at a time, while that one waits.
#ifndef WAVETUNE_SERVER_JOBS_DEVICE_TEAM_H_
#define WAVETUNE_SERVER_JOBS_DEVICE_TEAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/catalog/kernel_catalog.h"
#include "server/jobs/device_ratio.h"
#include "server/jobs/device_split.h"
#include "server/jobs/device_spread.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_device.h"
#include "server/jobs/job_services.h"
#include "server/store/records.h"

namespace wavetune {

class DeviceTeam {
 public:
  using Result = JobDevice::Result;
  using RecordCallback = JobDevice::RecordCallback;
  using ResultCallback = JobDevice::ResultCallback;
  using Unprepared = JobDevice::Unprepared;

  // Both outlive this.
  DeviceTeam(const JobServices& services, JobControl* control);

  // Waits for the job's device, or another of its class, and returns its facts.
  // Errors: as JobDevice::Acquire.
  absl::StatusOr<DeviceFacts> Acquire();

  // Returns how many devices could measure now, >= 1.
  int devices() const;

  // As of JobDevice. The limit is of all devices together.
  void Bind(std::shared_ptr<const TunableKernel> kernel, ProfileKey key,
            uint64_t generation);
  void SetDeviceTimeLimit(double limit_us) { time_->limit_us.store(limit_us); }
  bool budget_spent() const { return budget_spent_.load(); }

  // As of JobDevice; each configuration on one of the devices.
  absl::Status Prepare(const std::string& specialisation,
                       const std::vector<Configuration>& configurations,
                       const std::vector<Problem>& correctness_problems,
                       const RecordCallback& on_record);
  Unprepared unprepared() const;
  std::string UnpreparedText() const;

  // As of JobDevice. `on_result` hears several times of an item of the common
  // set: once from each device. Where several devices measure, `more` is asked
  // for further items when one would be idle, between two results: their
  // indices follow those before. Nothing: there are none yet, or no more.
  struct Batch {
    std::vector<MeasureItem> items;
    KeepTogether together = KeepTogether::kNothing;
  };
  absl::StatusOr<std::vector<Result>> Measure(
      const std::vector<MeasureItem>& items, KeepTogether together,
      const ResultCallback& on_result = nullptr,
      const std::function<Batch()>& more = nullptr);

  // Has one device do work that must not be spread, while no other job uses it.
  // It is the first that nobody uses, in the order that `order` puts the
  // devices of the class in (it may remove some). `work` begins anew, with
  // another device, where its own is lost, used by others or hot. Errors: those
  // of `work`; as SpreadOverDevices.
  using Order = std::function<void(std::vector<std::string>& devices)>;
  using WorkAlone =
      std::function<absl::Status(const std::string& uuid, JobDevice& device)>;
  absl::Status OnOneDevice(const Order& order, const WorkAlone& work);

  // Ratios of the devices that measured the common set.
  const std::map<std::string, DeviceRatio>& ratios() const { return ratios_; }

 private:
  bool IsLeftOut(const std::string& uuid) const;
  // UUIDs of attached devices of the class, but for those that are left out.
  std::vector<std::string> Devices() const;
  // Those that may take parts, and those that must measure the common set
  // before.
  std::vector<std::string> RatedDevices() const;
  std::vector<std::string> UnratedDevices() const;
  // Sets the device that does all where there is no other; false: there is.
  bool OnlyDevice(std::string* uuid) const;

  JobDevice& Member(const std::string& uuid);
  // Runs `work` on a device, once no other job uses it. Errors: CANCELLED;
  // those of `work`.
  absl::Status RunAlone(const std::string& uuid,
                        const std::function<absl::Status(JobDevice&)>& work);
  // What all devices do alike; each caller sets `run`.
  DeviceWork NewWork();

  absl::Status MeasureAlone(const std::string& uuid,
                            const std::vector<MeasureItem>& items,
                            std::set<size_t>& left,
                            const ResultCallback& on_result);
  // `more` as of Measure; what it returns is added to `items` and `left`.
  absl::Status MeasureSpread(std::vector<MeasureItem>& items,
                             KeepTogether together, std::set<size_t>& left,
                             const ResultCallback& on_result,
                             const std::function<Batch()>& more);
  absl::Status PrepareSpread(const std::string& specialisation,
                             const std::vector<Configuration>& configurations,
                             const std::vector<Problem>& correctness_problems,
                             const RecordCallback& on_record);

  // Notes a result of the common set, where it is one.
  void TakeForRating(const std::string& uuid, size_t index,
                     const Result& result);
  // Whether a device's samples could not be compared with what others measured
  // for this job.
  bool IsNewcomer(const std::string& uuid) const;
  // Chooses the common set, if the items have one.
  void ChooseCommon(const std::vector<MeasureItem>& items);
  // Has devices that have not measured the common set do so, and hands on what
  // they measured where the set is of this call.
  absl::Status RateDevices(std::set<size_t>& left,
                           const ResultCallback& on_result);
  // Compares the devices, and says how they compare.
  void Compare();
  Result Normalised(const std::string& uuid, const Result& result) const;

  const JobServices& services_;
  JobControl* const control_;
  const uint64_t job_id_;
  const std::shared_ptr<JobDevice::DeviceTime> time_;
  std::mutex members_mutex_;  // Devices are met by their threads.
  std::map<std::string, std::unique_ptr<JobDevice>> members_;
  std::shared_ptr<const TunableKernel> kernel_;
  ProfileKey key_;
  uint64_t generation_ = 0;
  std::atomic<bool> budget_spent_ = false;
  std::mutex callback_mutex_;        // One callback at a time.
  std::vector<MeasureItem> common_;  // Empty: not chosen yet.
  // Where the common set is in the items of the call that chose it.
  std::vector<size_t> common_at_;
  std::vector<SampleRecord> rating_;  // The common set's, raw.
  std::set<std::string> rated_;       // Devices that measured it.
  std::set<std::string> newly_rated_;
  std::map<std::string, int> failed_ratings_;
  // By specialisation and configuration.
  std::set<std::pair<std::string, Configuration>> prepared_;
  std::map<std::string, DeviceRatio> ratios_;  // By device.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_DEVICE_TEAM_H_
