#include "client/usage/grpc_usage_sender.h"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/printable_text.h"
#include "formats/status.h"
#include "formats/types.h"
#include "grpcpp/client_context.h"
#include "proto/wavetune/v1/usage_service.grpc.pb.h"

namespace wavetune {
namespace {

class GrpcUsageSender : public UsageSender {
 public:
  explicit GrpcUsageSender(std::unique_ptr<v1::UsageService::Stub> stub)
      : stub_(std::move(stub)) {}

  absl::Status Send(const UsageBatch& batch, double timeout_s) override {
    grpc::ClientContext context;
    context.set_deadline(
        std::chrono::system_clock::now() +
        std::chrono::microseconds(static_cast<int64_t>(timeout_s * 1e6)));
    SetCurrent(&context);
    v1::ReportUsageResponse response;
    const grpc::Status status =
        stub_->ReportUsage(&context, UsageBatchToProto(batch), &response);
    SetCurrent(nullptr);
    return FromGrpcStatus(status);
  }

  void CutOff() override {
    std::lock_guard lock(mutex_);
    if (current_ != nullptr) current_->TryCancel();
  }

 private:
  void SetCurrent(grpc::ClientContext* context) {
    std::lock_guard lock(mutex_);
    current_ = context;
  }

  const std::unique_ptr<v1::UsageService::Stub> stub_;
  std::mutex mutex_;
  grpc::ClientContext* current_ = nullptr;  // Guarded by mutex_.
};

}  // namespace

v1::ReportUsageRequest UsageBatchToProto(const UsageBatch& batch) {
  v1::ReportUsageRequest request;
  request.set_interval_s(batch.interval_s);
  for (const KernelUsage& kernel : batch.kernels) {
    v1::ReportedUsage* const usage = request.add_kernels();
    // As applications named them, in whatever encoding.
    usage->set_kernel(PrintableText(kernel.identity.kernel));
    usage->set_device_uuid(PrintableText(kernel.identity.device_uuid));
    usage->set_silicon_key(kernel.identity.silicon_key);
    usage->set_digest(kernel.identity.digest);
    usage->set_specialisation(PrintableText(kernel.identity.specialisation));
    v1::SourceCounts* const counts = usage->mutable_counts();
    counts->set_fitted(static_cast<double>(kernel.counts.fitted));
    counts->set_wide_bound(static_cast<double>(kernel.counts.wide_bound));
    counts->set_extrapolated(static_cast<double>(kernel.counts.extrapolated));
    counts->set_stale(static_cast<double>(kernel.counts.stale));
    counts->set_default_configuration(
        static_cast<double>(kernel.counts.defaults));
    for (const HeavyHitters::Entry& entry : kernel.problems) {
      v1::UsedProblem* const used = usage->add_problems();
      *used->mutable_problem() =
          ProblemToProto(kernel.identity.dimensions, entry.problem);
      used->set_decisions(entry.weight);
      used->set_overcount(entry.error);
    }
  }
  return request;
}

std::unique_ptr<UsageSender> MakeGrpcUsageSender(
    const std::shared_ptr<grpc::Channel>& channel) {
  return std::make_unique<GrpcUsageSender>(v1::UsageService::NewStub(channel));
}

}  // namespace wavetune
