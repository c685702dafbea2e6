#include <memory>
#include <string>

#include "proto/wavetune/v1/workload_service.grpc.pb.h"
#include "server/rpc/bounded_call.h"
#include "server/rpc/caller.h"
#include "server/rpc/service_parts.h"
#include "server/rpc/work_queue.h"
#include "server/rpc/workload_handler.h"

namespace wavetune {
namespace {

// A model's config.json, of 1 MiB at most, and the counts of 1,024 experts.
constexpr RequestBounds kWorkload{kMiB + 16 * kKiB, kMiB + 64 * kKiB};

using RawWorkloadService =
    v1::WorkloadService::WithRawCallbackMethod_AddWorkload<
        v1::WorkloadService::WithRawCallbackMethod_ListWorkloads<
            v1::WorkloadService::WithRawCallbackMethod_GetWorkload<
                v1::WorkloadService::Service>>>;

class WorkloadService final : public RawWorkloadService {
 public:
  explicit WorkloadService(const ReaderHandlers& handlers)
      : handler_(handlers.workloads),
        writes_(handlers.usage_work),
        reads_(handlers.read_work),
        peers_(handlers.peers) {}

  WAVETUNE_RAW_METHOD(AddWorkload) {
    const std::string user = UserOf(peers_, *context);
    if (absl::Status turn = handler_->TakeTurn(user); !turn.ok()) {
      return FinishNow(context, turn);
    }
    return AnswerLater<v1::AddWorkloadRequest, v1::AddWorkloadResponse>(
        context, *in, out, kWorkload, {writes_, user},
        [this, user](const auto& request, auto* response) {
          return handler_->AddWorkload(request, user, response);
        });
  }
  // Problems are counted for each workload and kernel, which takes its time.
  WAVETUNE_ANSWER_LATER(ListWorkloads, kFewWords, handler_->ListWorkloads,
                        reads_)
  WAVETUNE_ANSWER_LATER(GetWorkload, kFewWords, handler_->GetWorkload, reads_)

 private:
  WorkloadHandler* const handler_;
  WorkQueue* const writes_;
  WorkQueue* const reads_;
  const PeerUsers* const peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeWorkloadService(
    const ReaderHandlers& handlers) {
  return std::make_unique<WorkloadService>(handlers);
}

}  // namespace wavetune
