#include "client/src/daemon_link.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/socket_diagnosis.h"
#include "base/status_macros.h"
#include "client/src/call_scope.h"
#include "client/usage/grpc_usage_sender.h"
#include "formats/channel_credentials.h"
#include "formats/status.h"
#include "grpc/grpc.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"
#include "proto/wavetune/v1/workload_service.grpc.pb.h"

namespace wavetune {
namespace {

// gRPC's own pace of reconnecting, by default 1 s to 2 min: a daemon that
// restarts is back in a moment, and a socket on this machine is cheap to try.
// GRPC_ARG_MIN_RECONNECT_BACKOFF_MS stays as it is: despite its name it is how
// long one attempt may take, and 64 processes at once take a while.
constexpr int kFirstReconnectMs = 50;
constexpr int kMaxReconnectMs = 2000;

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(
    const std::string& endpoint) {
  ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(endpoint));
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMs);
  PrepareForTcp(endpoint, &arguments);
  return grpc::CreateCustomChannel(endpoint, credentials, arguments);
}

// Whether this process has its gRPC from its parent: threads that are not here,
// and a polling set that the parent uses, too.
constinit std::atomic<bool> grpc_was_in_use{false};
constinit std::atomic<bool> grpc_is_the_parents{false};

void BeforeFork() {
  grpc_was_in_use.store(grpc_is_initialized() != 0, std::memory_order_relaxed);
}

void AfterForkInChild() {
  if (grpc_was_in_use.load(std::memory_order_relaxed))
    grpc_is_the_parents.store(true, std::memory_order_relaxed);
}

void WatchForForks() {
  static const bool watching =
      pthread_atfork(BeforeFork, nullptr, AfterForkInChild) == 0;
  (void)watching;
}

}  // namespace

class DaemonLink::Impl {
 public:
  Impl(std::string endpoint, const std::shared_ptr<grpc::Channel>& channel,
       double timeout_s)
      : endpoint_(std::move(endpoint)),
        timeout_(static_cast<int64_t>(timeout_s * 1e6)),
        channel_(channel),
        tables_(v1::TableService::NewStub(channel)),
        status_(v1::StatusService::NewStub(channel)),
        workloads_(v1::WorkloadService::NewStub(channel)) {}

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  v1::TableService::Stub& tables() { return *tables_; }
  v1::StatusService::Stub& status() { return *status_; }
  v1::WorkloadService::Stub& workloads() { return *workloads_; }

  // One call that Cancel can end.
  class Call {
   public:
    Call(Impl* impl, bool with_deadline) : impl_(impl) {
      if (with_deadline) {
        context_.set_deadline(std::chrono::system_clock::now() +
                              impl->timeout_);
      }
      std::lock_guard lock(impl_->mutex_);
      impl_->running_.insert(&context_);
      if (impl_->cancelled_) context_.TryCancel();
    }
    ~Call() {
      std::lock_guard lock(impl_->mutex_);
      impl_->running_.erase(&context_);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    grpc::ClientContext* context() { return &context_; }

   private:
    Impl* const impl_;
    grpc::ClientContext context_;
    const CallScope::Call in_scope_{[this] { context_.TryCancel(); }};
  };

  // gRPC's words, and where the daemon cannot be reached the system's.
  absl::Status Convert(const grpc::Status& grpc_status) const {
    absl::Status status = FromGrpcStatus(grpc_status);
    const bool connected =
        channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
    if (!absl::IsUnavailable(status) || connected) return status;
    if (const std::string advice = AdviceForTcp(endpoint_); !advice.empty()) {
      return absl::Status(status.code(),
                          absl::StrCat(status.message(), "; ", advice));
    }
    const SocketDiagnosis why = DiagnoseSocket(endpoint_);
    if (why.text.empty()) return status;
    return absl::Status(status.code(), why.text);
  }

  // Does one call: `method` is a stub's blocking method.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Do(Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                           const Request&,
                                                           Response*),
                              const Request& request) {
    Call call(this, /*with_deadline=*/true);
    Response response;
    RETURN_IF_ERROR(
        Convert((stub.*method)(call.context(), request, &response)));
    return response;
  }

  void Cancel() {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* const context : running_) context->TryCancel();
  }

 private:
  const std::string endpoint_;
  const std::chrono::microseconds timeout_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::TableService::Stub> tables_;
  const std::unique_ptr<v1::StatusService::Stub> status_;
  const std::unique_ptr<v1::WorkloadService::Stub> workloads_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::set<grpc::ClientContext*> running_;
  bool cancelled_ = false;
};

DaemonLink::DaemonLink(std::string endpoint, double timeout_s,
                       bool may_use_grpc)
    : endpoint_(std::move(endpoint)),
      timeout_s_(timeout_s),
      may_use_grpc_(may_use_grpc),
      plain_(endpoint_, timeout_s) {}

DaemonLink::~DaemonLink() = default;

absl::StatusOr<std::unique_ptr<DaemonLink>> DaemonLink::Open(
    const std::string& endpoint, double timeout_s) {
  WatchForForks();
  const bool may_use_grpc =
      !grpc_is_the_parents.load(std::memory_order_relaxed);
  // A mistake in the environment, which no later look mends.
  if (IsOverTcp(endpoint)) {
    RETURN_IF_ERROR(TlsFilesFromEnvironment().status());
  }
  std::unique_ptr<DaemonLink> link(
      new DaemonLink(endpoint, timeout_s, may_use_grpc));
  link->impl();
  if (absl::IsInvalidArgument(link->problem_)) return link->problem_;
  return link;
}

DaemonLink::Impl* DaemonLink::impl() const {
  if (!may_use_grpc_ || born_ != ForkGeneration()) return nullptr;
  std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (impl_ == nullptr && (problem_.ok() || now - tried_ >= kLookAgain)) {
    tried_ = now;
    TryToOpen();
  }
  return impl_.get();
}

void DaemonLink::TryToOpen() const {
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
      OpenChannel(endpoint_);
  if (!channel.ok()) {
    problem_ = absl::UnavailableError(channel.status().message());
    plain_.Refuse(problem_);
    return;
  }
  if (*channel == nullptr) {
    problem_ = absl::InvalidArgumentError(
        absl::StrCat("endpoint \"", endpoint_,
                     "\" is not valid; give unix:/path/to/reader.sock"));
    return;
  }
  impl_ = std::make_unique<Impl>(endpoint_, *channel, timeout_s_);
  if (cancelled_) impl_->Cancel();
}

absl::StatusOr<FetchedTable> DaemonLink::GetTable(
    const v1::GetTableRequest& request) {
  ASSIGN_OR_RETURN(
      v1::GetTableResponse response,
      plain()
          ? plain_.Do<v1::GetTableResponse>("TableService/GetTable", request)
          : impl()->Do(impl()->tables(), &v1::TableService::Stub::GetTable,
                       request));
  return FetchedTable{.info = std::move(*response.mutable_info()),
                      .payload = std::move(*response.mutable_payload())};
}

absl::StatusOr<v1::ListDevicesResponse> DaemonLink::ListDevices() {
  const v1::ListDevicesRequest request;
  return plain() ? plain_.Do<v1::ListDevicesResponse>(
                       "StatusService/ListDevices", request)
                 : impl()->Do(impl()->status(),
                              &v1::StatusService::Stub::ListDevices, request);
}

absl::StatusOr<v1::ListKernelsResponse> DaemonLink::ListKernels() {
  const v1::ListKernelsRequest request;
  return plain() ? plain_.Do<v1::ListKernelsResponse>(
                       "StatusService/ListKernels", request)
                 : impl()->Do(impl()->status(),
                              &v1::StatusService::Stub::ListKernels, request);
}

absl::StatusOr<TableSet> DaemonLink::GetTableSet(const std::string& digest) {
  v1::GetTableSetRequest request;
  request.set_digest(digest);
  ASSIGN_OR_RETURN(
      const v1::GetTableSetResponse response,
      plain() ? plain_.Do<v1::GetTableSetResponse>("TableService/GetTableSet",
                                                   request)
              : impl()->Do(impl()->tables(),
                           &v1::TableService::Stub::GetTableSet, request));
  TableSet set(
      TableSet::Tables(response.tables().begin(), response.tables().end()));
  if (set.Digest() != digest) {
    return absl::DataLossError(absl::StrCat("the table set from ", endpoint_,
                                            " has the digest ", set.Digest(),
                                            ", asked for was ", digest));
  }
  return set;
}

absl::Status DaemonLink::AnnounceTableSet(const TableSet& set) {
  v1::AnnounceTableSetRequest request;
  request.mutable_tables()->insert(set.tables().begin(), set.tables().end());
  if (plain()) {
    return plain_
        .Do<v1::AnnounceTableSetResponse>("TableService/AnnounceTableSet",
                                          request)
        .status();
  }
  return impl()
      ->Do(impl()->tables(), &v1::TableService::Stub::AnnounceTableSet, request)
      .status();
}

absl::StatusOr<v1::AddWorkloadResponse> DaemonLink::AddWorkload(
    const v1::AddWorkloadRequest& request) {
  absl::StatusOr<v1::AddWorkloadResponse> response =
      plain() ? plain_.Do<v1::AddWorkloadResponse>(
                    "WorkloadService/AddWorkload", request)
              : impl()->Do(impl()->workloads(),
                           &v1::WorkloadService::Stub::AddWorkload, request);
  if (!absl::IsUnimplemented(response.status())) return response;
  return absl::FailedPreconditionError(
      absl::StrCat("the daemon at ", endpoint_,
                   " is older than this client and knows no workloads: upgrade "
                   "wavetuned"));
}

absl::Status DaemonLink::WatchPlainly(const v1::WatchTablesRequest& request,
                                      const OnNotice& on_notice) {
  const absl::Status status = plain_.Stream(
      "TableService/WatchTables", request.SerializeAsString(),
      [&on_notice](absl::string_view message) {
        v1::WatchTablesResponse notice;
        return notice.ParseFromArray(message.data(),
                                     static_cast<int>(message.size())) &&
               on_notice(notice);
      });
  return status.ok() ? absl::UnavailableError("the daemon ended the watch")
                     : status;
}

absl::Status DaemonLink::WatchTables(const v1::WatchTablesRequest& request,
                                     const OnNotice& on_notice) {
  if (plain()) return WatchPlainly(request, on_notice);
  Impl::Call call(impl(), /*with_deadline=*/false);
  const auto stream = impl()->tables().WatchTables(call.context(), request);
  v1::WatchTablesResponse notice;
  while (stream->Read(&notice)) {
    if (on_notice(notice)) continue;
    call.context()->TryCancel();
    break;
  }
  const absl::Status status = impl()->Convert(stream->Finish());
  return status.ok() ? absl::UnavailableError("the daemon ended the watch")
                     : status;
}

std::unique_ptr<UsageSender> DaemonLink::MakeUsageSender() const {
  return plain() ? MakePlainUsageSender(endpoint_)
                 : MakeGrpcUsageSender(impl()->channel());
}

void DaemonLink::Cancel() {
  plain_.Cancel();
  if (born_ != ForkGeneration()) return;
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (impl_ != nullptr) impl_->Cancel();
}

bool IsUnreachable(const absl::Status& status) {
  // The last three are of a daemon that is there and cannot answer: overloaded,
  // or broken.
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status) || absl::IsInternal(status) ||
         absl::IsUnknown(status);
}

}  // namespace wavetune
