// FakeDaemon: the daemon's roles answered from plain fields.
#ifndef WAVETUNE_CLI_FAKE_DAEMON_H_
#define WAVETUNE_CLI_FAKE_DAEMON_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/daemon.h"

namespace wavetune::cli {

class FakeDaemon : public StatusReader,
                   public TableReader,
                   public TableControl,
                   public FleetControl,
                   public StoreControl,
                   public JobControl,
                   public WorkloadControl {
 public:
  // The answers.
  absl::Status error;  // Not OK: every call fails with it.
  v1::GetStatusResponse status;
  v1::ListDevicesResponse devices;
  v1::GetFleetResponse fleet;
  absl::StatusOr<v1::ListFleetNodesResponse> fleet_nodes =
      v1::ListFleetNodesResponse();
  v1::ListKernelsResponse kernels;
  v1::ListTablesResponse tables;
  v1::ListTableHistoryResponse history;
  v1::ListRejectedTablesResponse rejected;
  v1::RollBackResponse rolled_back;
  v1::PublishToFleetResponse published;
  v1::RollBackFleetResponse fleet_rolled_back;
  v1::PinTableResponse pinned;
  v1::ImportTableResponse imported;
  std::vector<v1::StoreProgress> store_progress;
  v1::RetireTableResponse retired;
  v1::ListEventsResponse events;
  std::vector<v1::WatchEventsResponse> new_events;
  v1::GetUsageResponse usage;
  std::vector<v1::GetWorkloadResponse> workloads;
  absl::Status usage_error;  // Not OK: an older daemon, say.
  std::vector<v1::GetTableResponse> payloads;
  std::vector<v1::ListSamplesResponse> samples;
  absl::Status samples_end;          // How ListSamples ends.
  std::vector<v1::JobInfo> jobs;     // Newest first.
  std::vector<v1::JobInfo> watched;  // What WatchJob reports, in order.
  absl::Status watch_end;            // How WatchJob and WatchEvents end.
  std::vector<v1::MeasureResponse> measured;
  absl::Status measure_end;

  // The requests.
  v1::ListSamplesRequest samples_request;
  v1::ReprofileRequest reprofile_request;
  std::vector<v1::PlannedJob> planned;
  std::vector<v1::AskedProfile> asked;
  std::vector<v1::ReprofileRequest> reprofile_requests;  // All of them.
  v1::ListEventsRequest events_request;
  v1::WatchEventsRequest watch_events_request;
  v1::ListTableHistoryRequest history_request;
  v1::RollBackRequest rollback_request;
  v1::PinTableRequest pin_request;
  v1::UnpinTableRequest unpin_request;
  v1::ImportTableRequest import_request;
  std::vector<std::string> store_work;  // "backup", ...
  v1::RetireTableRequest retire_request;
  v1::PublishToFleetRequest publish_request;
  v1::FreezeInFleetRequest freeze_request;
  v1::UnfreezeInFleetRequest unfreeze_request;
  v1::RollBackFleetRequest fleet_rollback_request;
  v1::AddWorkloadRequest workload_request;
  std::vector<std::string> removed_workloads;
  v1::MeasureRequest measure_request;
  std::vector<uint64_t> cancelled;

  absl::StatusOr<v1::GetStatusResponse> GetStatus() override {
    return Answer(status);
  }
  absl::StatusOr<v1::ListFleetNodesResponse> ListFleetNodes() override {
    return fleet_nodes;
  }
  absl::StatusOr<v1::GetFleetResponse> GetFleet() override {
    return Answer(fleet);
  }
  absl::StatusOr<v1::ListDevicesResponse> ListDevices() override {
    return Answer(devices);
  }
  absl::StatusOr<v1::ListKernelsResponse> ListKernels() override {
    return Answer(kernels);
  }
  absl::StatusOr<v1::ListJobsResponse> ListJobs(int32_t limit) override {
    v1::ListJobsResponse response;
    for (const v1::JobInfo& job : jobs) {
      if (response.jobs_size() < limit) *response.add_jobs() = job;
    }
    return Answer(response);
  }
  absl::StatusOr<v1::JobInfo> GetJob(uint64_t id) override {
    for (const v1::JobInfo& job : jobs) {
      if (job.id() == id) return Answer(job);
    }
    return absl::NotFoundError(absl::StrCat("no job ", id));
  }
  absl::StatusOr<v1::GetUsageResponse> GetUsage(int32_t) override {
    if (!usage_error.ok()) return usage_error;
    return Answer(usage);
  }
  absl::StatusOr<v1::ListEventsResponse> ListEvents(
      const v1::ListEventsRequest& request) override {
    events_request = request;
    return Answer(events);
  }
  absl::Status WatchEvents(
      const v1::WatchEventsRequest& request,
      const std::function<void(const v1::WatchEventsResponse&)>& on_event)
      override {
    watch_events_request = request;
    for (const v1::WatchEventsResponse& event : new_events) on_event(event);
    return error.ok() ? watch_end : error;
  }
  absl::Status ListSamples(
      const v1::ListSamplesRequest& request,
      const std::function<void(const v1::ListSamplesResponse&)>& on_message)
      override {
    samples_request = request;
    for (const v1::ListSamplesResponse& message : samples) on_message(message);
    return error.ok() ? samples_end : error;
  }
  absl::StatusOr<v1::ListTablesResponse> ListTables(
      const v1::ListTablesRequest&) override {
    return Answer(tables);
  }
  absl::StatusOr<v1::GetTableResponse> GetTable(
      const v1::GetTableRequest& request) override {
    for (const v1::GetTableResponse& payload : payloads) {
      if (payload.info().digest() == request.digest() ||
          payload.info().kernel() == request.kernel())
        return Answer(payload);
    }
    return absl::NotFoundError("no such table");
  }
  absl::StatusOr<v1::ListTableHistoryResponse> ListTableHistory(
      const v1::ListTableHistoryRequest& request) override {
    history_request = request;
    return Answer(history);
  }
  absl::StatusOr<v1::ListRejectedTablesResponse> ListRejectedTables(
      const v1::ListRejectedTablesRequest&) override {
    return Answer(rejected);
  }
  absl::StatusOr<v1::RollBackResponse> RollBack(
      const v1::RollBackRequest& request) override {
    rollback_request = request;
    return Answer(rolled_back);
  }
  absl::StatusOr<v1::PinTableResponse> Pin(
      const v1::PinTableRequest& request) override {
    pin_request = request;
    return Answer(pinned);
  }
  absl::Status Unpin(const v1::UnpinTableRequest& request) override {
    unpin_request = request;
    return error;
  }
  absl::StatusOr<v1::ImportTableResponse> Import(
      const v1::ImportTableRequest& request) override {
    import_request = request;
    return Answer(imported);
  }
  absl::StatusOr<v1::RetireTableResponse> Retire(
      const v1::RetireTableRequest& request) override {
    retire_request = request;
    return Answer(retired);
  }
  absl::StatusOr<v1::PublishToFleetResponse> Publish(
      const v1::PublishToFleetRequest& request) override {
    publish_request = request;
    return Answer(published);
  }
  absl::StatusOr<v1::FreezeInFleetResponse> Freeze(
      const v1::FreezeInFleetRequest& request) override {
    freeze_request = request;
    return Answer(v1::FreezeInFleetResponse());
  }
  absl::StatusOr<v1::UnfreezeInFleetResponse> Unfreeze(
      const v1::UnfreezeInFleetRequest& request) override {
    unfreeze_request = request;
    return Answer(v1::UnfreezeInFleetResponse());
  }
  absl::StatusOr<v1::RollBackFleetResponse> RollBackFleet(
      const v1::RollBackFleetRequest& request) override {
    fleet_rollback_request = request;
    return Answer(fleet_rolled_back);
  }
  absl::Status BackUp(const OnProgress& on_progress) override {
    return WorkOnStore("backup", on_progress);
  }
  absl::Status Check(const OnProgress& on_progress) override {
    return WorkOnStore("check", on_progress);
  }
  absl::Status Compact(const OnProgress& on_progress) override {
    return WorkOnStore("compact", on_progress);
  }
  absl::StatusOr<v1::ReprofileResponse> Reprofile(
      const v1::ReprofileRequest& request) override {
    reprofile_request = request;
    reprofile_requests.push_back(request);
    v1::ReprofileResponse response;
    for (const v1::JobInfo& job : jobs) *response.add_jobs() = job;
    for (const v1::PlannedJob& job : planned) *response.add_planned() = job;
    for (const v1::AskedProfile& one : asked) *response.add_asked() = one;
    return Answer(response);
  }
  absl::StatusOr<v1::JobInfo> CancelJob(uint64_t id) override {
    cancelled.push_back(id);
    return GetJob(id);
  }
  absl::Status WatchJob(
      uint64_t,
      const std::function<void(const v1::JobInfo&)>& on_job) override {
    for (const v1::JobInfo& job : watched) on_job(job);
    return watch_end;
  }
  absl::Status Measure(const v1::MeasureRequest& request,
                       const std::function<void(const v1::MeasureResponse&)>&
                           on_event) override {
    measure_request = request;
    if (!error.ok()) return error;
    for (const v1::MeasureResponse& event : measured) on_event(event);
    return measure_end;
  }
  absl::StatusOr<v1::AddWorkloadResponse> AddWorkload(
      const v1::AddWorkloadRequest& request) override {
    workload_request = request;
    v1::AddWorkloadResponse response;
    v1::WorkloadInfo& info = *response.mutable_workload();
    info.set_name(request.name());
    info.set_architecture("LlamaForCausalLM");
    v1::WorkloadKernel& kernel = *info.add_kernels();
    kernel.set_kernel("gemm");
    kernel.set_problems(60);
    return Answer(response);
  }
  absl::StatusOr<v1::ListWorkloadsResponse> ListWorkloads() override {
    v1::ListWorkloadsResponse response;
    for (const v1::GetWorkloadResponse& one : workloads) {
      *response.add_workloads() = one.workload();
    }
    return Answer(response);
  }
  absl::StatusOr<v1::GetWorkloadResponse> GetWorkload(
      const std::string& name) override {
    for (const v1::GetWorkloadResponse& one : workloads) {
      if (one.workload().name() == name) return Answer(one);
    }
    return absl::NotFoundError(absl::StrCat("there is no workload ", name));
  }
  absl::Status RemoveWorkload(const std::string& name) override {
    removed_workloads.push_back(name);
    return error;
  }

 private:
  absl::Status WorkOnStore(const std::string& work,
                           const OnProgress& on_progress) {
    store_work.push_back(work);
    for (const v1::StoreProgress& progress : store_progress)
      on_progress(progress);
    return error;
  }

  template <typename Response>
  absl::StatusOr<Response> Answer(const Response& response) const {
    if (!error.ok()) return error;
    return response;
  }
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_FAKE_DAEMON_H_
