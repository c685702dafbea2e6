// The daemon as the command line sees it, by role. Tests put a fake behind each
// role.
#ifndef WAVETUNE_CLI_DAEMON_H_
#define WAVETUNE_CLI_DAEMON_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/wavetune/v1/admin_service.pb.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "proto/wavetune/v1/table_service.pb.h"
#include "proto/wavetune/v1/usage_service.pb.h"
#include "proto/wavetune/v1/workload_service.pb.h"

namespace wavetune::cli {

// StatusReader: what the daemon knows, as the command line reads it.
//
// Every method is one RPC. Errors: the daemon's; UNAVAILABLE with what to do
// where it cannot be reached; of a stream CANCELLED where the user interrupted.
class StatusReader {
 public:
  virtual ~StatusReader() = default;
  virtual absl::StatusOr<v1::GetStatusResponse> GetStatus() = 0;
  virtual absl::StatusOr<v1::ListDevicesResponse> ListDevices() = 0;
  virtual absl::StatusOr<v1::GetFleetResponse> GetFleet() = 0;
  virtual absl::StatusOr<v1::ListFleetNodesResponse> ListFleetNodes() = 0;
  virtual absl::StatusOr<v1::ListKernelsResponse> ListKernels() = 0;
  // Newest first; 0 means the daemon's default number.
  virtual absl::StatusOr<v1::ListJobsResponse> ListJobs(int32_t limit) = 0;
  virtual absl::StatusOr<v1::JobInfo> GetJob(uint64_t id) = 0;
  // UNIMPLEMENTED from an older daemon. 0 problems: the daemon's default.
  virtual absl::StatusOr<v1::GetUsageResponse> GetUsage(int32_t problems) = 0;
  // FAILED_PRECONDITION from a daemon that keeps none, as the next.
  virtual absl::StatusOr<v1::ListEventsResponse> ListEvents(
      const v1::ListEventsRequest& request) = 0;
  // A stream: calls `on_event` for each.
  virtual absl::Status WatchEvents(
      const v1::WatchEventsRequest& request,
      const std::function<void(const v1::WatchEventsResponse&)>& on_event) = 0;
  // A stream: calls `on_message` for each of its messages.
  virtual absl::Status ListSamples(
      const v1::ListSamplesRequest& request,
      const std::function<void(const v1::ListSamplesResponse&)>&
          on_message) = 0;
};

// TableReader: the tables that the daemon serves, as the command line reads
// them.
//
// Errors: as StatusReader.
class TableReader {
 public:
  virtual ~TableReader() = default;
  virtual absl::StatusOr<v1::ListTablesResponse> ListTables(
      const v1::ListTablesRequest& request) = 0;
  virtual absl::StatusOr<v1::GetTableResponse> GetTable(
      const v1::GetTableRequest& request) = 0;
  // FAILED_PRECONDITION from a daemon that keeps none.
  virtual absl::StatusOr<v1::ListTableHistoryResponse> ListTableHistory(
      const v1::ListTableHistoryRequest& request) = 0;
  virtual absl::StatusOr<v1::ListRejectedTablesResponse> ListRejectedTables(
      const v1::ListRejectedTablesRequest& request) = 0;
};

// TableControl: says which tables serve.
//
// Errors: as StatusReader; FAILED_PRECONDITION also from a daemon that is older
// than this.
class TableControl {
 public:
  virtual ~TableControl() = default;
  virtual absl::StatusOr<v1::RollBackResponse> RollBack(
      const v1::RollBackRequest& request) = 0;
  virtual absl::StatusOr<v1::PinTableResponse> Pin(
      const v1::PinTableRequest& request) = 0;
  virtual absl::Status Unpin(const v1::UnpinTableRequest& request) = 0;
  virtual absl::StatusOr<v1::ImportTableResponse> Import(
      const v1::ImportTableRequest& request) = 0;
  virtual absl::StatusOr<v1::RetireTableResponse> Retire(
      const v1::RetireTableRequest& request) = 0;
};

// FleetControl: says what the fleet serves.
//
// Errors: as TableControl; UNAVAILABLE also where the registry is out of reach.
class FleetControl {
 public:
  virtual ~FleetControl() = default;
  virtual absl::StatusOr<v1::PublishToFleetResponse> Publish(
      const v1::PublishToFleetRequest& request) = 0;
  virtual absl::StatusOr<v1::FreezeInFleetResponse> Freeze(
      const v1::FreezeInFleetRequest& request) = 0;
  virtual absl::StatusOr<v1::UnfreezeInFleetResponse> Unfreeze(
      const v1::UnfreezeInFleetRequest& request) = 0;
  virtual absl::StatusOr<v1::RollBackFleetResponse> RollBackFleet(
      const v1::RollBackFleetRequest& request) = 0;
};

// StoreControl: work on the daemon's store while it runs.
//
// Each is a stream: calls `on_progress` until the work ends; the last is
// `done`. Errors: as TableControl; FAILED_PRECONDITION where other work runs.
class StoreControl {
 public:
  using OnProgress = std::function<void(const v1::StoreProgress&)>;

  virtual ~StoreControl() = default;
  virtual absl::Status BackUp(const OnProgress& on_progress) = 0;
  virtual absl::Status Check(const OnProgress& on_progress) = 0;
  virtual absl::Status Compact(const OnProgress& on_progress) = 0;
};

// JobControl: starts, watches and cancels the daemon's jobs.
//
// Errors: as StatusReader; CANCELLED where the user interrupted a stream.
class JobControl {
 public:
  virtual ~JobControl() = default;
  virtual absl::StatusOr<v1::ReprofileResponse> Reprofile(
      const v1::ReprofileRequest& request) = 0;
  virtual absl::StatusOr<v1::JobInfo> CancelJob(uint64_t id) = 0;
  // Calls `on_job` for every change until the job ends.
  virtual absl::Status WatchJob(
      uint64_t id, const std::function<void(const v1::JobInfo&)>& on_job) = 0;
  // Calls `on_event` for progress and results until the measuring job ends.
  virtual absl::Status Measure(
      const v1::MeasureRequest& request,
      const std::function<void(const v1::MeasureResponse&)>& on_event) = 0;
};

// WorkloadControl: the workloads that were declared.
//
// Errors: as StatusReader; FAILED_PRECONDITION from a daemon that is older than
// workloads.
class WorkloadControl {
 public:
  virtual ~WorkloadControl() = default;
  virtual absl::StatusOr<v1::AddWorkloadResponse> AddWorkload(
      const v1::AddWorkloadRequest& request) = 0;
  virtual absl::StatusOr<v1::ListWorkloadsResponse> ListWorkloads() = 0;
  virtual absl::StatusOr<v1::GetWorkloadResponse> GetWorkload(
      const std::string& name) = 0;
  virtual absl::Status RemoveWorkload(const std::string& name) = 0;
};

// All of them.
struct DaemonConnection {
  std::shared_ptr<StatusReader> status;
  std::shared_ptr<TableReader> tables;
  std::shared_ptr<TableControl> table_control;
  std::shared_ptr<FleetControl> fleet;
  std::shared_ptr<StoreControl> store;
  std::shared_ptr<JobControl> jobs;
  std::shared_ptr<WorkloadControl> workloads;
};

// Returns a connection to the daemon whose reader socket is `endpoint`. Does
// not connect yet. Errors: INVALID_ARGUMENT for an endpoint that is none.
using ConnectFunction =
    std::function<absl::StatusOr<DaemonConnection>(const std::string&)>;

// As ConnectFunction, over gRPC: only grpc_daemon.cc knows it. The admin socket
// is the reader socket's sibling. Unary calls time out after `timeout_s`;
// streams end when the user interrupts.
absl::StatusOr<DaemonConnection> ConnectGrpcDaemon(
    const std::string& reader_endpoint, double timeout_s = 10);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_DAEMON_H_
