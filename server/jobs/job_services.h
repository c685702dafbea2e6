// JobServices: what jobs work with. All pointers outlive the jobs.
#ifndef WAVETUNE_SERVER_JOBS_JOB_SERVICES_H_
#define WAVETUNE_SERVER_JOBS_JOB_SERVICES_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "model/kernel/weighted_problem.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/table_catalog.h"
#include "server/jobs/device_leases.h"
#include "server/jobs/device_ratio.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_settings.h"
#include "server/jobs/measurement_executor.h"
#include "server/jobs/profile_turn.h"
#include "server/jobs/profiling_functions.h"
#include "server/store/device_store.h"
#include "server/store/job_store.h"
#include "server/store/sample_store.h"

namespace wavetune {

struct JobServices {
  SampleStore* samples = nullptr;
  JobStore* jobs = nullptr;
  DeviceStore* devices = nullptr;
  TableCatalog* tables = nullptr;
  KernelCatalog* kernels = nullptr;
  ExecutorDirectory* executors = nullptr;
  Clock* clock = nullptr;
  ProfilingFunctions profiling;
  // Hears of what goes wrong beside a job's own result.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  // Shared by all that have these services.
  std::shared_ptr<JobSettings> settings = std::make_shared<JobSettings>();
  // How long a job waits for its device's agent, and for a device that is too
  // hot where its class has no other.
  double agent_wait_s = 600;
  double hot_wait_s = 600;
  // What clients ask for, by kernel name and silicon key (UsageLedger).
  std::function<std::vector<WeightedProblem>(const std::string& kernel,
                                             const std::string& silicon_key)>
      used_problems = [](const std::string&, const std::string&) {
        return std::vector<WeightedProblem>();
      };
  // What the declared workloads are for a kernel (WorkloadCatalog).
  std::function<std::vector<WeightedProblem>(const KernelSpec&)>
      workload_problems =
          [](const KernelSpec&) { return std::vector<WeightedProblem>(); };
  // Waits until a job that measures may, on its thread; not longer than some
  // moments where others wait for its device (ProfileTurn::later). Errors:
  // CANCELLED where the job was asked to end.
  using OthersWait = std::function<bool()>;
  std::function<absl::StatusOr<ProfileTurn>(JobControl*, const OthersWait&)>
      await_turn = [](JobControl*, const OthersWait&) { return ProfileTurn(); };
  // Starts a thread, or throws std::system_error as std::thread does.
  std::function<std::thread(std::function<void()>)> start_thread =
      [](std::function<void()> run) { return std::thread(std::move(run)); };
  // Hears that the candidates of a profile have changed.
  std::function<void(const ProfileKey&)> candidates_changed =
      [](const ProfileKey&) {};
  // Hears that a job runs now, or has ended. Must not call the queue.
  std::function<void(const JobRecord&)> job_changed = [](const JobRecord&) {};
  // Hears that a drift probe was judged (JobRecord::drift). As job_changed.
  std::function<void(const JobRecord&)> probe_judged = [](const JobRecord&) {};
  // Hears of a table that is not promoted. As job_changed.
  std::function<void(const RejectedTable&)> table_refused =
      [](const RejectedTable&) {};
  // Hears how a device compares with its class, as a job found; a ratio that is
  // not known: it was left out for that. As job_changed.
  std::function<void(const JobRecord&, const std::string& device_uuid,
                     const DeviceRatio&)>
      device_rated =
          [](const JobRecord&, const std::string&, const DeviceRatio&) {};
  // Which job measures on which device; of all jobs.
  std::shared_ptr<DeviceLeases> leases = std::make_shared<DeviceLeases>();
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_JOB_SERVICES_H_
