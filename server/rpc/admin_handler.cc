#include "server/rpc/admin_handler.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/copy_fields.h"
#include "base/status_macros.h"
#include "fit/models/anchor_plan.h"
#include "formats/types.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "server/rpc/record_proto.h"

namespace wavetune {
namespace {

constexpr size_t kMaxRivalName = 64;
constexpr size_t kMaxRivals = 8;  // Of a problem: a few engines have files.

constexpr auto kLeastRecordedAnchors = static_cast<int>(kMaxAnchors);

absl::Status TakeRecording(const v1::MeasureRequest& request,
                           MeasureRequest& wanted) {
  wanted.record = request.record();
  wanted.fresh = request.fresh();
  wanted.anchors_per_candidate = request.anchors_per_candidate();
  if (!wanted.record &&
      (wanted.fresh || request.anchors_per_candidate() != 0)) {
    return absl::InvalidArgumentError(
        "fresh and anchors_per_candidate are for recordings: set record, too");
  }
  if (wanted.anchors_per_candidate == 0 ||
      (wanted.anchors_per_candidate >= kLeastRecordedAnchors &&
       wanted.anchors_per_candidate <= AdminHandler::kMaxRecordedAnchors)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "anchors_per_candidate must be ", kLeastRecordedAnchors, " to ",
      AdminHandler::kMaxRecordedAnchors,
      ", or 0 for the default: a profile may ask for ", kLeastRecordedAnchors));
}

// After the problems.
absl::Status TakeRivals(const v1::MeasureRequest& request,
                        const KernelSpec& spec, MeasureRequest& wanted) {
  for (const v1::Rival& rival : request.rivals()) {
    if (rival.problem() < 0 || rival.problem() >= request.problems_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a rival is of problem ", rival.problem(), ", and ",
                       request.problems_size(), " are named"));
    }
    if (rival.name().empty() || rival.name().size() > kMaxRivalName) {
      return absl::InvalidArgumentError(
          absl::StrCat("a rival's name has ", rival.name().size(),
                       " bytes: give 1 to ", kMaxRivalName));
    }
    ASSIGN_OR_RETURN(
        Configuration configuration,
        ConfigurationFromProto(static_cast<int>(spec.parameters.size()),
                               rival.configuration()));
    const auto at = static_cast<size_t>(rival.problem());
    std::vector<Rival>& there = wanted.rivals[wanted.problems[at]];
    if (there.size() == kMaxRivals) {
      return absl::InvalidArgumentError(absl::StrCat(
          "problem ", at, " has more than ", kMaxRivals, " rivals"));
    }
    there.push_back({rival.name(), configuration});
  }
  return absl::OkStatus();
}

MeasureListener ListenerOf(const std::shared_ptr<const KernelSpec>& spec,
                           AdminHandler::MeasureSink sink) {
  const auto shared =
      std::make_shared<const AdminHandler::MeasureSink>(std::move(sink));
  MeasureListener listener;
  listener.on_result = [spec, shared](const MeasuredProblem& result) {
    v1::MeasureResponse message;
    *message.mutable_result() =
        MeasuredProblemToProto(spec->dimensions, result);
    (*shared)(std::move(message));
  };
  listener.on_recorded = [spec, shared](const RecordedSamples& recorded) {
    v1::MeasureResponse message;
    *message.mutable_recorded() =
        RecordedSamplesToProto(spec->dimensions, recorded);
    (*shared)(std::move(message));
  };
  listener.on_recording = [shared](const Recording& recording) {
    v1::MeasureResponse message;
    *message.mutable_recording() = RecordingToProto(recording);
    (*shared)(std::move(message));
  };
  return listener;
}

ReprofileRequest WantedBy(const v1::ReprofileRequest& request,
                          const std::string& by) {
  ReprofileRequest wanted;
  TAKE_FIELDS(request, wanted, kernel, device_uuid, silicon_key, single_device,
              priority, reason, fresh);
  wanted.by = by;
  TAKE_FIELDS(request, wanted.options, WAVETUNE_REQUESTED_OPTIONS);
  wanted.options.drift_probe =
      request.drift() || !request.verify_digest().empty();
  return wanted;
}

v1::PlannedJob PlannedJobToProto(const PlannedJob& planned) {
  v1::PlannedJob proto;
  proto.set_kernel(planned.kernel);
  proto.set_device_uuid(planned.device_uuid);
  proto.set_what(planned.what);
  proto.set_candidates(planned.candidates);
  proto.set_samples(planned.samples);
  proto.set_device_s(planned.device_s);
  proto.set_wall_s(-1);  // How long it waits, and compiles, nobody knows.
  return proto;
}

}  // namespace

absl::Status AdminHandler::Reprofile(const v1::ReprofileRequest& request,
                                     const std::string& by,
                                     v1::ReprofileResponse* response) {
  const ReprofileRequest wanted = WantedBy(request, by);
  if (request.has_fleet()) return AskFor(request, wanted, response);
  if (request.dry_run()) {
    ASSIGN_OR_RETURN(const std::vector<PlannedJob> planned,
                     jobs_->Plan(wanted));
    for (const PlannedJob& job : planned) {
      *response->add_planned() = PlannedJobToProto(job);
    }
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<JobRecord> jobs, jobs_->Reprofile(wanted));
  for (const JobRecord& job : jobs) {
    *response->add_jobs() = JobRecordToProto(job);
  }
  return absl::OkStatus();
}

absl::Status AdminHandler::AskFor(const v1::ReprofileRequest& request,
                                  const ReprofileRequest& wanted,
                                  v1::ReprofileResponse* response) {
  if (request.dry_run() || wanted.options.refit_only ||
      !wanted.device_uuid.empty() || !wanted.options.verify_digest.empty()) {
    return absl::InvalidArgumentError(
        "a profile of the fleet names no device, and is neither a dry run nor "
        "a refit nor a verification");
  }
  ASSIGN_OR_RETURN(const std::vector<FleetView::Profile> asked,
                   ask_fleet_(wanted, {{request.fleet().stages().begin(),
                                        request.fleet().stages().end()},
                                       request.fleet().hold_s()}));
  for (const FleetView::Profile& one : asked) {
    v1::AskedProfile* const added = response->add_asked();
    added->set_kernel(one.profile.key.kernel);
    added->set_fleet_class(one.fleet_class);
    added->set_node(one.profile.node);
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
    const v1::MeasureRequest& request, const std::string& by,
    MeasureSink sink) {
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
  wanted.by = by;
  wanted.chosen = request.chosen();
  wanted.default_configuration = request.default_configuration();
  wanted.exhaustive = request.exhaustive();
  wanted.vendor_baselines = request.vendor_baselines();
  wanted.even_if_busy = request.even_if_busy();
  if (request.remeasure_leaders() < 0) {
    return absl::InvalidArgumentError("remeasure_leaders must be 0 or more");
  }
  if (request.remeasure_leaders() > 0) {
    wanted.remeasure_leaders = request.remeasure_leaders();
  }
  if (request.rounds() < 0 || request.rounds() > kMaxRounds) {
    return absl::InvalidArgumentError(
        absl::StrCat("rounds must be 0 to ", kMaxRounds));
  }
  if (request.rounds() > 0) wanted.rounds = request.rounds();
  RETURN_IF_ERROR(TakeRecording(request, wanted));
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
  RETURN_IF_ERROR(TakeRivals(request, *spec, wanted));
  return jobs_->Measure(std::move(wanted), ListenerOf(spec, std::move(sink)));
}

}  // namespace wavetune
