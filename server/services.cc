#include "server/services.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "grpcpp/alarm.h"
#include "proto/convert/foreign_text.h"
#include "proto/convert/status.h"
#include "proto/wavetune/v1/admin_service.grpc.pb.h"
#include "proto/wavetune/v1/agent_service.grpc.pb.h"
#include "proto/wavetune/v1/decision_service.grpc.pb.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"
#include "proto/wavetune/v1/usage_service.grpc.pb.h"
#include "server/list_samples_reactor.h"
#include "server/record_proto.h"

namespace wavetune {
namespace {

using grpc::CallbackServerContext;

// Notices that may wait for a slow watcher before it gets the snapshot instead.
constexpr size_t kMaxQueuedNotices = 4096;
// Progress of a job is sent at most ten times a second.
constexpr std::chrono::milliseconds kProgressInterval{100};

// The one way out of unary calls: what a file or an agent brought in must not
// make the whole answer unreadable.
grpc::ServerUnaryReactor* Answer(CallbackServerContext* context,
                                 const absl::Status& status,
                                 google::protobuf::Message* response) {
  if (status.ok()) EscapeForeignText(response);
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

class WatchTablesReactor final
    : public StreamReactor<grpc::ServerWriteReactor<v1::WatchTablesResponse>,
                           v1::WatchTablesResponse>,
      public TableHandler::Sink {
 public:
  void Start(TableHandler* handler, const v1::WatchTablesRequest& request) {
    watch_ = handler->WatchTables(
        request,
        std::static_pointer_cast<WatchTablesReactor>(this->shared_from_this()));
  }
  bool Push(const TableNotices& notices) override {
    return Queue(notices, kMaxQueuedNotices);
  }
  void Replace(const TableNotices& notices) override { QueueInstead(notices); }

 protected:
  void OnClosed() override { watch_.reset(); }

 private:
  std::shared_ptr<TableHandler::Watch> watch_;
};

class TableService final : public v1::TableService::CallbackService {
 public:
  TableService(TableHandler* handler, StreamSet* streams)
      : handler_(handler), streams_(streams) {}

  grpc::ServerUnaryReactor* ListTables(
      CallbackServerContext* context, const v1::ListTablesRequest* request,
      v1::ListTablesResponse* response) override {
    return Answer(context, handler_->ListTables(*request, response), response);
  }
  grpc::ServerUnaryReactor* GetTable(CallbackServerContext* context,
                                     const v1::GetTableRequest* request,
                                     v1::GetTableResponse* response) override {
    return Answer(context, handler_->GetTable(*request, response), response);
  }
  grpc::ServerUnaryReactor* AnnounceTableSet(
      CallbackServerContext* context,
      const v1::AnnounceTableSetRequest* request,
      v1::AnnounceTableSetResponse* response) override {
    return Answer(context, handler_->AnnounceTableSet(*request, response),
                  response);
  }
  grpc::ServerUnaryReactor* GetTableSet(
      CallbackServerContext* context, const v1::GetTableSetRequest* request,
      v1::GetTableSetResponse* response) override {
    return Answer(context, handler_->GetTableSet(*request, response), response);
  }
  grpc::ServerWriteReactor<v1::WatchTablesResponse>* WatchTables(
      CallbackServerContext*, const v1::WatchTablesRequest* request) override {
    auto reactor = std::make_shared<WatchTablesReactor>();
    reactor->Open(streams_);
    reactor->Start(handler_, *request);
    return reactor.get();
  }

 private:
  TableHandler* const handler_;
  StreamSet* const streams_;
};

class DecisionService final : public v1::DecisionService::CallbackService {
 public:
  explicit DecisionService(DecisionHandler* handler) : handler_(handler) {}

  grpc::ServerUnaryReactor* Resolve(CallbackServerContext* context,
                                    const v1::ResolveRequest* request,
                                    v1::ResolveResponse* response) override {
    return Answer(context, handler_->Resolve(*request, response), response);
  }
  grpc::ServerUnaryReactor* Explain(CallbackServerContext* context,
                                    const v1::ExplainRequest* request,
                                    v1::ExplainResponse* response) override {
    return Answer(context, handler_->Explain(*request, response), response);
  }

 private:
  DecisionHandler* const handler_;
};

class StatusService final : public v1::StatusService::CallbackService {
 public:
  StatusService(const ReaderHandlers& handlers, StreamSet* streams)
      : handler_(handlers.status),
        samples_(handlers.samples),
        patience_(handlers.listing_patience),
        streams_(streams) {}

  grpc::ServerUnaryReactor* GetStatus(CallbackServerContext* context,
                                      const v1::GetStatusRequest*,
                                      v1::GetStatusResponse* out) override {
    return Answer(context, handler_->GetStatus(out), out);
  }
  grpc::ServerUnaryReactor* ListDevices(CallbackServerContext* context,
                                        const v1::ListDevicesRequest*,
                                        v1::ListDevicesResponse* out) override {
    return Answer(context, handler_->ListDevices(out), out);
  }
  grpc::ServerUnaryReactor* ListKernels(CallbackServerContext* context,
                                        const v1::ListKernelsRequest*,
                                        v1::ListKernelsResponse* out) override {
    return Answer(context, handler_->ListKernels(out), out);
  }
  grpc::ServerUnaryReactor* ListJobs(CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* out) override {
    return Answer(context, handler_->ListJobs(*request, out), out);
  }
  grpc::ServerUnaryReactor* GetJob(CallbackServerContext* context,
                                   const v1::GetJobRequest* request,
                                   v1::GetJobResponse* out) override {
    return Answer(context, handler_->GetJob(*request, out), out);
  }
  grpc::ServerWriteReactor<v1::ListSamplesResponse>* ListSamples(
      CallbackServerContext* context,
      const v1::ListSamplesRequest* request) override {
    auto reactor = std::make_shared<ListSamplesReactor>(context, patience_);
    reactor->Open(streams_);
    reactor->Start(samples_, *request);
    return reactor.get();
  }

 private:
  StatusHandler* const handler_;
  SampleHandler* const samples_;
  const std::chrono::milliseconds patience_;
  StreamSet* const streams_;
};

class UsageService final : public v1::UsageService::CallbackService {
 public:
  explicit UsageService(UsageHandler* handler) : handler_(handler) {}

  grpc::ServerUnaryReactor* ReportUsage(CallbackServerContext* context,
                                        const v1::ReportUsageRequest* request,
                                        v1::ReportUsageResponse* out) override {
    return Answer(context, handler_->ReportUsage(*request, out), out);
  }
  grpc::ServerUnaryReactor* GetUsage(CallbackServerContext* context,
                                     const v1::GetUsageRequest* request,
                                     v1::GetUsageResponse* out) override {
    return Answer(context, handler_->GetUsage(*request, out), out);
  }

 private:
  UsageHandler* const handler_;
};

class AttachReactor final
    : public StreamReactor<
          grpc::ServerBidiReactor<v1::AttachRequest, v1::AttachResponse>,
          v1::AttachResponse> {
 public:
  void Start(AgentDirectory* devices, const AgentSession::Options& options) {
    const std::weak_ptr<AttachReactor> weak =
        std::static_pointer_cast<AttachReactor>(this->shared_from_this());
    session_ = std::make_unique<AgentSession>(
        devices, options,
        [weak](v1::AttachResponse message) {
          if (const auto self = weak.lock()) {
            self->Queue({std::make_shared<const v1::AttachResponse>(
                std::move(message))});
          }
        },
        [weak](const absl::Status& status) {
          if (const auto self = weak.lock()) self->End(ToGrpcStatus(status));
        });
    StartRead(&message_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      End(grpc::Status::OK);
      return;
    }
    const absl::Status status = session_->OnMessage(message_);
    if (status.ok()) {
      StartRead(&message_);
    } else {
      End(ToGrpcStatus(status));
    }
  }

 protected:
  void OnClosed() override { session_->OnClosed("its stream has ended"); }

 private:
  std::unique_ptr<AgentSession> session_;
  v1::AttachRequest message_;
};

class AgentService final : public v1::AgentService::CallbackService {
 public:
  AgentService(AgentDirectory* devices, AgentSession::Options options,
               StreamSet* streams)
      : devices_(devices), options_(std::move(options)), streams_(streams) {}

  grpc::ServerBidiReactor<v1::AttachRequest, v1::AttachResponse>* Attach(
      CallbackServerContext*) override {
    auto reactor = std::make_shared<AttachReactor>();
    reactor->Open(streams_);
    reactor->Start(devices_, options_);
    return reactor.get();
  }

 private:
  AgentDirectory* const devices_;
  const AgentSession::Options options_;
  StreamSet* const streams_;
};

// A stream about one job: paced progress, and the end with the job's.
template <typename Response>
class JobReactor
    : public StreamReactor<grpc::ServerWriteReactor<Response>, Response> {
 public:
  // Follows a job that `watch` describes.
  void Follow(const JobRecord& record, JobControl::Handle handle) {
    handle_ = std::move(handle);
    OnJob(record, /*only_if_first=*/true);
  }

  JobControl::Listener Listener() {
    return [weak = Weak()](const JobRecord& record) {
      if (const auto self = weak.lock()) self->OnJob(record);
    };
  }

 protected:
  std::weak_ptr<JobReactor> Weak() {
    return std::static_pointer_cast<JobReactor>(this->shared_from_this());
  }
  void OnClosed() override { handle_.reset(); }

 private:
  // `only_if_first`: the record is older than what the listener may have
  // brought already.
  void OnJob(const JobRecord& record, bool only_if_first = false) {
    std::unique_lock lock(job_mutex_);
    if (ended_ || (only_if_first && latest_)) return;
    latest_ = record;
    if (record.finished()) {
      ended_ = true;
      lock.unlock();
      Send(record);
      this->End(grpc::Status::OK);
      return;
    }
    if (waiting_) return;
    waiting_ = true;
    alarm_.emplace();
    alarm_->Set(std::chrono::system_clock::now() + kProgressInterval,
                [weak = Weak()](bool) {
                  if (const auto self = weak.lock()) self->OnInterval();
                });
    sent_ = record;
    lock.unlock();
    Send(record);
  }

  // Sends what has changed since the last message.
  void OnInterval() {
    std::unique_lock lock(job_mutex_);
    waiting_ = false;
    if (ended_ || !latest_) return;
    const JobRecord record = *latest_;
    lock.unlock();
    if (Differs(record)) OnJob(record);
  }

  bool Differs(const JobRecord& record) {
    std::lock_guard lock(job_mutex_);
    return !sent_ || sent_->state != record.state ||
           sent_->phase != record.phase || sent_->done != record.done ||
           sent_->total != record.total || sent_->samples != record.samples ||
           sent_->message != record.message;
  }

  void Send(const JobRecord& record) {
    auto message = std::make_shared<Response>();
    *message->mutable_job() = record.finished()
                                  ? DetailedJobRecordToProto(record)
                                  : JobRecordToProto(record);
    this->Queue({std::move(message)});
  }

  JobControl::Handle handle_;
  std::mutex job_mutex_;
  // Guarded by job_mutex_.
  std::optional<JobRecord> latest_;
  std::optional<JobRecord> sent_;
  std::optional<grpc::Alarm> alarm_;
  bool waiting_ = false;
  bool ended_ = false;
};

class WatchJobReactor final : public JobReactor<v1::WatchJobResponse> {
 public:
  void Start(AdminHandler* handler, uint64_t id) {
    absl::StatusOr<JobControl::Watch> watch = handler->WatchJob(id, Listener());
    if (!watch.ok()) {
      End(ToGrpcStatus(watch.status()));
      return;
    }
    Follow(watch->record, std::move(watch->handle));
  }
};

class MeasureReactor final : public JobReactor<v1::MeasureResponse> {
 public:
  void Start(AdminHandler* handler, const v1::MeasureRequest& request) {
    handler_ = handler;
    const absl::StatusOr<JobRecord> job =
        handler->Measure(request, [weak = Weak()](v1::MeasureResponse message) {
          const auto self = weak.lock();
          if (self == nullptr) return;
          self->Queue({std::make_shared<const v1::MeasureResponse>(
              std::move(message))});
        });
    if (!job.ok()) {
      End(ToGrpcStatus(job.status()));
      return;
    }
    id_ = job->id;
    absl::StatusOr<JobControl::Watch> watch =
        handler->WatchJob(id_, Listener());
    if (!watch.ok()) {
      End(ToGrpcStatus(watch.status()));
      return;
    }
    Follow(watch->record, std::move(watch->handle));
  }

 protected:
  void OnClosed() override {
    JobReactor::OnClosed();
    // Results that nobody hears of are not worth device time.
    if (id_ != 0) handler_->Abandon(id_);
  }

 private:
  AdminHandler* handler_ = nullptr;
  uint64_t id_ = 0;
};

class AdminService final : public v1::AdminService::CallbackService {
 public:
  AdminService(AdminHandler* handler, StreamSet* streams)
      : handler_(handler), streams_(streams) {}

  grpc::ServerUnaryReactor* Reprofile(CallbackServerContext* context,
                                      const v1::ReprofileRequest* request,
                                      v1::ReprofileResponse* out) override {
    return Answer(context, handler_->Reprofile(*request, out), out);
  }
  grpc::ServerUnaryReactor* CancelJob(CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::CancelJobResponse* out) override {
    return Answer(context, handler_->CancelJob(*request, out), out);
  }
  grpc::ServerWriteReactor<v1::WatchJobResponse>* WatchJob(
      CallbackServerContext*, const v1::WatchJobRequest* request) override {
    auto reactor = std::make_shared<WatchJobReactor>();
    reactor->Open(streams_);
    reactor->Start(handler_, request->id());
    return reactor.get();
  }
  grpc::ServerWriteReactor<v1::MeasureResponse>* Measure(
      CallbackServerContext*, const v1::MeasureRequest* request) override {
    auto reactor = std::make_shared<MeasureReactor>();
    reactor->Open(streams_);
    reactor->Start(handler_, *request);
    return reactor.get();
  }

 private:
  AdminHandler* const handler_;
  StreamSet* const streams_;
};

}  // namespace

Services ReaderServices(const ReaderHandlers& handlers, StreamSet* streams) {
  Services services;
  if (handlers.tables != nullptr) {
    services.push_back(
        std::make_unique<TableService>(handlers.tables, streams));
  }
  if (handlers.decisions != nullptr) {
    services.push_back(std::make_unique<DecisionService>(handlers.decisions));
  }
  if (handlers.status != nullptr && handlers.samples != nullptr) {
    services.push_back(std::make_unique<StatusService>(handlers, streams));
  }
  if (handlers.usage != nullptr) {
    services.push_back(std::make_unique<UsageService>(handlers.usage));
  }
  return services;
}

Services AgentServices(AgentDirectory* devices,
                       const AgentSession::Options& options,
                       StreamSet* streams) {
  Services services;
  services.push_back(std::make_unique<AgentService>(devices, options, streams));
  return services;
}

Services AdminServices(AdminHandler* admin, StreamSet* streams) {
  Services services;
  services.push_back(std::make_unique<AdminService>(admin, streams));
  return services;
}

}  // namespace wavetune
