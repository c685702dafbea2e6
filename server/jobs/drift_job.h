// DriftJob: what becomes of a kernel's table on a device that came back with
// another driver, runtime or power limit.
//
// A drift probe (fit/plan/drift_probe.h) of at most 64 samples decides: the
// table holds, and is carried over; or the kernel is profiled anew
// (ProfilingJob). A probe that could not judge, as on a device that others use
// or that is hot, leaves the table as it is; the job fails and says why. Its
// report is stored with the job before anything is done about it, so that a
// daemon that starts again goes on from there. Where there is no table to be
// judged, or it is of another version of the kernel or its compiler, the job is
// an ordinary profile.
//
// For a class one device does the drift probe: one that nobody uses, and that
// has measured for the table where there is one. So a device is compared with
// itself. A profile after it is spread as any other.
//
// A job that verifies a table (JobRecord::verify_digest) ends with the drift
// probe: its table is carried over, or serves on as it is and the job fails
// with the evidence. Where it names another one that the table takes the place
// of (against_digest), what that would choose is measured beside it.
//
//   absl::Status status = DriftJob(services, &control).Run();
//
// Thread safety: none; runs on the device's worker thread.
#ifndef WAVETUNE_SERVER_JOBS_DRIFT_JOB_H_
#define WAVETUNE_SERVER_JOBS_DRIFT_JOB_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fit/plan/drift_probe.h"
#include "fit/plan/drift_report.h"
#include "fit/plan/verification.h"
#include "fit/profile.h"
#include "model/kernel/kernel_spec.h"
#include "server/catalog/kernel_catalog.h"
#include "server/jobs/device_ratio.h"
#include "server/jobs/device_team.h"
#include "server/jobs/incumbent.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_device.h"
#include "server/jobs/job_services.h"
#include "server/store/records.h"

namespace wavetune {

class DriftJob {
 public:
  // Most samples of a drift probe.
  static constexpr size_t kMostSamples = 64;

  // Both outlive this.
  DriftJob(const JobServices& services, JobControl* control);

  // Runs to the end. Errors: as ProfilingJob::Run.
  absl::Status Run();

 private:
  // What a probe measures: pairs first, then what else verification asks for.
  struct Plan {
    VerificationPlan verification;
    std::vector<DriftProbePair> pairs;
    std::vector<MeasureItem> items;
  };

  // Judges the table that the job names, and carries it over where it holds.
  // Errors: FAILED_PRECONDITION where it does not, with the measurements, and
  // where it is not the table that answers; then nothing changed.
  absl::Status Verify();
  // Makes "table 3fa4c01b9d2e6f70 <message>" the job's. Cannot fail.
  absl::Status SetMessage(const std::string& message);
  // FAILED_PRECONDITION: too few measurements were clean; the table serves on.
  absl::Status NotJudged(const DriftReport& report) const;
  // Facts of the device, the kernel, what serves, and its samples.
  absl::Status Bind();
  // Whether there is a table of another environment that can be carried over.
  bool CanJudge() const;
  // Returns the report of an earlier run, if it still holds, or a new probe's.
  absl::StatusOr<DriftReport> Report();
  // Puts devices that measured for the table first, and removes those that
  // deviate from their class, unless all do.
  void OrderDevices(std::vector<std::string>& devices) const;
  absl::StatusOr<DriftReport> Probe(const std::string& uuid, JobDevice& device);
  // Prepares what the tables may choose, and the default, where nothing is
  // known of it yet. Returns why a member cannot be used now; empty: all can.
  absl::StatusOr<std::string> PrepareMembers(JobDevice& device);
  absl::Status PrepareMembersOf(size_t specialisation, JobDevice& device);
  Plan MakePlan() const;
  absl::StatusOr<std::vector<Sample>> MeasurePlan(const Plan& plan,
                                                  JobDevice& device);
  // "it may choose BM=64, which cannot be used any more: ...".
  std::string UnusableText(const Configuration& member,
                           const std::string& why) const;
  // The verdict of the drift probe, with what verification says of the table.
  DriftReport Judge(const Plan& plan, const std::vector<Sample>& measured);
  // Samples of before, as a device would have measured them.
  std::vector<Sample> BeforeOf(const std::string& device_uuid) const;

  const JobServices& services_;
  JobControl* const control_;
  DeviceTeam device_;
  std::shared_ptr<const TunableKernel> kernel_;
  KernelSpec spec_;
  ProfileInput input_;  // Candidates: members and the default alone.
  Incumbent incumbent_;
  Incumbent against_;    // JobRecord::against_digest.
  std::string crashed_;  // A member that was measured, and how.
  SampleSet stored_;     // The incumbent's environment's, raw.
  std::map<std::string, DeviceRatio> stored_ratios_;
  std::vector<Sample> before_;  // Those that the drift probe compares with.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_DRIFT_JOB_H_
