// StatusHandler: what StatusService does. Knows no gRPC.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_STATUS_HANDLER_H_
#define WAVETUNE_SERVER_RPC_STATUS_HANDLER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/default_faults.h"
#include "server/catalog/disk_kernel_catalog.h"
#include "server/catalog/node_staleness.h"
#include "server/catalog/table_catalog.h"
#include "server/catalog/table_lookup.h"
#include "server/fleet/fleet_view.h"
#include "server/jobs/job_queue.h"
#include "server/store/sample_store.h"

namespace wavetune {

// What a store says of itself.
struct StoreFacts {
  std::string store_id;
  std::string path;
  int schema_version = 0;
  std::function<int64_t()> corrupt_entries = [] { return int64_t{0}; };
  // OK, or why nothing can be written at the moment.
  std::function<absl::Status()> write_problem = [] { return absl::OkStatus(); };
  // Makes writes possible again where it can; returns write_problem. Called
  // every few seconds.
  std::function<absl::Status()> tend = [] { return absl::OkStatus(); };
};

class StatusHandler {
 public:
  // Pointers outlive the handler.
  struct Options {
    std::string version;
    StoreFacts store;
    SampleStore* samples = nullptr;
    TableCatalog* tables = nullptr;
    AgentDirectory* devices = nullptr;
    DiskKernelCatalog* kernels = nullptr;
    JobQueue* jobs = nullptr;
    Clock* clock = nullptr;
    DefaultFaults* default_faults = nullptr;  // nullptr: none is known.
    std::function<int()> watchers;
    // Looks at the kernels folders before they are listed; may be empty.
    std::function<void()> refresh_kernels;
    // nullptr, or returns nothing: the node is in no fleet.
    std::function<std::optional<FleetView>()> fleet;
    // Asks the registry. Errors: also FAILED_PRECONDITION: it is in none.
    std::function<absl::StatusOr<FleetSummary>()> fleet_summary;
  };

  explicit StatusHandler(Options options);

  absl::Status GetStatus(v1::GetStatusResponse* response) const;
  absl::Status ListDevices(v1::ListDevicesResponse* response) const;
  absl::Status GetFleet(v1::GetFleetResponse* response) const;
  // Waits for the registry, seconds at most.
  absl::Status ListFleetNodes(v1::ListFleetNodesResponse* response) const;
  absl::Status ListKernels(v1::ListKernelsResponse* response) const;
  absl::Status ListJobs(const v1::ListJobsRequest& request,
                        v1::ListJobsResponse* response) const;
  absl::Status GetJob(const v1::GetJobRequest& request,
                      v1::GetJobResponse* response) const;
  // As JobQueue::InMemory: whether GetJob needs no store.
  bool InMemory(uint64_t job) const { return options_.jobs->InMemory(job); }

 private:
  // Adds on which attached devices the kernel's default does not work.
  void AddDefaultFaults(v1::KernelStatus& kernel) const;

  const Options options_;
  const TableLookup lookup_;
  const NodeStaleness staleness_;
  const int64_t started_us_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_STATUS_HANDLER_H_
