#include <memory>

#include "base/clock.h"
#include "proto/wavetune/v1/usage_service.grpc.pb.h"
#include "server/rpc/bounded_call.h"
#include "server/rpc/caller.h"
#include "server/rpc/peer_users.h"
#include "server/rpc/service_parts.h"
#include "server/rpc/usage_handler.h"
#include "server/rpc/work_queue.h"

namespace wavetune {
namespace {

using grpc::CallbackServerContext;

// Up to 64 kernels with 64 problems of eight dimensions each.
constexpr RequestBounds kUsageReport{2 * kMiB, 12 * kMiB};

// Who reports use by a call.
UsageHandler::Peer ReporterOf(const PeerUsers* peers,
                              const CallbackServerContext& context) {
  UsageHandler::Peer peer{.user = UserOf(peers, context),
                          .process = context.peer()};
  if (peers == nullptr) return peer;
  if (const auto connection = peers->Find(context.peer())) {
    peer.connected_s = static_cast<double>(SystemClock().SteadyNow().count() -
                                           connection->since_us) *
                       1e-6;
  }
  return peer;
}

using RawUsageService = v1::UsageService::WithRawCallbackMethod_ReportUsage<
    v1::UsageService::WithRawCallbackMethod_GetUsage<
        v1::UsageService::Service>>;

class UsageService final : public RawUsageService {
 public:
  UsageService(UsageHandler* handler, WorkQueue* work, const PeerUsers* peers)
      : handler_(handler), work_(work), peers_(peers) {}

  WAVETUNE_RAW_METHOD(ReportUsage) {
    const UsageHandler::Peer peer = ReporterOf(peers_, *context);
    if (absl::Status turn = handler_->TakeTurn(peer); !turn.ok()) {
      return FinishNow(context, turn);
    }
    return AnswerLater<v1::ReportUsageRequest, v1::ReportUsageResponse>(
        context, *in, out, kUsageReport, {work_, peer.user},
        [this, peer](const auto& request, auto* response) {
          return handler_->ReportUsage(request, peer, response);
        });
  }
  WAVETUNE_ANSWER(GetUsage, kFewWords, handler_->GetUsage)

 private:
  UsageHandler* const handler_;
  WorkQueue* const work_;
  const PeerUsers* const peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeUsageService(
    const ReaderHandlers& handlers) {
  return std::make_unique<UsageService>(handlers.usage, handlers.usage_work,
                                        handlers.peers);
}

}  // namespace wavetune
