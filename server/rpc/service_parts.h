// The services one by one, for services.cc to put together.
#ifndef WAVETUNE_SERVER_RPC_SERVICE_PARTS_H_
#define WAVETUNE_SERVER_RPC_SERVICE_PARTS_H_

#include <memory>

#include "grpcpp/impl/service_type.h"
#include "server/rpc/request_bounds.h"
#include "server/rpc/services.h"

namespace wavetune {

// Limits of requests (docs/limits.md): what they take on the wire, and parsed.
// Of a name or two, an id, a digest. Those that one service needs alone are
// beside it.
inline constexpr RequestBounds kFewWords{4 * kKiB, 64 * kKiB};

// Return one service each. Arguments as in services.h; those of a service are
// not nullptr.
std::unique_ptr<grpc::Service> MakeTableService(const ReaderHandlers& handlers,
                                                StreamSet* streams);
std::unique_ptr<grpc::Service> MakeDecisionService(DecisionHandler* handler);
std::unique_ptr<grpc::Service> MakeStatusService(const ReaderHandlers& handlers,
                                                 StreamSet* streams);
std::unique_ptr<grpc::Service> MakeUsageService(const ReaderHandlers& handlers);
std::unique_ptr<grpc::Service> MakeWorkloadService(
    const ReaderHandlers& handlers);
std::unique_ptr<grpc::Service> MakeAgentService(
    AgentDirectory* devices, const AgentSession::Options& options,
    StreamSet* streams, const PeerUsers* peers);
std::unique_ptr<grpc::Service> MakeAdminService(const AdminHandlers& handlers,
                                                const AdminWork& work,
                                                StreamSet* streams,
                                                const PeerUsers* peers);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_SERVICE_PARTS_H_
