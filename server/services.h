// The gRPC services: thin shells over the handlers.
//
// Everything uses the callback API: a thousand watchers take no thread each.
#ifndef WAVETUNE_SERVER_SERVICES_H_
#define WAVETUNE_SERVER_SERVICES_H_

#include <memory>
#include <vector>

#include "grpcpp/impl/service_type.h"
#include "server/admin_handler.h"
#include "server/agent_directory.h"
#include "server/agent_session.h"
#include "server/decision_handler.h"
#include "server/sample_handler.h"
#include "server/status_handler.h"
#include "server/stream_reactor.h"
#include "server/table_handler.h"
#include "server/usage_handler.h"

namespace wavetune {

using Services = std::vector<std::unique_ptr<grpc::Service>>;

// Return what stands behind each socket. Handlers and `streams` outlive the
// services. `usage` may be nullptr: reports are answered UNIMPLEMENTED.
Services ReaderServices(TableHandler* tables, DecisionHandler* decisions,
                        StatusHandler* status, SampleHandler* samples,
                        UsageHandler* usage, StreamSet* streams);
Services AgentServices(AgentDirectory* devices,
                       const AgentSession::Options& options,
                       StreamSet* streams);
Services AdminServices(AdminHandler* admin, StreamSet* streams);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_SERVICES_H_
