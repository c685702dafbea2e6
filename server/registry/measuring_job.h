// MeasuringJob: measures given problems and says how good the table's choice
// is.
//
// The minimum over many noisy timings is biased low, so after an exhaustive
// pass the choice, the default and the fastest few are measured again,
// interleaved, and regret is judged from that alone. What it measures is kept
// in generation kMeasuredGeneration, which no fit reads: quality may be judged
// on these problems later.
//
// Thread safety: none; runs on the device's worker thread.
#ifndef WAVETUNE_SERVER_REGISTRY_MEASURING_JOB_H_
#define WAVETUNE_SERVER_REGISTRY_MEASURING_JOB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/decision.h"
#include "model/problem.h"
#include "server/registry/job_control.h"
#include "server/registry/job_device.h"
#include "server/registry/job_services.h"

namespace wavetune {

// What to measure.
struct MeasureRequest {
  std::string kernel;
  std::string device_uuid;
  std::vector<Problem> problems;
  bool chosen = false;
  bool standard = false;    // The default configuration.
  bool exhaustive = false;  // Every candidate that compiles.
  int remeasure_leaders = 4;
  bool even_if_busy = false;  // As in ReprofileRequest.
};

struct MeasuredConfiguration {
  Configuration configuration;
  double latency_us = 0;
  double relative_spread = 0;
  bool remeasured = false;
  int32_t sm_clock_mhz = 0;  // As in Sample.
  bool throttled = false;
};

// The outcome at one problem; what was not asked for or failed is absent.
struct MeasuredProblem {
  Problem problem;
  std::optional<MeasuredConfiguration> chosen;
  double predicted_us = 0;
  double relative_bound = 0;
  DecisionSource source = DecisionSource::kDefault;
  std::optional<MeasuredConfiguration> standard;
  std::optional<MeasuredConfiguration> best;  // After an exhaustive pass.
  double regret = 0;                          // chosen / best - 1.
  std::vector<MeasuredConfiguration> all;     // Fastest first.
  std::string digest;                         // Of the table that chose.
};

class MeasuringJob {
 public:
  using ResultCallback = std::function<void(const MeasuredProblem&)>;

  // All outlive this.
  MeasuringJob(const JobServices& services, JobControl* control,
               const MeasureRequest& request, ResultCallback on_result);

  // Runs to the end. Errors: as ProfilingJob::Run; INVALID_ARGUMENT for a
  // problem that the kernel cannot have.
  absl::Status Run();

 private:
  absl::Status Bind();
  // Candidates of a specialisation that compile; compiles them where nobody
  // did before.
  absl::StatusOr<std::vector<Configuration>> Candidates(
      const std::string& specialisation);
  absl::StatusOr<MeasuredProblem> MeasureAt(const Problem& problem);

  const JobServices& services_;
  JobControl* const control_;
  const MeasureRequest& request_;
  const ResultCallback on_result_;
  JobDevice device_;
  std::shared_ptr<const TunableKernel> kernel_;
  DeviceFacts facts_;
  std::optional<TableMatch> table_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_REGISTRY_MEASURING_JOB_H_
