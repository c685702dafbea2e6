#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/socket_diagnosis.h"
#include "base/status_macros.h"
#include "cli/daemon.h"
#include "cli/interrupt.h"
#include "client/src/endpoint.h"
#include "formats/channel_credentials.h"
#include "formats/foreign_text.h"
#include "formats/status.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "proto/wavetune/v1/admin_service.grpc.pb.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"
#include "proto/wavetune/v1/usage_service.grpc.pb.h"
#include "proto/wavetune/v1/workload_service.grpc.pb.h"

namespace wavetune::cli {
namespace {

// Cancels a call when the user interrupts: a signal handler may not do it, and
// the thread that reads the stream is blocked.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(grpc::ClientContext* context)
      : thread_([this, context] {
          while (!done_.load()) {
            if (InterruptRequested()) {
              context->TryCancel();
              return;
            }
            SystemClock().Sleep(std::chrono::milliseconds(50));
          }
        }) {}
  ~CancelOnInterrupt() {
    done_.store(true);
    thread_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// Where the daemon had the request, and its disk or another call keeps it.
constexpr absl::string_view kMayBeDone =
    ". What was asked for may still be done: look before asking again "
    "(`wavetune status` says whether the store can be written)";

// Lists of a full store pass gRPC's 4 MiB; no answer is meant to pass this.
constexpr int kMaxResponseBytes = 64 << 20;

std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& endpoint,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxResponseBytes);
  PrepareForTcp(endpoint, &arguments);
  return grpc::CreateCustomChannel(endpoint, credentials, arguments);
}

// One socket of the daemon. Arguments may be in any encoding: requests are sent
// without foreign text, so that the daemon can say what it does not know.
class Socket {
 public:
  Socket(std::string endpoint, absl::string_view role,
         const std::shared_ptr<grpc::ChannelCredentials>& credentials,
         double timeout_s)
      : endpoint_(std::move(endpoint)),
        role_(role),
        timeout_s_(timeout_s),
        channel_(OpenChannel(endpoint_, credentials)) {}

  // The same socket, for calls that change something.
  Socket ForChanges() const {
    Socket socket = *this;
    socket.changes_ = true;
    return socket;
  }

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Whether the connection stands.
  bool Connected() const {
    return channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
  }

  void SetDeadline(grpc::ClientContext* context) const {
    context->set_deadline(
        std::chrono::system_clock::now() +
        std::chrono::microseconds(static_cast<int64_t>(timeout_s_ * 1e6)));
  }

  // Says what to do where the daemon is not there at all, or another of its
  // sockets is. `was_there`: it had answered before.
  absl::Status Convert(const grpc::Status& grpc_status,
                       bool was_there = false) const {
    absl::Status status = FromGrpcStatus(grpc_status);
    if (absl::IsUnimplemented(status)) {
      for (const absl::string_view role : {"admin", "agent"}) {
        const std::string socket = absl::StrCat(role, ".sock");
        absl::string_view stem = endpoint_;
        if (role == role_ || !absl::ConsumeSuffix(&stem, socket)) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(endpoint_, " is the ", role,
                         " socket; --endpoint and "
                         "WAVETUNE_ENDPOINT name the reader socket: ",
                         stem, "reader.sock"));
      }
    }
    const bool connected = Connected();
    if (absl::IsDeadlineExceeded(status) ||
        (absl::IsUnavailable(status) &&
         (!connected || (was_there && IsOverTcp(endpoint_))))) {
      return absl::Status(
          status.code(),
          absl::StrCat(
              WhyNotReached(status, was_there),
              changes_ && connected ? kMayBeDone : absl::string_view()));
    }
    return status;
  }

 private:
  std::string WhyNotReached(const absl::Status& status, bool was_there) const {
    using Kind = SocketDiagnosis::Kind;
    const SocketDiagnosis why = DiagnoseSocket(endpoint_);
    std::string what =
        absl::StrCat("cannot reach wavetuned at ", endpoint_, ": ",
                     why.text.empty() ? status.message() : why.text);
    const bool runs = why.kind == Kind::kNoPermission ||
                      why.kind == Kind::kRefused || why.kind == Kind::kSilent;
    if (runs) return what;
    // Its certificate was good a moment ago.
    if (was_there && IsOverTcp(endpoint_)) {
      return absl::StrCat(what,
                          ". It was there: was it stopped, or does something "
                          "between end connections that are silent for less "
                          "than half a minute?");
    }
    if (const std::string advice = AdviceForTcp(endpoint_); !advice.empty()) {
      return absl::StrCat(what, "; ", advice);
    }
    return absl::StrCat(what,
                        ". Is wavetuned running? Start it with `wavetuned`, or "
                        "say where it listens with --endpoint or "
                        "WAVETUNE_ENDPOINT");
  }

  std::string endpoint_;
  std::string role_;  // "reader" or "admin".
  double timeout_s_;
  bool changes_ = false;
  std::shared_ptr<grpc::Channel> channel_;
};

// Reads a stream to its end.
template <typename Response, typename Function>
absl::Status ReadStream(const Socket& socket, grpc::ClientContext* context,
                        std::unique_ptr<grpc::ClientReader<Response>> reader,
                        const Function& on_response) {
  CancelOnInterrupt cancel(context);
  Response response;
  bool was_there = socket.Connected();
  while (reader->Read(&response)) {
    was_there = true;
    on_response(response);
  }
  return socket.Convert(reader->Finish(), was_there);
}

// An older daemon lacks the method that was called.
absl::Status SayIfOlder(absl::Status status, absl::string_view lacks = "") {
  if (!absl::IsUnimplemented(status)) return status;
  return absl::FailedPreconditionError(absl::StrCat(
      "the daemon is older than this command", lacks, ": upgrade wavetuned"));
}

// A method of one answer.
template <typename Stub, typename Request, typename Response>
using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&,
                                      Response*);

template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> CallOn(const Socket& socket, Stub& stub,
                                Method<Stub, Request, Response> method,
                                const Request& request) {
  grpc::ClientContext context;
  socket.SetDeadline(&context);
  Response response;
  RETURN_IF_ERROR(socket.Convert(
      (stub.*method)(&context, WithoutForeignText(request), &response)));
  return response;
}

// The same of one that older daemons lack.
template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> CallNewer(const Socket& socket, Stub& stub,
                                   Method<Stub, Request, Response> method,
                                   const Request& request,
                                   absl::string_view lacks = "") {
  absl::StatusOr<Response> response = CallOn(socket, stub, method, request);
  if (!response.ok()) return SayIfOlder(response.status(), lacks);
  return response;
}

class GrpcReader : public StatusReader, public TableReader {
 public:
  explicit GrpcReader(Socket socket)
      : socket_(std::move(socket)),
        status_(v1::StatusService::NewStub(socket_.channel())),
        tables_(v1::TableService::NewStub(socket_.channel())),
        usage_(v1::UsageService::NewStub(socket_.channel())) {}

  absl::StatusOr<v1::GetStatusResponse> GetStatus() override {
    return CallOn(socket_, *status_, &v1::StatusService::Stub::GetStatus,
                  v1::GetStatusRequest());
  }
  absl::StatusOr<v1::ListFleetNodesResponse> ListFleetNodes() override {
    return CallNewer(socket_, *status_,
                     &v1::StatusService::Stub::ListFleetNodes,
                     v1::ListFleetNodesRequest());
  }
  absl::StatusOr<v1::GetFleetResponse> GetFleet() override {
    return CallNewer(socket_, *status_, &v1::StatusService::Stub::GetFleet,
                     v1::GetFleetRequest());
  }
  absl::StatusOr<v1::ListDevicesResponse> ListDevices() override {
    return CallOn(socket_, *status_, &v1::StatusService::Stub::ListDevices,
                  v1::ListDevicesRequest());
  }
  absl::StatusOr<v1::ListKernelsResponse> ListKernels() override {
    return CallOn(socket_, *status_, &v1::StatusService::Stub::ListKernels,
                  v1::ListKernelsRequest());
  }
  absl::StatusOr<v1::ListJobsResponse> ListJobs(int32_t limit) override {
    v1::ListJobsRequest request;
    request.set_limit(limit);
    return CallOn(socket_, *status_, &v1::StatusService::Stub::ListJobs,
                  request);
  }
  absl::StatusOr<v1::JobInfo> GetJob(uint64_t id) override {
    v1::GetJobRequest request;
    request.set_id(id);
    ASSIGN_OR_RETURN(
        v1::GetJobResponse response,
        CallOn(socket_, *status_, &v1::StatusService::Stub::GetJob, request));
    return response.job();
  }
  absl::StatusOr<v1::GetUsageResponse> GetUsage(int32_t problems) override {
    v1::GetUsageRequest request;
    request.set_problems(problems);
    return CallOn(socket_, *usage_, &v1::UsageService::Stub::GetUsage, request);
  }
  absl::Status ListSamples(
      const v1::ListSamplesRequest& request,
      const std::function<void(const v1::ListSamplesResponse&)>& on_message)
      override {
    grpc::ClientContext context;
    return ReadStream<v1::ListSamplesResponse>(
        socket_, &context,
        status_->ListSamples(&context, WithoutForeignText(request)),
        on_message);
  }
  absl::StatusOr<v1::ListEventsResponse> ListEvents(
      const v1::ListEventsRequest& request) override {
    return CallNewer(socket_, *status_, &v1::StatusService::Stub::ListEvents,
                     request);
  }
  absl::Status WatchEvents(
      const v1::WatchEventsRequest& request,
      const std::function<void(const v1::WatchEventsResponse&)>& on_event)
      override {
    grpc::ClientContext context;
    return SayIfOlder(ReadStream<v1::WatchEventsResponse>(
        socket_, &context, status_->WatchEvents(&context, request), on_event));
  }
  absl::StatusOr<v1::ListTablesResponse> ListTables(
      const v1::ListTablesRequest& request) override {
    return CallOn(socket_, *tables_, &v1::TableService::Stub::ListTables,
                  request);
  }
  absl::StatusOr<v1::GetTableResponse> GetTable(
      const v1::GetTableRequest& request) override {
    return CallOn(socket_, *tables_, &v1::TableService::Stub::GetTable,
                  request);
  }
  absl::StatusOr<v1::ListTableHistoryResponse> ListTableHistory(
      const v1::ListTableHistoryRequest& request) override {
    return CallNewer(socket_, *tables_,
                     &v1::TableService::Stub::ListTableHistory, request);
  }
  absl::StatusOr<v1::ListRejectedTablesResponse> ListRejectedTables(
      const v1::ListRejectedTablesRequest& request) override {
    return CallNewer(socket_, *tables_,
                     &v1::TableService::Stub::ListRejectedTables, request);
  }

 private:
  Socket socket_;
  std::unique_ptr<v1::StatusService::Stub> status_;
  std::unique_ptr<v1::TableService::Stub> tables_;
  std::unique_ptr<v1::UsageService::Stub> usage_;
};

class GrpcJobControl : public JobControl {
 public:
  explicit GrpcJobControl(Socket socket)
      : socket_(std::move(socket)),
        admin_(v1::AdminService::NewStub(socket_.channel())) {}

  absl::StatusOr<v1::ReprofileResponse> Reprofile(
      const v1::ReprofileRequest& request) override {
    return CallOn(socket_, *admin_, &v1::AdminService::Stub::Reprofile,
                  request);
  }
  absl::StatusOr<v1::JobInfo> CancelJob(uint64_t id) override {
    v1::CancelJobRequest request;
    request.set_id(id);
    ASSIGN_OR_RETURN(
        const v1::CancelJobResponse response,
        CallOn(socket_, *admin_, &v1::AdminService::Stub::CancelJob, request));
    return response.job();
  }
  absl::Status WatchJob(
      uint64_t id,
      const std::function<void(const v1::JobInfo&)>& on_job) override {
    grpc::ClientContext context;
    v1::WatchJobRequest request;
    request.set_id(id);
    return ReadStream<v1::WatchJobResponse>(
        socket_, &context, admin_->WatchJob(&context, request),
        [&](const v1::WatchJobResponse& response) { on_job(response.job()); });
  }
  absl::Status Measure(const v1::MeasureRequest& request,
                       const std::function<void(const v1::MeasureResponse&)>&
                           on_event) override {
    grpc::ClientContext context;
    return ReadStream<v1::MeasureResponse>(
        socket_, &context,
        admin_->Measure(&context, WithoutForeignText(request)), on_event);
  }

 private:
  Socket socket_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

class GrpcTableControl : public TableControl {
 public:
  explicit GrpcTableControl(Socket socket)
      : socket_(std::move(socket)),
        admin_(v1::AdminService::NewStub(socket_.channel())) {}

  absl::StatusOr<v1::RollBackResponse> RollBack(
      const v1::RollBackRequest& request) override {
    return Call(&v1::AdminService::Stub::RollBack, request);
  }
  absl::StatusOr<v1::PinTableResponse> Pin(
      const v1::PinTableRequest& request) override {
    return Call(&v1::AdminService::Stub::PinTable, request);
  }
  absl::Status Unpin(const v1::UnpinTableRequest& request) override {
    return Call(&v1::AdminService::Stub::UnpinTable, request).status();
  }
  absl::StatusOr<v1::ImportTableResponse> Import(
      const v1::ImportTableRequest& request) override {
    return Call(&v1::AdminService::Stub::ImportTable, request);
  }
  absl::StatusOr<v1::RetireTableResponse> Retire(
      const v1::RetireTableRequest& request) override {
    return Call(&v1::AdminService::Stub::RetireTable, request);
  }

 private:
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(
      Method<v1::AdminService::Stub, Request, Response> method,
      const Request& request) {
    return CallNewer(socket_, *admin_, method, request);
  }

  const Socket socket_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

class GrpcFleetControl : public FleetControl {
 public:
  explicit GrpcFleetControl(Socket socket)
      : socket_(std::move(socket)),
        admin_(v1::AdminService::NewStub(socket_.channel())) {}

  absl::StatusOr<v1::PublishToFleetResponse> Publish(
      const v1::PublishToFleetRequest& request) override {
    return CallNewer(socket_, *admin_, &v1::AdminService::Stub::PublishToFleet,
                     request);
  }
  absl::StatusOr<v1::FreezeInFleetResponse> Freeze(
      const v1::FreezeInFleetRequest& request) override {
    return CallNewer(socket_, *admin_, &v1::AdminService::Stub::FreezeInFleet,
                     request);
  }
  absl::StatusOr<v1::UnfreezeInFleetResponse> Unfreeze(
      const v1::UnfreezeInFleetRequest& request) override {
    return CallNewer(socket_, *admin_, &v1::AdminService::Stub::UnfreezeInFleet,
                     request);
  }
  absl::StatusOr<v1::RollBackFleetResponse> RollBackFleet(
      const v1::RollBackFleetRequest& request) override {
    return CallNewer(socket_, *admin_, &v1::AdminService::Stub::RollBackFleet,
                     request);
  }

 private:
  const Socket socket_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

class GrpcStoreControl : public StoreControl {
 public:
  explicit GrpcStoreControl(Socket socket)
      : socket_(std::move(socket)),
        admin_(v1::AdminService::NewStub(socket_.channel())) {}

  absl::Status BackUp(const OnProgress& on_progress) override {
    grpc::ClientContext context;
    return Read(&context, admin_->BackUpStore(&context, {}), on_progress);
  }
  absl::Status Check(const OnProgress& on_progress) override {
    grpc::ClientContext context;
    return Read(&context, admin_->CheckStore(&context, {}), on_progress);
  }
  absl::Status Compact(const OnProgress& on_progress) override {
    grpc::ClientContext context;
    return Read(&context, admin_->CompactStore(&context, {}), on_progress);
  }

 private:
  absl::Status Read(
      grpc::ClientContext* context,
      std::unique_ptr<grpc::ClientReader<v1::StoreProgress>> reader,
      const OnProgress& on_progress) {
    return SayIfOlder(ReadStream<v1::StoreProgress>(
        socket_, context, std::move(reader), on_progress));
  }

  const Socket socket_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

class GrpcWorkloadControl : public WorkloadControl {
 public:
  GrpcWorkloadControl(Socket reader, Socket admin)
      : reader_(std::move(reader)),
        admin_(std::move(admin)),
        workloads_(v1::WorkloadService::NewStub(reader_.channel())),
        removals_(v1::AdminService::NewStub(admin_.channel())) {}

  absl::StatusOr<v1::AddWorkloadResponse> AddWorkload(
      const v1::AddWorkloadRequest& request) override {
    return Call(reader_.ForChanges(), *workloads_,
                &v1::WorkloadService::Stub::AddWorkload, request);
  }
  absl::StatusOr<v1::ListWorkloadsResponse> ListWorkloads() override {
    return Call(reader_, *workloads_, &v1::WorkloadService::Stub::ListWorkloads,
                v1::ListWorkloadsRequest());
  }
  absl::StatusOr<v1::GetWorkloadResponse> GetWorkload(
      const std::string& name) override {
    v1::GetWorkloadRequest request;
    request.set_name(name);
    return Call(reader_, *workloads_, &v1::WorkloadService::Stub::GetWorkload,
                request);
  }
  absl::Status RemoveWorkload(const std::string& name) override {
    v1::RemoveWorkloadRequest request;
    request.set_name(name);
    return Call(admin_, *removals_, &v1::AdminService::Stub::RemoveWorkload,
                request)
        .status();
  }

 private:
  template <typename Stub, typename Request, typename Response>
  static absl::StatusOr<Response> Call(const Socket& socket, Stub& stub,
                                       Method<Stub, Request, Response> method,
                                       const Request& request) {
    return CallNewer(socket, stub, method, request, " and knows no workloads");
  }

  const Socket reader_;
  const Socket admin_;
  std::unique_ptr<v1::WorkloadService::Stub> workloads_;
  std::unique_ptr<v1::AdminService::Stub> removals_;
};

}  // namespace

absl::StatusOr<DaemonConnection> ConnectGrpcDaemon(
    const std::string& reader_endpoint, double timeout_s) {
  ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(reader_endpoint));
  Socket reader(reader_endpoint, "reader", credentials, timeout_s);
  Socket admin = Socket(SiblingEndpoint(reader_endpoint, "admin"), "admin",
                        credentials, timeout_s)
                     .ForChanges();
  if (reader.channel() == nullptr || admin.channel() == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("endpoint \"", reader_endpoint,
                     "\" is not valid; give unix:/path/to/reader.sock"));
  }
  auto workloads = std::make_shared<GrpcWorkloadControl>(reader, admin);
  auto both = std::make_shared<GrpcReader>(std::move(reader));
  return DaemonConnection{
      .status = both,
      .tables = both,
      .table_control = std::make_shared<GrpcTableControl>(admin),
      .fleet = std::make_shared<GrpcFleetControl>(admin),
      .store = std::make_shared<GrpcStoreControl>(admin),
      .jobs = std::make_shared<GrpcJobControl>(std::move(admin)),
      .workloads = std::move(workloads)};
}

}  // namespace wavetune::cli
