// DaemonOptions: what a daemon is told at its start; DaemonStores: where it
// keeps things. Includes no gRPC.
#ifndef WAVETUNE_SERVER_DAEMON_OPTIONS_H_
#define WAVETUNE_SERVER_DAEMON_OPTIONS_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/fleet/fleet_member.h"
#include "server/jobs/profiling_functions.h"
#include "server/rpc/status_handler.h"
#include "server/rpc/tls_access.h"
#include "server/store/device_store.h"
#include "server/store/event_store.h"
#include "server/store/fleet_head_store.h"
#include "server/store/job_store.h"
#include "server/store/retention.h"
#include "server/store/sample_store.h"
#include "server/store/store_maintenance.h"
#include "server/store/table_store.h"
#include "server/store/usage_store.h"
#include "server/store/workload_store.h"
#include "server/usage/usage_top_ups.h"

namespace wavetune {

// Where the daemon keeps things. All outlive the daemon.
struct DaemonStores {
  SampleStore* samples = nullptr;
  TableStore* tables = nullptr;
  JobStore* jobs = nullptr;
  DeviceStore* devices = nullptr;
  StoreFacts facts;
  UsageStore* usage = nullptr;         // nullptr: use is forgotten at the end.
  WorkloadStore* workloads = nullptr;  // nullptr: as usage.
  EventStore* events = nullptr;        // nullptr: as usage.
  // What a fleet's member has accepted; needed by one.
  FleetHeadStore* fleet_heads = nullptr;
  // nullptr: no backup, check or compaction while the daemon runs.
  StoreMaintenance* maintenance = nullptr;
};

// How the daemon is reached over TCP, with TLS alone.
struct TcpOptions {
  std::string address;     // "host:port", as ListenOnTcp; empty: not at all.
  TlsAccess::Files files;  // All of them with an address.
  std::chrono::milliseconds look_interval = TlsAccess::kInterval;
  // As UserServers::Options::ping_after.
  std::chrono::milliseconds ping_after{30000};
};

struct DaemonOptions {
  std::string reader_socket;  // Mode 0666; 0660 with a reader group.
  std::string agent_socket;   // Mode 0660.
  std::string admin_socket;   // Mode 0660.
  // Whose the sockets are, beside the process's user; the process is in each.
  // Nothing: its own group, and of the reader socket everybody.
  std::optional<gid_t> reader_group;
  std::optional<gid_t> agent_group;
  std::optional<gid_t> admin_group;
  TcpOptions tcp;
  FleetMembership fleet;
  std::vector<std::string> kernels_dirs;
  std::string version;
  double default_budget_s = 60;
  bool even_if_busy = false;  // Measure also while others use a device.
  double agent_wait_s = 600;
  double hot_wait_s = 600;  // For a device that is too hot.
  double heartbeat_timeout_s = 30;
  // For each message to whoever lists samples.
  std::chrono::milliseconds listing_patience{30000};
  // Between looks at a store that cannot be written, and at whether its folder
  // is still there.
  std::chrono::milliseconds store_look_interval{2000};
  int generations_kept = 3;  // Generations of samples per kernel and class.
  ProfilingFunctions profiling;
  RetentionLimits retention;  // How long records stay; applied once a day.
  // Where backups go that an admin asks for; empty: none can be asked for.
  std::string backup_folder;
  UsageTopUps::Options top_ups;  // When top-ups are queued.
  bool auto_drift = false;       // Tables that became stale are judged anew.
  // Files that the process may open (RaiseDescriptorLimit): bounds connections.
  uint64_t descriptors = 65536;
  // Where Prometheus may ask over HTTP, as MetricsEndpoint; empty: nowhere.
  std::string metrics_address = "";
  // nullptr: the system's. Outlives the daemon.
  Clock* clock = nullptr;
  // Called each second in which every socket was seen to take connections, and
  // with what people should know of the daemon's state; for a service manager
  // (base/service_notify.h). Must not wait.
  std::function<void()> alive = [] {};
  std::function<void(const std::string&)> tell_state = [](const std::string&) {
  };
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_DAEMON_OPTIONS_H_
