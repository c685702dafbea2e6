#include "server/rpc/workload_handler.h"

#include <utility>

#include "base/copy_fields.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "formats/expert_routing.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

// Of the reason why a workload cannot be read, in lists.
constexpr size_t kMaxShownProblem = 1024;

absl::StatusOr<Workload> FromProto(const v1::AddWorkloadRequest& request) {
  Workload workload{.name = request.name(), .config = request.config()};
  if (request.has_tensor_parallel()) {
    workload.parallelism.tensor = request.tensor_parallel();
  }
  if (request.has_expert_parallel()) {
    workload.parallelism.expert = request.expert_parallel();
  }
  if (request.has_max_tokens()) workload.max_tokens = request.max_tokens();
  ASSIGN_OR_RETURN(workload.routing, ExpertRoutingFromProto(request.routing()));
  return workload;
}

}  // namespace

WorkloadHandler::WorkloadHandler(WorkloadCatalog* workloads,
                                 KernelCatalog* kernels, Clock* clock)
    : workloads_(workloads),
      kernels_(kernels),
      adds_of_user_({.per_second = kAddsPerSecond, .at_once = kAddsAtOnce},
                    clock),
      adds_({.per_second = kUsersAtOnce * kAddsPerSecond,
             .at_once = kUsersAtOnce * kAddsAtOnce},
            clock) {}

absl::Status WorkloadHandler::TakeTurn(const std::string& user) {
  if (adds_of_user_.TakeUpTo(user, 1) >= 1 && adds_.TakeUpTo("", 1) >= 1) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      "too many workloads are added; add them less often");
}

v1::WorkloadInfo WorkloadHandler::ToProto(
    const WorkloadCatalog::Entry& entry) const {
  v1::WorkloadInfo info;
  GIVE_FIELDS(entry.record, info, name, tensor_parallel, expert_parallel,
              max_tokens, user, added_at_us);
  info.set_architecture(entry.layers.architecture);
  *info.mutable_routing() = ExpertRoutingToProto(entry.record.routing);
  info.set_config_bytes(entry.config_bytes);
  info.mutable_notes()->Assign(entry.layers.notes.begin(),
                               entry.layers.notes.end());
  if (!entry.readable.ok()) {
    info.set_problem(BoundedText(entry.readable.message(), kMaxShownProblem));
    return info;
  }
  for (const std::string& name : kernels_->Names()) {
    const auto spec = kernels_->Spec(name);
    if (!spec.ok()) continue;
    const WorkloadCatalog::Share share =
        WorkloadCatalog::ShareOf(entry, **spec);
    if (share.problems == 0 && share.left_out == 0) continue;
    v1::WorkloadKernel* const kernel = info.add_kernels();
    kernel->set_kernel(name);
    kernel->set_problems(static_cast<int32_t>(share.problems));
    kernel->set_left_out(static_cast<int32_t>(share.left_out));
  }
  return info;
}

absl::Status WorkloadHandler::AddWorkload(const v1::AddWorkloadRequest& request,
                                          const std::string& user,
                                          v1::AddWorkloadResponse* response) {
  ASSIGN_OR_RETURN(const Workload workload, FromProto(request));
  ASSIGN_OR_RETURN(const WorkloadCatalog::Added added,
                   workloads_->Add(workload, user));
  *response->mutable_workload() = ToProto(added.entry);
  response->set_unchanged(added.unchanged);
  response->set_replaced(added.replaced);
  return absl::OkStatus();
}

absl::Status WorkloadHandler::ListWorkloads(
    v1::ListWorkloadsResponse* response) const {
  for (const WorkloadCatalog::Entry& entry : workloads_->List()) {
    *response->add_workloads() = ToProto(entry);
  }
  return absl::OkStatus();
}

absl::Status WorkloadHandler::GetWorkload(
    const v1::GetWorkloadRequest& request,
    v1::GetWorkloadResponse* response) const {
  ASSIGN_OR_RETURN(WorkloadCatalog::Entry entry,
                   workloads_->Get(request.name()));
  *response->mutable_workload() = ToProto(entry);
  response->set_config(std::move(entry.record.config));
  return absl::OkStatus();
}

absl::Status WorkloadHandler::RemoveWorkload(
    const v1::RemoveWorkloadRequest& request) {
  return workloads_->Remove(request.name());
}

}  // namespace wavetune
