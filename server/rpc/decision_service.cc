#include <memory>

#include "proto/wavetune/v1/decision_service.grpc.pb.h"
#include "server/rpc/bounded_call.h"
#include "server/rpc/decision_handler.h"
#include "server/rpc/service_parts.h"

namespace wavetune {
namespace {

// One problem, of many experts perhaps.
constexpr RequestBounds kOneProblem{64 * kKiB, kMiB};
// Up to 4,096 problems.
constexpr RequestBounds kProblems{kMaxReaderBytes, 24 * kMiB};

using RawDecisionService = v1::DecisionService::WithRawCallbackMethod_Resolve<
    v1::DecisionService::WithRawCallbackMethod_Explain<
        v1::DecisionService::Service>>;

class DecisionService final : public RawDecisionService {
 public:
  explicit DecisionService(DecisionHandler* handler) : handler_(handler) {}

  WAVETUNE_ANSWER(Resolve, kProblems, handler_->Resolve)
  WAVETUNE_ANSWER(Explain, kOneProblem, handler_->Explain)

 private:
  DecisionHandler* const handler_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeDecisionService(DecisionHandler* handler) {
  return std::make_unique<DecisionService>(handler);
}

}  // namespace wavetune
