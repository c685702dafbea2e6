// DriftJob: what becomes of a kernel's table on a device that came back with
// another driver, runtime or power limit.
//
// A canary (fit/plan/canary.h) of at most 64 samples decides: the table is
// carried over; or a ProfilingJob fits anew with the samples that hold; or with
// none. Its report is stored with the job before anything is done about it, so
// that a daemon that starts again goes on from there. Where there is no table
// to be judged, or the kernel was edited, it is an ordinary profile.
//
//   absl::Status status = DriftJob(services, &control).Run();
//
// Thread safety: none; runs on the device's worker thread.
#ifndef WAVETUNE_SERVER_JOBS_DRIFT_JOB_H_
#define WAVETUNE_SERVER_JOBS_DRIFT_JOB_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fit/plan/canary.h"
#include "fit/plan/drift_report.h"
#include "fit/plan/verification.h"
#include "fit/profile.h"
#include "model/kernel/kernel_spec.h"
#include "server/catalog/kernel_catalog.h"
#include "server/jobs/incumbent.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_device.h"
#include "server/jobs/job_services.h"
#include "server/store/records.h"

namespace wavetune {

class DriftJob {
 public:
  // Most samples of a canary.
  static constexpr size_t kMostSamples = 64;

  // Both outlive this.
  DriftJob(const JobServices& services, JobControl* control);

  // Runs to the end. Errors: as ProfilingJob::Run.
  absl::Status Run();

 private:
  // What a canary measures: pairs first, then what else verification asks for.
  struct Plan {
    VerificationPlan verification;
    std::vector<CanaryPair> pairs;
    std::vector<MeasureItem> items;
  };

  // Facts of the device, the kernel, what serves, and its samples.
  absl::Status Bind();
  // Whether there is a table of another environment that can be judged.
  bool CanJudge() const;
  // Returns the report of an earlier run, or what a canary finds now.
  absl::StatusOr<DriftReport> Report();
  absl::StatusOr<DriftReport> RunCanary();
  // Prepares what the table may choose, and the default, where nothing is known
  // of it yet. Returns why a member cannot be used now; empty: all can.
  absl::StatusOr<std::string> PrepareMembers();
  absl::Status PrepareMembersOf(size_t specialisation);
  Plan MakePlan() const;
  absl::StatusOr<std::vector<Sample>> MeasurePlan(const Plan& plan);
  // "it may choose BM=64, which cannot be used any more: ...".
  std::string UnusableText(const Configuration& member,
                           const std::string& why) const;
  // The verdict of the canary, with what verification says of the table.
  DriftReport Judge(const Plan& plan, const std::vector<Sample>& measured);
  absl::Status ProfileWith(std::vector<Sample> kept);
  std::vector<Sample> Kept(const DriftReport& report) const;

  const JobServices& services_;
  JobControl* const control_;
  JobDevice device_;
  std::shared_ptr<const TunableKernel> kernel_;
  KernelSpec spec_;
  ProfileInput input_;  // Candidates: members and the default alone.
  Incumbent incumbent_;
  std::string crashed_;         // A member that was measured, and how.
  SampleSet stored_;            // Of the incumbent's environment.
  std::vector<Sample> before_;  // Its samples.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_DRIFT_JOB_H_
