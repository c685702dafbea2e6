#include "server/rpc/services.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "formats/foreign_text.h"
#include "formats/status.h"
#include "grpcpp/alarm.h"
#include "proto/wavetune/v1/admin_service.grpc.pb.h"
#include "proto/wavetune/v1/agent_service.grpc.pb.h"
#include "proto/wavetune/v1/decision_service.grpc.pb.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"
#include "proto/wavetune/v1/usage_service.grpc.pb.h"
#include "proto/wavetune/v1/workload_service.grpc.pb.h"
#include "server/rpc/bounded_call.h"
#include "server/rpc/list_samples_reactor.h"
#include "server/rpc/record_proto.h"

namespace wavetune {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

// Notices that may wait for a slow watcher before it gets the snapshot instead:
// one is a promotion, and a thousand watchers that all wait cost some MiB.
constexpr QueueLimit kNoticeLimit = {.messages = 256, .bytes = size_t{1} << 20};
// Results that may wait for whoever measures: a minute's pause of the reader
// costs nothing, one that never reads loses its measurement.
constexpr QueueLimit kResultLimit = {.messages = 16384,
                                     .bytes = size_t{16} << 20};
// What may wait for an agent: a batch with its sources and what follows it.
constexpr QueueLimit kAgentLimit = {.messages = 4096,
                                    .bytes = size_t{64} << 20};
// Progress of a job is sent at most ten times a second.
constexpr std::chrono::milliseconds kProgressInterval{100};

// Limits of requests (docs/limits.md): what they take on the wire, and parsed.
// A name or two, an id, a digest.
constexpr RequestBounds kFewWords{4 * kKiB, 64 * kKiB};
// Up to 256 kernels with their digests.
constexpr RequestBounds kTableSet{128 * kKiB, kMiB};
// One problem, of many experts perhaps.
constexpr RequestBounds kOneProblem{64 * kKiB, kMiB};
// Up to 4,096 problems.
constexpr RequestBounds kProblems{kMaxReaderBytes, 24 * kMiB};
// Up to 64 kernels with 64 problems of eight dimensions each.
constexpr RequestBounds kUsageReport{2 * kMiB, 12 * kMiB};
// A model's config.json, of 1 MiB at most.
constexpr RequestBounds kWorkload{kMiB + 4 * kKiB, kMiB + 64 * kKiB};
// Reasons that people give.
constexpr RequestBounds kReprofile{64 * kKiB, 256 * kKiB};
constexpr RequestBounds kMeasure{kMaxAdminBytes, 24 * kMiB};
// One report of an agent; a hello names all its devices.
constexpr RequestBounds kAgentMessage{kMaxAgentBytes, 8 * kMiB};

// Whose a call is: equal texts for equal users.
std::string UserOf(const PeerUsers* peers,
                   const CallbackServerContext& context) {
  if (peers == nullptr) return "unknown";
  const auto connection = peers->Find(context.peer());
  return connection ? absl::StrCat(connection->user) : "unknown";
}

// Who reports use by a call.
UsageHandler::Peer ReporterOf(const PeerUsers* peers,
                              const CallbackServerContext& context) {
  UsageHandler::Peer peer{.user = UserOf(peers, context),
                          .process = context.peer()};
  if (peers == nullptr) return peer;
  if (const auto connection = peers->Find(context.peer())) {
    peer.connected_s = static_cast<double>(SystemClock().SteadyNow().count() -
                                           connection->since_us) *
                       1e-6;
  }
  return peer;
}

class WatchTablesReactor final
    : public StreamReactor<RawWriteReactor<v1::WatchTablesResponse>,
                           v1::WatchTablesResponse>,
      public TableHandler::Sink {
 public:
  void Start(TableHandler* handler, const v1::WatchTablesRequest& request) {
    watch_ = handler->WatchTables(
        request,
        std::static_pointer_cast<WatchTablesReactor>(this->shared_from_this()));
  }
  bool Push(const TableNotices& notices) override {
    return Queue(notices, kNoticeLimit);
  }
  void Replace(const TableNotices& notices) override { QueueInstead(notices); }

 protected:
  void OnClosed() override { watch_.reset(); }

 private:
  std::shared_ptr<TableHandler::Watch> watch_;
};

using RawTableService = v1::TableService::WithRawCallbackMethod_ListTables<
    v1::TableService::WithRawCallbackMethod_GetTable<
        v1::TableService::WithRawCallbackMethod_WatchTables<
            v1::TableService::WithRawCallbackMethod_AnnounceTableSet<
                v1::TableService::WithRawCallbackMethod_GetTableSet<
                    v1::TableService::Service>>>>>;

class TableService final : public RawTableService {
 public:
  TableService(const ReaderHandlers& handlers, StreamSet* streams)
      : handler_(handlers.tables),
        work_(handlers.read_work),
        peers_(handlers.peers),
        streams_(streams) {}

  ServerUnaryReactor* ListTables(CallbackServerContext* context,
                                 const ByteBuffer* in,
                                 ByteBuffer* out) override {
    return Answer<v1::ListTablesRequest, v1::ListTablesResponse>(
        context, *in, out, kFewWords,
        [this](const auto& request, auto* response) {
          return handler_->ListTables(request, response);
        });
  }
  ServerUnaryReactor* GetTable(CallbackServerContext* context,
                               const ByteBuffer* in, ByteBuffer* out) override {
    const auto handle = [this](const auto& request, auto* response) {
      return handler_->GetTable(request, response);
    };
    // What does not serve any more is read from the store.
    const auto in_memory = [this](const v1::GetTableRequest& request) {
      return request.digest().empty() || handler_->Serves(request.digest());
    };
    return AnswerNowOrLater<v1::GetTableRequest, v1::GetTableResponse>(
        context, *in, out, kFewWords, {work_, UserOf(peers_, *context)},
        in_memory, handle);
  }
  ServerUnaryReactor* AnnounceTableSet(CallbackServerContext* context,
                                       const ByteBuffer* in,
                                       ByteBuffer* out) override {
    return Answer<v1::AnnounceTableSetRequest, v1::AnnounceTableSetResponse>(
        context, *in, out, kTableSet,
        [this](const auto& request, auto* response) {
          return handler_->AnnounceTableSet(request, response);
        });
  }
  ServerUnaryReactor* GetTableSet(CallbackServerContext* context,
                                  const ByteBuffer* in,
                                  ByteBuffer* out) override {
    return Answer<v1::GetTableSetRequest, v1::GetTableSetResponse>(
        context, *in, out, kFewWords,
        [this](const auto& request, auto* response) {
          return handler_->GetTableSet(request, response);
        });
  }
  grpc::ServerWriteReactor<ByteBuffer>* WatchTables(
      CallbackServerContext* context, const ByteBuffer* in) override {
    auto reactor = std::make_shared<WatchTablesReactor>();
    if (reactor->Open(streams_, UserOf(peers_, *context))) {
      StartWith<v1::WatchTablesRequest>(
          *reactor, *in, kFewWords,
          [&](const auto& request) { reactor->Start(handler_, request); });
    }
    return reactor.get();
  }

 private:
  TableHandler* const handler_;
  WorkQueue* const work_;
  const PeerUsers* const peers_;
  StreamSet* const streams_;
};

using RawDecisionService = v1::DecisionService::WithRawCallbackMethod_Resolve<
    v1::DecisionService::WithRawCallbackMethod_Explain<
        v1::DecisionService::Service>>;

class DecisionService final : public RawDecisionService {
 public:
  explicit DecisionService(DecisionHandler* handler) : handler_(handler) {}

  ServerUnaryReactor* Resolve(CallbackServerContext* context,
                              const ByteBuffer* in, ByteBuffer* out) override {
    return Answer<v1::ResolveRequest, v1::ResolveResponse>(
        context, *in, out, kProblems,
        [this](const auto& request, auto* response) {
          return handler_->Resolve(request, response);
        });
  }
  ServerUnaryReactor* Explain(CallbackServerContext* context,
                              const ByteBuffer* in, ByteBuffer* out) override {
    return Answer<v1::ExplainRequest, v1::ExplainResponse>(
        context, *in, out, kOneProblem,
        [this](const auto& request, auto* response) {
          return handler_->Explain(request, response);
        });
  }

 private:
  DecisionHandler* const handler_;
};

using RawStatusService = v1::StatusService::WithRawCallbackMethod_GetStatus<
    v1::StatusService::WithRawCallbackMethod_ListDevices<
        v1::StatusService::WithRawCallbackMethod_ListKernels<
            v1::StatusService::WithRawCallbackMethod_ListJobs<
                v1::StatusService::WithRawCallbackMethod_GetJob<
                    v1::StatusService::WithRawCallbackMethod_ListSamples<
                        v1::StatusService::Service>>>>>>;

class StatusService final : public RawStatusService {
 public:
  StatusService(const ReaderHandlers& handlers, StreamSet* streams)
      : handler_(handlers.status),
        samples_(handlers.samples),
        work_(handlers.read_work),
        peers_(handlers.peers),
        patience_(handlers.listing_patience),
        streams_(streams) {}

  ServerUnaryReactor* GetStatus(CallbackServerContext* context,
                                const ByteBuffer* in,
                                ByteBuffer* out) override {
    return Answer<v1::GetStatusRequest, v1::GetStatusResponse>(
        context, *in, out, kFewWords, [this](const auto&, auto* response) {
          return handler_->GetStatus(response);
        });
  }
  ServerUnaryReactor* ListDevices(CallbackServerContext* context,
                                  const ByteBuffer* in,
                                  ByteBuffer* out) override {
    return Answer<v1::ListDevicesRequest, v1::ListDevicesResponse>(
        context, *in, out, kFewWords, [this](const auto&, auto* response) {
          return handler_->ListDevices(response);
        });
  }
  ServerUnaryReactor* ListKernels(CallbackServerContext* context,
                                  const ByteBuffer* in,
                                  ByteBuffer* out) override {
    return Answer<v1::ListKernelsRequest, v1::ListKernelsResponse>(
        context, *in, out, kFewWords, [this](const auto&, auto* response) {
          return handler_->ListKernels(response);
        });
  }
  ServerUnaryReactor* ListJobs(CallbackServerContext* context,
                               const ByteBuffer* in, ByteBuffer* out) override {
    return AnswerLater<v1::ListJobsRequest, v1::ListJobsResponse>(
        context, *in, out, kFewWords, {work_, UserOf(peers_, *context)},
        [this](const auto& request, auto* response) {
          return handler_->ListJobs(request, response);
        });
  }
  ServerUnaryReactor* GetJob(CallbackServerContext* context,
                             const ByteBuffer* in, ByteBuffer* out) override {
    const auto handle = [this](const auto& request, auto* response) {
      return handler_->GetJob(request, response);
    };
    const auto in_memory = [this](const v1::GetJobRequest& request) {
      return handler_->InMemory(request.id());
    };
    return AnswerNowOrLater<v1::GetJobRequest, v1::GetJobResponse>(
        context, *in, out, kFewWords, {work_, UserOf(peers_, *context)},
        in_memory, handle);
  }
  grpc::ServerWriteReactor<ByteBuffer>* ListSamples(
      CallbackServerContext* context, const ByteBuffer* in) override {
    auto reactor =
        std::make_shared<ListSamplesReactor>(context, patience_, work_);
    if (reactor->Open(streams_, UserOf(peers_, *context))) {
      StartWith<v1::ListSamplesRequest>(
          *reactor, *in, kFewWords,
          [&](const auto& request) { reactor->Start(samples_, request); });
    }
    return reactor.get();
  }

 private:
  StatusHandler* const handler_;
  SampleHandler* const samples_;
  WorkQueue* const work_;
  const PeerUsers* const peers_;
  const std::chrono::milliseconds patience_;
  StreamSet* const streams_;
};

using RawUsageService = v1::UsageService::WithRawCallbackMethod_ReportUsage<
    v1::UsageService::WithRawCallbackMethod_GetUsage<
        v1::UsageService::Service>>;

class UsageService final : public RawUsageService {
 public:
  UsageService(UsageHandler* handler, WorkQueue* work, const PeerUsers* peers)
      : handler_(handler), work_(work), peers_(peers) {}

  ServerUnaryReactor* ReportUsage(CallbackServerContext* context,
                                  const ByteBuffer* in,
                                  ByteBuffer* out) override {
    const UsageHandler::Peer peer = ReporterOf(peers_, *context);
    if (absl::Status turn = handler_->TakeTurn(peer); !turn.ok()) {
      return Refuse(context, turn);
    }
    return AnswerLater<v1::ReportUsageRequest, v1::ReportUsageResponse>(
        context, *in, out, kUsageReport, {work_, peer.user},
        [this, peer](const auto& request, auto* response) {
          return handler_->ReportUsage(request, peer, response);
        });
  }
  ServerUnaryReactor* GetUsage(CallbackServerContext* context,
                               const ByteBuffer* in, ByteBuffer* out) override {
    return Answer<v1::GetUsageRequest, v1::GetUsageResponse>(
        context, *in, out, kFewWords,
        [this](const auto& request, auto* response) {
          return handler_->GetUsage(request, response);
        });
  }

 private:
  UsageHandler* const handler_;
  WorkQueue* const work_;
  const PeerUsers* const peers_;
};

using RawWorkloadService =
    v1::WorkloadService::WithRawCallbackMethod_AddWorkload<
        v1::WorkloadService::WithRawCallbackMethod_ListWorkloads<
            v1::WorkloadService::WithRawCallbackMethod_GetWorkload<
                v1::WorkloadService::Service>>>;

class WorkloadService final : public RawWorkloadService {
 public:
  explicit WorkloadService(const ReaderHandlers& handlers)
      : handler_(handlers.workloads),
        writes_(handlers.usage_work),
        reads_(handlers.read_work),
        peers_(handlers.peers) {}

  ServerUnaryReactor* AddWorkload(CallbackServerContext* context,
                                  const ByteBuffer* in,
                                  ByteBuffer* out) override {
    const std::string user = UserOf(peers_, *context);
    if (absl::Status turn = handler_->TakeTurn(user); !turn.ok()) {
      return Refuse(context, turn);
    }
    return AnswerLater<v1::AddWorkloadRequest, v1::AddWorkloadResponse>(
        context, *in, out, kWorkload, {writes_, user},
        [this, user](const auto& request, auto* response) {
          return handler_->AddWorkload(request, user, response);
        });
  }
  // Problems are counted for each workload and kernel, which takes its time.
  ServerUnaryReactor* ListWorkloads(CallbackServerContext* context,
                                    const ByteBuffer* in,
                                    ByteBuffer* out) override {
    return AnswerLater<v1::ListWorkloadsRequest, v1::ListWorkloadsResponse>(
        context, *in, out, kFewWords, {reads_, UserOf(peers_, *context)},
        [this](const auto&, auto* response) {
          return handler_->ListWorkloads(response);
        });
  }
  ServerUnaryReactor* GetWorkload(CallbackServerContext* context,
                                  const ByteBuffer* in,
                                  ByteBuffer* out) override {
    return AnswerLater<v1::GetWorkloadRequest, v1::GetWorkloadResponse>(
        context, *in, out, kFewWords, {reads_, UserOf(peers_, *context)},
        [this](const auto& request, auto* response) {
          return handler_->GetWorkload(request, response);
        });
  }

 private:
  WorkloadHandler* const handler_;
  WorkQueue* const writes_;
  WorkQueue* const reads_;
  const PeerUsers* const peers_;
};

class AttachReactor final
    : public StreamReactor<
          RawBidiReactor<v1::AttachRequest, v1::AttachResponse>,
          v1::AttachResponse> {
 public:
  void Start(AgentDirectory* devices, const AgentSession::Options& options) {
    const std::weak_ptr<AttachReactor> weak =
        std::static_pointer_cast<AttachReactor>(this->shared_from_this());
    session_ = std::make_unique<AgentSession>(
        devices, options,
        [weak](v1::AttachResponse message) {
          if (const auto self = weak.lock()) self->Send(std::move(message));
        },
        [weak](const absl::Status& status) {
          if (const auto self = weak.lock()) self->End(ToGrpcStatus(status));
        });
    StartReading();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      End(grpc::Status::OK);
      return;
    }
    absl::Status status = ParseRead(kAgentMessage, &message_);
    if (status.ok()) status = session_->OnMessage(message_);
    if (status.ok()) {
      StartReading();
    } else {
      End(ToGrpcStatus(status));
    }
  }

 protected:
  void OnClosed() override {
    if (session_ != nullptr) session_->OnClosed("its stream has ended");
  }

 private:
  void Send(v1::AttachResponse message) {
    EscapeForeignText(&message);
    if (Queue({std::make_shared<const v1::AttachResponse>(std::move(message))},
              kAgentLimit)) {
      return;
    }
    End({grpc::StatusCode::RESOURCE_EXHAUSTED,
         "the agent reads nothing of what it is sent"});
  }

  std::unique_ptr<AgentSession> session_;
  v1::AttachRequest message_;
};

using RawAgentService =
    v1::AgentService::WithRawCallbackMethod_Attach<v1::AgentService::Service>;

class AgentService final : public RawAgentService {
 public:
  AgentService(AgentDirectory* devices, AgentSession::Options options,
               StreamSet* streams, const PeerUsers* peers)
      : devices_(devices),
        options_(std::move(options)),
        streams_(streams),
        peers_(peers) {}

  grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* Attach(
      CallbackServerContext* context) override {
    auto reactor = std::make_shared<AttachReactor>();
    if (reactor->Open(streams_, UserOf(peers_, *context)))
      reactor->Start(devices_, options_);
    return reactor.get();
  }

 private:
  AgentDirectory* const devices_;
  const AgentSession::Options options_;
  StreamSet* const streams_;
  const PeerUsers* const peers_;
};

// A stream about one job: paced progress, and the end with the job's. To a slow
// reader only the latest progress is worth anything.
template <typename Response>
class JobReactor : public StreamReactor<RawWriteReactor<Response>, Response> {
 public:
  // Follows a job that `watch` describes.
  void Follow(const JobRecord& record, JobControl::Handle handle) {
    {
      std::lock_guard lock(job_mutex_);
      if (closed_) return;
      handle_ = std::move(handle);
    }
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
  void OnClosed() override {
    JobControl::Handle handle;  // Goes without the lock.
    std::lock_guard lock(job_mutex_);
    closed_ = true;
    handle = std::move(handle_);
  }

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
    Pace(record);
    lock.unlock();
    Send(record);
  }

  // Sends what has changed since the last message.
  void OnInterval() {
    std::unique_lock lock(job_mutex_);
    waiting_ = false;
    if (ended_ || !latest_ || !Differs(*latest_)) return;
    const JobRecord record = *latest_;
    Pace(record);
    lock.unlock();
    Send(record);
  }

  // The record is sent now, and nothing else for a while. Holds job_mutex_.
  void Pace(const JobRecord& record) {
    waiting_ = true;
    sent_ = record;
    alarm_.emplace();
    alarm_->Set(std::chrono::system_clock::now() + kProgressInterval,
                [weak = Weak()](bool) {
                  if (const auto self = weak.lock()) self->OnInterval();
                });
  }

  // Holds job_mutex_.
  bool Differs(const JobRecord& record) const {
    return !sent_ || sent_->state != record.state ||
           sent_->phase != record.phase || sent_->done != record.done ||
           sent_->total != record.total || sent_->samples != record.samples ||
           sent_->message != record.message;
  }

  // Without job_mutex_, as gRPC may call back: another thread's record may
  // overtake this one, but nothing follows the last.
  void Send(const JobRecord& record) {
    auto message = std::make_shared<Response>();
    *message->mutable_job() = record.finished()
                                  ? DetailedJobRecordToProto(record)
                                  : JobRecordToProto(record);
    EscapeForeignText(message.get());
    this->QueueLatest(std::move(message), /*last=*/record.finished());
  }

  std::mutex job_mutex_;
  // Guarded by job_mutex_.
  JobControl::Handle handle_;
  bool closed_ = false;
  std::optional<JobRecord> latest_;
  std::optional<JobRecord> sent_;
  std::optional<grpc::Alarm> alarm_;
  bool waiting_ = false;
  bool ended_ = false;
};

class WatchJobReactor final : public JobReactor<v1::WatchJobResponse> {
 public:
  // `reads`: where a job is read that is in the store alone.
  void Start(AdminHandler* handler, WorkQueue* reads, uint64_t id) {
    if (handler->InMemory(id)) {
      Watch(handler, id);
      return;
    }
    const auto self =
        std::static_pointer_cast<WatchJobReactor>(this->shared_from_this());
    const absl::Status queued = reads->Run(
        [self, handler, id] { self->Watch(handler, id); }, {.user = user()});
    if (!queued.ok()) End(ToGrpcStatus(queued));
  }

 private:
  void Watch(AdminHandler* handler, uint64_t id) {
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
  MeasureReactor(AdminHandler* handler, WorkQueue* work)
      : handler_(handler), work_(work) {}

  // Storing a job waits for the disk. What waits are bytes: it is parsed when
  // its turn comes.
  void Start(const ByteBuffer& in) {
    const auto self =
        std::static_pointer_cast<MeasureReactor>(this->shared_from_this());
    absl::Status status = CheckBounded<v1::MeasureRequest>(in, kMeasure);
    if (status.ok()) {
      status =
          work_->Run([self, in] { self->Measure(in); }, {user(), in.Length()});
    }
    if (!status.ok()) End(ToGrpcStatus(status));
  }

 protected:
  void OnClosed() override {
    JobReactor::OnClosed();
    gone_ = true;
    // Results that nobody hears of are not worth device time.
    Abandon();
  }

 private:
  void Measure(const ByteBuffer& in) {
    if (gone_) return;
    v1::MeasureRequest request;
    if (absl::Status status = ParseChecked(in, &request); !status.ok()) {
      End(ToGrpcStatus(status));
      return;
    }
    const absl::StatusOr<JobRecord> job = handler_->Measure(
        request, [weak = Weak()](v1::MeasureResponse message) {
          const auto self =
              std::static_pointer_cast<MeasureReactor>(weak.lock());
          if (self != nullptr) self->SendResult(std::move(message));
        });
    if (!job.ok()) {
      End(ToGrpcStatus(job.status()));
      return;
    }
    id_ = job->id;
    // Who went while it was stored found no id.
    if (gone_) Abandon();
    absl::StatusOr<JobControl::Watch> watch =
        handler_->WatchJob(id_, Listener());
    if (!watch.ok()) {
      End(ToGrpcStatus(watch.status()));
      return;
    }
    Follow(watch->record, std::move(watch->handle));
  }

  void Abandon() {
    if (id_ == 0) return;
    work_->RunAlways(
        [handler = handler_, id = id_.load()] { handler->Abandon(id); });
  }

  void SendResult(v1::MeasureResponse message) {
    EscapeForeignText(&message);
    if (Queue({std::make_shared<const v1::MeasureResponse>(std::move(message))},
              kResultLimit)) {
      return;
    }
    End({grpc::StatusCode::RESOURCE_EXHAUSTED,
         "results were not read while many others came: the measurement is "
         "cancelled; what was measured is stored"});
    // The first results may come before the id is known; the job then ends
    // with the call.
    Abandon();
  }

  AdminHandler* const handler_;
  WorkQueue* const work_;
  std::atomic<uint64_t> id_ = 0;
  std::atomic<bool> gone_ = false;
};

using RawAdminService = v1::AdminService::WithRawCallbackMethod_Reprofile<
    v1::AdminService::WithRawCallbackMethod_CancelJob<
        v1::AdminService::WithRawCallbackMethod_WatchJob<
            v1::AdminService::WithRawCallbackMethod_Measure<
                v1::AdminService::WithRawCallbackMethod_RemoveWorkload<
                    v1::AdminService::Service>>>>>;

class AdminService final : public RawAdminService {
 public:
  AdminService(AdminHandler* handler, WorkloadHandler* workloads,
               const AdminWork& work, StreamSet* streams,
               const PeerUsers* peers)
      : handler_(handler),
        workloads_(workloads),
        work_(work.writes),
        reads_(work.reads),
        peers_(peers),
        streams_(streams) {}

  ServerUnaryReactor* Reprofile(CallbackServerContext* context,
                                const ByteBuffer* in,
                                ByteBuffer* out) override {
    return AnswerLater<v1::ReprofileRequest, v1::ReprofileResponse>(
        context, *in, out, kReprofile, {work_, UserOf(peers_, *context)},
        [this](const auto& request, auto* response) {
          return handler_->Reprofile(request, response);
        });
  }
  ServerUnaryReactor* CancelJob(CallbackServerContext* context,
                                const ByteBuffer* in,
                                ByteBuffer* out) override {
    return AnswerLater<v1::CancelJobRequest, v1::CancelJobResponse>(
        context, *in, out, kFewWords, {work_, UserOf(peers_, *context)},
        [this](const auto& request, auto* response) {
          return handler_->CancelJob(request, response);
        });
  }
  ServerUnaryReactor* RemoveWorkload(CallbackServerContext* context,
                                     const ByteBuffer* in,
                                     ByteBuffer* out) override {
    if (workloads_ == nullptr) {
      return Refuse(context, absl::UnimplementedError("there are none"));
    }
    return AnswerLater<v1::RemoveWorkloadRequest, v1::RemoveWorkloadResponse>(
        context, *in, out, kFewWords, {work_, UserOf(peers_, *context)},
        [this](const auto& request, auto*) {
          return workloads_->RemoveWorkload(request);
        });
  }
  grpc::ServerWriteReactor<ByteBuffer>* WatchJob(
      CallbackServerContext* context, const ByteBuffer* in) override {
    auto reactor = std::make_shared<WatchJobReactor>();
    if (reactor->Open(streams_, UserOf(peers_, *context))) {
      StartWith<v1::WatchJobRequest>(
          *reactor, *in, kFewWords, [&](const auto& request) {
            reactor->Start(handler_, reads_, request.id());
          });
    }
    return reactor.get();
  }
  grpc::ServerWriteReactor<ByteBuffer>* Measure(CallbackServerContext* context,
                                                const ByteBuffer* in) override {
    auto reactor = std::make_shared<MeasureReactor>(handler_, work_);
    if (reactor->Open(streams_, UserOf(peers_, *context))) {
      reactor->Start(*in);
    }
    return reactor.get();
  }

 private:
  AdminHandler* const handler_;
  WorkloadHandler* const workloads_;
  WorkQueue* const work_;
  WorkQueue* const reads_;
  const PeerUsers* const peers_;
  StreamSet* const streams_;
};

}  // namespace

Services ReaderServices(const ReaderHandlers& handlers, StreamSet* streams) {
  Services services;
  if (handlers.tables != nullptr) {
    services.push_back(std::make_unique<TableService>(handlers, streams));
  }
  if (handlers.decisions != nullptr) {
    services.push_back(std::make_unique<DecisionService>(handlers.decisions));
  }
  if (handlers.status != nullptr && handlers.samples != nullptr) {
    services.push_back(std::make_unique<StatusService>(handlers, streams));
  }
  if (handlers.usage != nullptr && handlers.usage_work != nullptr) {
    services.push_back(std::make_unique<UsageService>(
        handlers.usage, handlers.usage_work, handlers.peers));
  }
  if (handlers.workloads != nullptr && handlers.usage_work != nullptr &&
      handlers.read_work != nullptr) {
    services.push_back(std::make_unique<WorkloadService>(handlers));
  }
  return services;
}

Services AgentServices(AgentDirectory* devices,
                       const AgentSession::Options& options, StreamSet* streams,
                       const PeerUsers* peers) {
  Services services;
  services.push_back(
      std::make_unique<AgentService>(devices, options, streams, peers));
  return services;
}

Services AdminServices(AdminHandler* admin, WorkloadHandler* workloads,
                       const AdminWork& work, StreamSet* streams,
                       const PeerUsers* peers) {
  Services services;
  services.push_back(
      std::make_unique<AdminService>(admin, workloads, work, streams, peers));
  return services;
}

}  // namespace wavetune
