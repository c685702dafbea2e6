// AdminHandler: what AdminService does. Knows no gRPC.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_ADMIN_HANDLER_H_
#define WAVETUNE_SERVER_RPC_ADMIN_HANDLER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/wavetune/v1/admin_service.pb.h"
#include "server/catalog/kernel_catalog.h"
#include "server/fleet/fleet_view.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_queue.h"

namespace wavetune {

class AdminHandler {
 public:
  // Hears of results and recorded samples, never of the job.
  using MeasureSink = std::function<void(v1::MeasureResponse)>;

  // Most problems of one measuring job.
  static constexpr int kMaxProblems = 4096;
  // Rounds that choices and leaders may be measured in.
  static constexpr int kMaxRounds = 100;
  // Anchors per candidate that a recording may ask for.
  static constexpr int kMaxRecordedAnchors = 1000;

  // Asks the fleet for profiles. Errors: also FAILED_PRECONDITION: there is no
  // fleet.
  using AskFleet =
      std::function<absl::StatusOr<std::vector<FleetView::Profile>>(
          const ReprofileRequest&, const RolloutPlan&)>;

  // All outlive the handler.
  AdminHandler(JobQueue* jobs, KernelCatalog* kernels, AskFleet ask_fleet)
      : jobs_(jobs), kernels_(kernels), ask_fleet_(std::move(ask_fleet)) {}

  // `by`: who asks, kept with the jobs.
  absl::Status Reprofile(const v1::ReprofileRequest& request,
                         const std::string& by,
                         v1::ReprofileResponse* response);
  absl::Status CancelJob(const v1::CancelJobRequest& request,
                         v1::CancelJobResponse* response);

  // Returns the job with a handle on its changes. Reads the store where it is
  // not in memory. Errors: NOT_FOUND.
  absl::StatusOr<JobControl::Watch> WatchJob(uint64_t id,
                                             JobControl::Listener listener);

  // Queues a measuring job and returns it. `sink` gets its measurements before
  // the job ends. Errors: INVALID_ARGUMENT naming the problem at fault;
  // else as JobQueue::Measure.
  absl::StatusOr<JobRecord> Measure(const v1::MeasureRequest& request,
                                    const std::string& by, MeasureSink sink);

  // As JobQueue::InMemory.
  bool InMemory(uint64_t id) const { return jobs_->InMemory(id); }

  // Nobody waits for a job's results any more: cancels it where it has not
  // ended.
  void Abandon(uint64_t id);

 private:
  absl::Status AskFor(const v1::ReprofileRequest& request,
                      const ReprofileRequest& wanted,
                      v1::ReprofileResponse* response);

  JobQueue* const jobs_;
  KernelCatalog* const kernels_;
  const AskFleet ask_fleet_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_ADMIN_HANDLER_H_
