// FakeDaemon: the daemon answered from plain fields.
#ifndef WAVETUNE_CLI_FAKE_DAEMON_H_
#define WAVETUNE_CLI_FAKE_DAEMON_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/daemon.h"

namespace wavetune::cli {

class FakeDaemon : public Daemon {
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
  std::vector<std::string> store_work;  // Names of requests.
  v1::RetireTableRequest retire_request;
  v1::PublishToFleetRequest publish_request;
  v1::FreezeInFleetRequest freeze_request;
  v1::UnfreezeInFleetRequest unfreeze_request;
  v1::RollBackFleetRequest fleet_rollback_request;
  v1::AddWorkloadRequest workload_request;
  std::vector<std::string> removed_workloads;
  v1::MeasureRequest measure_request;
  std::vector<uint64_t> cancelled;

  FakeDaemon() {
    On<v1::GetStatusRequest>(&status);
    On<v1::ListDevicesRequest>(&devices);
    On<v1::GetFleetRequest>(&fleet);
    On<v1::ListKernelsRequest>(&kernels);
    On<v1::ListTablesRequest>(&tables);
    On(&events, &events_request);
    On(&history, &history_request);
    On<v1::ListRejectedTablesRequest>(&rejected);
    On(&rolled_back, &rollback_request);
    On(&pinned, &pin_request);
    On(&unpinned_, &unpin_request);
    On(&imported, &import_request);
    On(&retired, &retire_request);
    On(&published, &publish_request);
    On(&frozen_, &freeze_request);
    On(&unfrozen_, &unfreeze_request);
    On(&fleet_rolled_back, &fleet_rollback_request);
    Do<v1::ListFleetNodesRequest, v1::ListFleetNodesResponse>(
        [this](const auto&) { return fleet_nodes; });
    Do<v1::GetUsageRequest, v1::GetUsageResponse>(
        [this](const auto&) -> absl::StatusOr<v1::GetUsageResponse> {
          if (!usage_error.ok()) return usage_error;
          return usage;
        });
    Do<v1::GetTableRequest, v1::GetTableResponse>(
        [this](const auto& request) { return TableOf(request); });
    AddJobs();
    AddWorkloads();
  }
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

 protected:
  absl::Status Call(const google::protobuf::Message& request,
                    google::protobuf::Message* response) override {
    const auto method = methods_.find(request.GetDescriptor());
    if (method == methods_.end())
      return absl::UnimplementedError(request.GetTypeName());
    const absl::Status answered = method->second(request, response);
    return answered.ok() ? error : answered;
  }

  absl::Status Stream(const google::protobuf::Message& request,
                      google::protobuf::Message* message,
                      absl::FunctionRef<void()> on_message) override {
    const auto* const type = request.GetDescriptor();
    const auto send = [&](const auto& messages) {
      for (const auto& one : messages) {
        message->CopyFrom(one);
        on_message();
      }
    };
    if (type == v1::WatchEventsRequest::descriptor()) {
      watch_events_request.CopyFrom(request);
      send(new_events);
      return error.ok() ? watch_end : error;
    }
    if (type == v1::ListSamplesRequest::descriptor()) {
      samples_request.CopyFrom(request);
      send(samples);
      return error.ok() ? samples_end : error;
    }
    if (type == v1::WatchJobRequest::descriptor()) {
      std::vector<v1::WatchJobResponse> changes;
      for (const v1::JobInfo& job : watched)
        *changes.emplace_back().mutable_job() = job;
      send(changes);
      return watch_end;
    }
    if (type == v1::MeasureRequest::descriptor()) {
      measure_request.CopyFrom(request);
      if (!error.ok()) return error;
      send(measured);
      return measure_end;
    }
    store_work.push_back(request.GetTypeName());
    send(store_progress);
    return error;
  }

 private:
  using Method = std::function<absl::Status(const google::protobuf::Message&,
                                            google::protobuf::Message*)>;

  template <typename Request, typename Response, typename Function>
  void Do(Function function) {
    methods_[Request::descriptor()] =
        [function](const google::protobuf::Message& request,
                   google::protobuf::Message* response) {
          const absl::StatusOr<Response> answer =
              function(static_cast<const Request&>(request));
          if (answer.ok()) response->CopyFrom(*answer);
          return answer.status();
        };
  }

  // Answers with a field, and keeps the request in another.
  template <typename Request, typename Response>
  void On(const Response* answer, Request* kept = nullptr) {
    Do<Request, Response>([answer, kept](const Request& request) {
      if (kept != nullptr) *kept = request;
      return absl::StatusOr<Response>(*answer);
    });
  }

  absl::StatusOr<v1::GetTableResponse> TableOf(
      const v1::GetTableRequest& request) const {
    for (const v1::GetTableResponse& payload : payloads) {
      if (payload.info().digest() == request.digest() ||
          payload.info().kernel() == request.kernel())
        return payload;
    }
    return absl::NotFoundError("no such table");
  }

  template <typename Response>
  absl::StatusOr<Response> JobOf(uint64_t id) const {
    Response response;
    for (const v1::JobInfo& job : jobs) {
      if (job.id() != id) continue;
      *response.mutable_job() = job;
      return response;
    }
    return absl::NotFoundError(absl::StrCat("no job ", id));
  }

  void AddJobs() {
    Do<v1::ListJobsRequest, v1::ListJobsResponse>([this](const auto& request) {
      v1::ListJobsResponse response;
      for (const v1::JobInfo& job : jobs) {
        if (response.jobs_size() < request.limit()) *response.add_jobs() = job;
      }
      return absl::StatusOr<v1::ListJobsResponse>(response);
    });
    Do<v1::GetJobRequest, v1::GetJobResponse>([this](const auto& request) {
      return JobOf<v1::GetJobResponse>(request.id());
    });
    Do<v1::CancelJobRequest, v1::CancelJobResponse>(
        [this](const auto& request) {
          cancelled.push_back(request.id());
          return JobOf<v1::CancelJobResponse>(request.id());
        });
    Do<v1::ReprofileRequest, v1::ReprofileResponse>(
        [this](const auto& request) {
          reprofile_request = request;
          reprofile_requests.push_back(request);
          v1::ReprofileResponse response;
          for (const v1::JobInfo& job : jobs) *response.add_jobs() = job;
          for (const v1::PlannedJob& job : planned)
            *response.add_planned() = job;
          for (const v1::AskedProfile& one : asked) *response.add_asked() = one;
          return absl::StatusOr<v1::ReprofileResponse>(response);
        });
  }

  void AddWorkloads() {
    Do<v1::AddWorkloadRequest, v1::AddWorkloadResponse>(
        [this](const auto& request) {
          workload_request = request;
          v1::AddWorkloadResponse response;
          v1::WorkloadInfo& info = *response.mutable_workload();
          info.set_name(request.name());
          info.set_architecture("LlamaForCausalLM");
          v1::WorkloadKernel& kernel = *info.add_kernels();
          kernel.set_kernel("gemm");
          kernel.set_problems(60);
          return absl::StatusOr<v1::AddWorkloadResponse>(response);
        });
    Do<v1::ListWorkloadsRequest, v1::ListWorkloadsResponse>(
        [this](const auto&) {
          v1::ListWorkloadsResponse response;
          for (const v1::GetWorkloadResponse& one : workloads)
            *response.add_workloads() = one.workload();
          return absl::StatusOr<v1::ListWorkloadsResponse>(response);
        });
    Do<v1::GetWorkloadRequest, v1::GetWorkloadResponse>(
        [this](const auto& request) -> absl::StatusOr<v1::GetWorkloadResponse> {
          for (const v1::GetWorkloadResponse& one : workloads) {
            if (one.workload().name() == request.name()) return one;
          }
          return absl::NotFoundError(
              absl::StrCat("there is no workload ", request.name()));
        });
    Do<v1::RemoveWorkloadRequest, v1::RemoveWorkloadResponse>(
        [this](const auto& request) {
          removed_workloads.push_back(request.name());
          return absl::StatusOr<v1::RemoveWorkloadResponse>(
              v1::RemoveWorkloadResponse());
        });
  }

  const v1::UnpinTableResponse unpinned_;
  const v1::FreezeInFleetResponse frozen_;
  const v1::UnfreezeInFleetResponse unfrozen_;
  std::map<const google::protobuf::Descriptor*, Method> methods_;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_FAKE_DAEMON_H_
