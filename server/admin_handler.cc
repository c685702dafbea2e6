#include "server/admin_handler.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/kernel_validation.h"
#include "model/status_macros.h"
#include "proto/convert/types.h"
#include "server/record_proto.h"

namespace wavetune {

absl::Status AdminHandler::Reprofile(const v1::ReprofileRequest& request,
                                     v1::ReprofileResponse* response) {
  ReprofileRequest wanted;
  wanted.kernel = request.kernel();
  wanted.device_uuid = request.device_uuid();
  wanted.budget_s = request.budget_s();
  wanted.reason = request.reason();
  wanted.refit_only = request.refit_only();
  wanted.fresh = request.fresh();
  wanted.even_if_busy = request.even_if_busy();
  wanted.samples_per_candidate = request.samples_per_candidate();
  wanted.portfolio_size = request.portfolio_size();
  ASSIGN_OR_RETURN(const std::vector<JobRecord> jobs, jobs_->Reprofile(wanted));
  for (const JobRecord& job : jobs) {
    *response->add_jobs() = JobRecordToProto(job);
  }
  return absl::OkStatus();
}

absl::Status AdminHandler::CancelJob(const v1::CancelJobRequest& request,
                                     v1::CancelJobResponse* response) {
  ASSIGN_OR_RETURN(const JobRecord job, jobs_->Cancel(request.id()));
  *response->mutable_job() = JobRecordToProto(job);
  return absl::OkStatus();
}

absl::StatusOr<JobControl::Watch> AdminHandler::WatchJob(
    uint64_t id, JobControl::Listener listener) {
  return jobs_->Subscribe(id, std::move(listener));
}

void AdminHandler::Abandon(uint64_t id) {
  // FAILED_PRECONDITION: it has ended, which is what is wanted.
  jobs_->Cancel(id).IgnoreError();
}

absl::StatusOr<JobRecord> AdminHandler::Measure(
    const v1::MeasureRequest& request, ResultListener on_result) {
  kernels_->Reload();
  ASSIGN_OR_RETURN(const std::shared_ptr<const KernelSpec> spec,
                   kernels_->Spec(request.kernel()));
  if (request.problems_size() > kMaxProblems) {
    return absl::InvalidArgumentError(
        absl::StrCat("at most ", kMaxProblems, " problems, not ",
                     request.problems_size(), ": split them"));
  }
  MeasureRequest wanted;
  wanted.kernel = request.kernel();
  wanted.device_uuid = request.device_uuid();
  wanted.chosen = request.chosen();
  wanted.standard = request.default_configuration();
  wanted.exhaustive = request.exhaustive();
  wanted.even_if_busy = request.even_if_busy();
  if (request.remeasure_leaders() < 0) {
    return absl::InvalidArgumentError("remeasure_leaders must be 0 or more");
  }
  if (request.remeasure_leaders() > 0) {
    wanted.remeasure_leaders = request.remeasure_leaders();
  }
  for (int i = 0; i < request.problems_size(); ++i) {
    absl::StatusOr<Problem> problem =
        ProblemFromProto(spec->dimensions, request.problems(i));
    absl::Status status = problem.status();
    if (status.ok()) status = CheckProblem(*spec, *problem);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("problem ", i, ": ", status.message()));
    }
    wanted.problems.push_back(*std::move(problem));
  }
  return jobs_->Measure(
      std::move(wanted),
      [spec, on_result = std::move(on_result)](const MeasuredProblem& result) {
        on_result(MeasuredProblemToProto(spec->dimensions, result));
      });
}

}  // namespace wavetune
