// ProfilingJob: measures, fits, verifies and promotes one kernel on a device,
// or on the devices of a class.
//
// Compiles every configuration, and asks the planner what to measure next until
// nothing is left or the budget is spent. Then it fits, compares the new table
// with the serving one and the default, and promotes it only if it is no worse.
// Keeps no state of its own: the store is enough to go on after a crash.
//
//   absl::Status status = ProfilingJob(services, &control).Run();
//
// Thread safety: none; runs on the device's worker thread.
#ifndef WAVETUNE_SERVER_JOBS_PROFILING_JOB_H_
#define WAVETUNE_SERVER_JOBS_PROFILING_JOB_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fit/build/fit_table.h"
#include "fit/plan/plan_next.h"
#include "fit/plan/verification.h"
#include "fit/profile.h"
#include "model/kernel/kernel_spec.h"
#include "server/catalog/kernel_catalog.h"
#include "server/jobs/device_team.h"
#include "server/jobs/failed_pairs.h"
#include "server/jobs/incumbent.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_services.h"
#include "server/jobs/profile_texts.h"
#include "server/jobs/table_outcome.h"

namespace wavetune {

class ProfilingJob {
 public:
  // Both outlive this.
  ProfilingJob(const JobServices& services, JobControl* control);

  // Runs to the end; the record's message says how it ended. Also a table that
  // is not promoted is a success: the incumbent serves on. Errors: CANCELLED;
  // else with what to do next in the message. Samples are kept.
  absl::Status Run();

 private:
  absl::Status RunSteps();
  // Facts of the device, the kernel and their stored records.
  absl::Status Bind();
  absl::Status LoadStored();
  // Compiles candidates without a record.
  absl::Status Compile();
  // Compares those that were right again and again where others were wrong: a
  // race is won now and then.
  absl::Status Recheck();
  // Returns which of a specialisation's candidates are still to be compared.
  std::vector<Configuration> DueForRecheck(size_t specialisation) const;
  absl::Status CheckCandidates() const;
  // Whether many wrong candidates do not keep the job from promoting.
  bool PromotesAlthoughWrong() const;
  // Measures what the planner asks for until it asks for nothing.
  absl::Status MeasurePlanned();
  // Fits and judges once; sets `done`, or leaves it false when a candidate
  // crashed in verification, so that the fit has to be repeated without it.
  absl::Status FitAndVerify(bool* done);
  // Returns samples of the serving table in its own build of the kernel. None
  // where that is this build, was measured under another driver (a build may be
  // slower there without being worse), or the job promotes slower ones. Errors:
  // the store's.
  absl::StatusOr<std::vector<Sample>> SamplesOfEarlierBuild() const;
  // Sets the job's regrets, as verification measured them.
  void ShowRegrets(const Verdict& verdict);
  // Returns what to say where no table could be fitted: whether that is the
  // budget's fault.
  absl::Status FitFailed(const absl::Status& status) const;

  // Fills `measured` in the order of items, and takes them for samples of the
  // job.
  absl::Status MeasureForVerdict(const std::vector<MeasureItem>& items,
                                 std::vector<Sample>* measured, bool* crashed);

  absl::StatusOr<DeviceFacts> Facts();
  // Raises the samples per candidate of a top-up above the stored ones.
  void RaiseSampleLimit(int64_t of_other_jobs);
  void TakeRecord(const CandidateRecord& record);
  // Ends the serving of a table that chooses a candidate just shown wrong.
  void WithdrawIfWrong(const CandidateRecord& record);
  // Has candidates prepared and hands out each record; then withdraws what
  // serves by now and chooses one that is wrong.
  absl::Status Prepare(const std::string& specialisation,
                       const std::vector<Configuration>& configurations,
                       const std::function<void(CandidateRecord&)>& take);
  // Returns what the profile still takes, as its samples say.
  TimeLeft PredictTimeLeft() const;
  // Returns what an outcome has to mention whatever it is.
  std::string Remarks() const;
  void ReportProgress(const ProfileStep& step, int64_t started_us,
                      size_t samples_before, double used_before_us);
  // The record of a table of this job.
  TableRecord RecordOf(const FitResult& fit, const std::string& why) const;

  const JobServices& services_;
  JobControl* const control_;
  DeviceTeam device_;
  std::shared_ptr<const TunableKernel> kernel_;
  Incumbent incumbent_;
  TableOutcome outcome_;
  KernelSpec spec_;  // The kernel's, with the problems of workloads.
  ProfileInput input_;
  std::vector<MeasureItem> failed_;
  FailedPairs failed_pairs_;  // Those and verification's.
  // How often each candidate was found right again.
  std::map<std::pair<std::string, Configuration>, int32_t> rechecks_;
  std::string withdrawn_;        // Which table was, and why; empty: none.
  int64_t samples_planned_ = 0;  // As the planner said last.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_PROFILING_JOB_H_
