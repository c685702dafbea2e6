#include <memory>

#include "proto/wavetune/v1/decision_service.grpc.pb.h"
#include "server/rpc/bounded_call.h"
#include "server/rpc/decision_handler.h"
#include "server/rpc/service_parts.h"

namespace wavetune {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

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

  ServerUnaryReactor* Resolve(CallbackServerContext* context,
                              const ByteBuffer* in, ByteBuffer* out) override {
    return Answer<v1::ResolveRequest, v1::ResolveResponse>(
        context, *in, out, kProblems,
        [this](const auto& request, auto* response) {
          return handler_->Resolve(request, response);
        });
  }
  ServerUnaryReactor* Explain(CallbackServerContext* context,
                              const ByteBuffer* in, ByteBuffer* out) override {
    return Answer<v1::ExplainRequest, v1::ExplainResponse>(
        context, *in, out, kOneProblem,
        [this](const auto& request, auto* response) {
          return handler_->Explain(request, response);
        });
  }

 private:
  DecisionHandler* const handler_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeDecisionService(DecisionHandler* handler) {
  return std::make_unique<DecisionService>(handler);
}

}  // namespace wavetune
