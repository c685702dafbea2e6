// The gRPC services: thin shells over the handlers.
//
// Everything uses the callback API: a thousand watchers take no thread each.
#ifndef WAVETUNE_SERVER_RPC_SERVICES_H_
#define WAVETUNE_SERVER_RPC_SERVICES_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "grpcpp/impl/service_type.h"
#include "server/agents/agent_directory.h"
#include "server/agents/agent_session.h"
#include "server/fleet/fleet_admin.h"
#include "server/rpc/admin_handler.h"
#include "server/rpc/decision_handler.h"
#include "server/rpc/event_handler.h"
#include "server/rpc/peer_users.h"
#include "server/rpc/sample_handler.h"
#include "server/rpc/status_handler.h"
#include "server/rpc/store_admin.h"
#include "server/rpc/stream_reactor.h"
#include "server/rpc/table_admin.h"
#include "server/rpc/table_handler.h"
#include "server/rpc/usage_handler.h"
#include "server/rpc/work_queue.h"
#include "server/rpc/workload_handler.h"

namespace wavetune {

// Largest messages that the sockets take; each method has a bound of its own.
inline constexpr size_t kMaxReaderBytes = size_t{4} << 20;
inline constexpr size_t kMaxAgentBytes = size_t{1} << 20;
inline constexpr size_t kMaxAdminBytes = size_t{4} << 20;

using Services = std::vector<std::unique_ptr<grpc::Service>>;

// What answers on the reader socket. A service without its handlers (nullptr)
// is left out: calls are answered UNIMPLEMENTED.
struct ReaderHandlers {
  TableHandler* tables = nullptr;
  DecisionHandler* decisions = nullptr;
  StatusHandler* status = nullptr;  // With `samples`.
  SampleHandler* samples = nullptr;
  EventHandler* events = nullptr;        // With `status`.
  UsageHandler* usage = nullptr;         // With `usage_work`.
  WorkloadHandler* workloads = nullptr;  // With `usage_work`, `read_work`.
  // Reads the store alone; nullptr: gRPC's threads read it.
  WorkQueue* read_work = nullptr;
  // Takes reports of use, as their counts are stored now and then, and
  // workloads.
  WorkQueue* usage_work = nullptr;
  // The users of calls; nullptr: all calls are one user's.
  const PeerUsers* peers = nullptr;
  // How long a reader of samples may take for a message.
  std::chrono::milliseconds listing_patience{30000};
};

// Return the services of each socket. Handlers and `streams` outlive them.
Services ReaderServices(const ReaderHandlers& handlers, StreamSet* streams);
Services AgentServices(AgentDirectory* devices,
                       const AgentSession::Options& options, StreamSet* streams,
                       const PeerUsers* peers);
// Where jobs are stored, and where those are read that are in the store alone.
struct AdminWork {
  WorkQueue* writes = nullptr;
  WorkQueue* reads = nullptr;
};
// What answers on the admin socket.
struct AdminHandlers {
  AdminHandler* jobs = nullptr;
  TableAdmin* tables = nullptr;
  WorkloadHandler* workloads = nullptr;  // nullptr: its call is UNIMPLEMENTED.
  StoreAdmin* store = nullptr;           // nullptr: as workloads.
  FleetAdmin* fleet = nullptr;           // nullptr: as workloads.
};
Services AdminServices(const AdminHandlers& handlers, const AdminWork& work,
                       StreamSet* streams, const PeerUsers* peers);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_SERVICES_H_
