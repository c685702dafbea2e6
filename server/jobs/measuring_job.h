// MeasuringJob: measures given problems and says how good the table's choice
// is.
//
// The minimum over many noisy timings is biased low. So after an exhaustive
// pass the choice, the default and the fastest few are measured again,
// interleaved, and regret is judged from that alone. What it measures is kept
// in generation kMeasuredGeneration, which no fit reads: quality may be judged
// on these problems later. A recording measures, beside the exhaustive pass,
// what whole profiles can be replayed from (docs/traces.md).
//
// Thread safety: none; runs on the device's worker thread.
#ifndef WAVETUNE_SERVER_JOBS_MEASURING_JOB_H_
#define WAVETUNE_SERVER_JOBS_MEASURING_JOB_H_

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
#include "fit/plan/recording_plan.h"
#include "model/kernel/engine_rule.h"
#include "server/jobs/candidate_pool.h"
#include "server/jobs/failed_pairs.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_device.h"
#include "server/jobs/job_services.h"
#include "server/jobs/recorder.h"
#include "server/jobs/recording.h"
#include "wavetune/decision.h"
#include "wavetune/problem.h"

namespace wavetune {

// What to measure.
struct MeasureRequest {
  std::string kernel;
  std::string device_uuid;
  std::string by = kDaemonUser;  // Who asks.
  std::vector<Problem> problems;
  bool chosen = false;
  bool default_configuration = false;  // Measures it, too.
  bool exhaustive = false;             // Every candidate that compiles.
  int remeasure_leaders = 4;
  // Choice, default, leaders and vendor baselines are measured so often,
  // interleaved; of each the median counts.
  int rounds = 3;
  // Vendor libraries, interleaved with the leaders.
  bool vendor_baselines = false;
  // What others would launch, likewise.
  std::map<Problem, std::vector<Rival>> rivals = {};
  // Record a trace. Implies exhaustive.
  bool record = false;
  int anchors_per_candidate = 0;  // For a recording; 0: kGridAnchors.
  bool fresh = false;             // A recording measures everything anew.
  bool even_if_busy = false;      // As in ReprofileRequest.
};

struct MeasuredConfiguration {
  Configuration configuration;
  double latency_us = 0;
  double relative_spread = 0;
  bool remeasured = false;
  int32_t sm_clock_mhz = 0;  // As in Sample.
  bool throttled = false;
};

struct MeasuredVendorBaseline {
  std::string library;
  double latency_us = 0;  // 0: failed.
  double relative_spread = 0;
  int32_t sm_clock_mhz = 0;  // As in Sample.
  bool throttled = false;
  std::string failure;
};

// A candidate that could not be measured at a problem.
struct FailedConfiguration {
  Configuration configuration;
  std::string reason;
};

// The outcome at one problem; a part not asked for, or failed, is absent.
struct MeasuredProblem {
  Problem problem;
  std::optional<MeasuredConfiguration> chosen;
  double predicted_us = 0;
  double relative_bound = 0;
  DecisionSource source = DecisionSource::kDefault;
  std::optional<MeasuredConfiguration> default_configuration;
  std::optional<MeasuredConfiguration> best;  // After an exhaustive pass.
  double regret = 0;                          // chosen / best - 1.
  // Best / chosen, the best judged in rounds that did not pick it
  // (HeldOutFraction); 0 where that is not known.
  double held_out_fraction = 0;
  std::vector<MeasuredConfiguration> all;  // Fastest first.
  std::string digest;                      // The table's that chose.
  std::vector<MeasuredVendorBaseline> vendor_baselines;
  std::vector<FailedConfiguration> failed;  // Missing in all of the above.
};

// Hears of what a measuring job found, on the job's thread.
struct MeasureListener {
  std::function<void(const MeasuredProblem&)> on_result;
  // A recording's samples as they are stored; then, once and last, where it is
  // complete, their candidates and problems.
  std::function<void(const RecordedSamples&)> on_recorded =
      [](const RecordedSamples&) {};
  std::function<void(const Recording&)> on_recording = [](const Recording&) {};
};

// Returns OK if no problem that quality shall be judged on is one that
// profiling may measure and fit. Errors: INVALID_ARGUMENT naming the first.
absl::Status CheckJudgedApart(const KernelSpec& spec,
                              const std::vector<Problem>& problems);

class MeasuringJob {
 public:
  // All outlive this.
  MeasuringJob(const JobServices& services, JobControl* control,
               const MeasureRequest& request, MeasureListener listener);

  // Runs to the end. Errors: as ProfilingJob::Run; INVALID_ARGUMENT for a
  // problem that the kernel cannot have.
  absl::Status Run();

 private:
  bool exhaustive() const { return request_.exhaustive || request_.record; }
  // And what engines launch by their rules.
  bool measures_default() const {
    return request_.default_configuration || exhaustive();
  }

  absl::Status Bind();
  // Errors: FAILED_PRECONDITION where the kernel has none for the device.
  absl::Status CheckVendorBaselines() const;
  absl::Status MeasureProblems();
  // Every candidate that compiles and is legal there.
  absl::StatusOr<std::vector<MeasureItem>> LegalAt(const Problem& problem);
  std::vector<MeasureItem> LegalOf(const std::vector<Configuration>& candidates,
                                   const Problem& problem) const;
  // Plans the measurements at each problem and, by the samples of profiles,
  // their cost. Problems differ in it by far: their number says little of the
  // time left. Compiles nothing, so that a specialisation that fails takes no
  // result of another with it. Errors: CANCELLED.
  absl::Status PlanWork();
  // The measurements at a problem but those of an exhaustive pass.
  int64_t InRounds() const {
    return request_.rounds *
           (2 + (exhaustive() ? request_.remeasure_leaders : 0));
  }
  void CountMeasured(int64_t measurements);
  // What engines and the caller name there, as far as it can be launched.
  std::vector<Rival> RivalsAt(const Problem& problem) const;
  absl::StatusOr<MeasuredProblem> MeasureAt(const Problem& problem);
  // Those of items in their order.
  struct Rounds {
    std::vector<JobDevice::Result> medians;
    // [item][round]; 0 where it failed.
    std::vector<std::vector<double>> latencies_us;
  };
  // Measures items request_.rounds times, interleaved.
  absl::StatusOr<Rounds> MeasureInRounds(const std::vector<MeasureItem>& items);
  // The measurements at a problem, and the failures.
  struct AtProblem {
    std::map<Configuration, MeasuredConfiguration> measured;
    std::map<Configuration, std::string> failed;
  };
  // Every candidate that is legal at a problem, once; returns the fastest few.
  absl::StatusOr<std::vector<Configuration>> MeasureAll(const Problem& problem,
                                                        AtProblem* at);
  // Measures items of MeasureAll where nothing is recorded. A candidate that
  // crashes is missing at this problem only; one that did so at several and was
  // measured at none is not tried any more.
  absl::Status MeasureUnrecorded(const std::vector<MeasureItem>& items,
                                 AtProblem* at);
  // Takes a failure of a candidate at a problem, once.
  void TakeFailure(const MeasureItem& item, const JobDevice::Result& result,
                   AtProblem* at);

  // A recording: what comes before and after the problems.
  absl::Status BeginRecording();
  absl::Status FinishRecording();
  absl::StatusOr<RecordingPlan> PlanRest();
  int64_t CountJudgedPairs() const;

  const JobServices& services_;
  JobControl* const control_;
  const MeasureRequest& request_;
  const MeasureListener listener_;
  JobDevice device_;
  CandidatePool pool_;
  Recorder recorder_;
  FailedPairs failed_;  // Where nothing is recorded.
  // What became of a candidate at the problems so far.
  struct History {
    int crashes = 0;  // Hangs included.
    bool measured = false;
  };
  // Those that crashed, or were measured, by specialisation.
  std::map<std::pair<std::string, Configuration>, History> histories_;
  // The measurements at a problem.
  struct Work {
    int64_t measurements = 0;
    double cost_us = 0;  // In proportion to the time that all of them take.
    int64_t done = 0;
  };
  std::vector<Work> work_;    // As request_.problems; empty in a recording.
  size_t problem_index_ = 0;  // The one that is being measured.
  int64_t measuring_since_us_ = 0;
  int64_t judged_anchors_ = 0;  // Left out of a recording's anchors.
  std::shared_ptr<const TunableKernel> kernel_;
  DeviceFacts facts_;
  std::optional<TableMatch> table_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_MEASURING_JOB_H_
