#include "server/rpc/services.h"

#include "server/rpc/service_parts.h"

namespace wavetune {

Services ReaderServices(const ReaderHandlers& handlers, StreamSet* streams) {
  Services services;
  if (handlers.tables != nullptr) {
    services.push_back(MakeTableService(handlers, streams));
  }
  if (handlers.decisions != nullptr) {
    services.push_back(MakeDecisionService(handlers.decisions));
  }
  if (handlers.status != nullptr && handlers.samples != nullptr &&
      handlers.events != nullptr) {
    services.push_back(MakeStatusService(handlers, streams));
  }
  if (handlers.usage != nullptr && handlers.usage_work != nullptr) {
    services.push_back(MakeUsageService(handlers));
  }
  if (handlers.workloads != nullptr && handlers.usage_work != nullptr &&
      handlers.read_work != nullptr) {
    services.push_back(MakeWorkloadService(handlers));
  }
  return services;
}

Services AgentServices(AgentDirectory* devices,
                       const AgentSession::Options& options, StreamSet* streams,
                       const PeerUsers* peers) {
  Services services;
  services.push_back(MakeAgentService(devices, options, streams, peers));
  return services;
}

Services AdminServices(const AdminHandlers& handlers, const AdminWork& work,
                       StreamSet* streams, const PeerUsers* peers) {
  Services services;
  services.push_back(MakeAdminService(handlers, work, streams, peers));
  return services;
}

}  // namespace wavetune
