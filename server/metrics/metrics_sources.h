// MetricsSources: where a daemon's metrics are read. All outlive their reader.
#ifndef WAVETUNE_SERVER_METRICS_METRICS_SOURCES_H_
#define WAVETUNE_SERVER_METRICS_METRICS_SOURCES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/node_staleness.h"
#include "server/catalog/table_catalog.h"
#include "server/fleet/fleet_view.h"
#include "server/jobs/job_queue.h"
#include "server/metrics/activity.h"
#include "server/rpc/status_handler.h"
#include "server/store/sample_store.h"

namespace wavetune {

struct MetricsSources {
  std::string version;
  StoreFacts store;
  TableCatalog* tables = nullptr;
  const NodeStaleness* staleness = nullptr;
  AgentDirectory* devices = nullptr;
  JobQueue* jobs = nullptr;
  SampleStore* samples = nullptr;
  const Activity* activity = nullptr;
  Clock* clock = nullptr;
  std::function<int()> watchers;
  // Watchers that were too slow for the notices in their queue.
  std::function<int64_t()> slow_watchers;
  // Both in seconds since the Unix epoch. The end of the certificate that
  // callers over TCP see; nothing: none is shown. The time of the newest
  // backup; 0: never, nothing: none can be asked for.
  std::function<std::optional<int64_t>()> certificate_until_s;
  std::function<std::optional<int64_t>()> newest_backup_s;
  // How the node stands to its fleet; nothing: it is in none.
  std::function<std::optional<FleetView>()> fleet;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_METRICS_METRICS_SOURCES_H_
