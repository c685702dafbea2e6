#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "formats/foreign_text.h"
#include "formats/status.h"
#include "proto/wavetune/v1/admin_service.grpc.pb.h"
#include "server/rpc/admin_handler.h"
#include "server/rpc/bounded_call.h"
#include "server/rpc/caller.h"
#include "server/rpc/job_reactor.h"
#include "server/rpc/service_parts.h"
#include "server/rpc/store_admin.h"
#include "server/rpc/stream_reactor.h"
#include "server/rpc/table_admin.h"
#include "server/rpc/work_queue.h"
#include "server/rpc/workload_handler.h"

namespace wavetune {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;

// Results that may wait for whoever measures: a minute's pause of the reader
// costs nothing, one that never reads loses its measurement.
constexpr QueueLimit kResultLimit = {.messages = 16384,
                                     .bytes = size_t{16} << 20};
// Reasons that people give.
constexpr RequestBounds kReprofile{64 * kKiB, 256 * kKiB};
// Tables: at most 64 KiB each.
constexpr RequestBounds kImport{128 * kKiB, kMiB};
constexpr RequestBounds kMeasure{kMaxAdminBytes, 24 * kMiB};

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
        request, user(), [weak = Weak()](v1::MeasureResponse message) {
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

// To a slow reader only the latest progress is worth anything.
class StoreReactor final
    : public StreamReactor<RawWriteReactor<v1::StoreProgress>,
                           v1::StoreProgress> {
 public:
  void Start(StoreAdmin* handler, StoreAdmin::Work work) {
    const std::weak_ptr<StoreReactor> weak =
        std::static_pointer_cast<StoreReactor>(this->shared_from_this());
    const absl::Status started = handler->Start(
        work, user(),
        {.progress =
             [weak](v1::StoreProgress progress) {
               const auto self = weak.lock();
               if (self == nullptr) return;
               EscapeForeignText(&progress);
               const bool last = progress.done();
               self->QueueLatest(std::make_shared<const v1::StoreProgress>(
                                     std::move(progress)),
                                 last);
             },
         .end =
             [weak](const absl::Status& status) {
               if (const auto self = weak.lock())
                 self->End(ToGrpcStatus(status));
             }});
    if (!started.ok()) End(ToGrpcStatus(started));
  }
};

template <typename Base>
using WithRawTables = v1::AdminService::WithRawCallbackMethod_RollBack<
    v1::AdminService::WithRawCallbackMethod_PinTable<
        v1::AdminService::WithRawCallbackMethod_UnpinTable<
            v1::AdminService::WithRawCallbackMethod_ImportTable<
                v1::AdminService::WithRawCallbackMethod_RetireTable<Base>>>>>;
template <typename Base>
using WithRawStore = v1::AdminService::WithRawCallbackMethod_BackUpStore<
    v1::AdminService::WithRawCallbackMethod_CheckStore<
        v1::AdminService::WithRawCallbackMethod_CompactStore<Base>>>;
template <typename Base>
using WithRawFleet = v1::AdminService::WithRawCallbackMethod_PublishToFleet<
    v1::AdminService::WithRawCallbackMethod_FreezeInFleet<
        v1::AdminService::WithRawCallbackMethod_UnfreezeInFleet<
            v1::AdminService::WithRawCallbackMethod_RollBackFleet<Base>>>>;
using RawAdminService = v1::AdminService::WithRawCallbackMethod_Reprofile<
    v1::AdminService::WithRawCallbackMethod_CancelJob<
        v1::AdminService::WithRawCallbackMethod_WatchJob<
            v1::AdminService::WithRawCallbackMethod_Measure<
                v1::AdminService::WithRawCallbackMethod_RemoveWorkload<
                    WithRawTables<WithRawStore<
                        WithRawFleet<v1::AdminService::Service>>>>>>>>;

// A method that is the fleet's. It waits for the network: not where jobs are
// stored.
#define WAVETUNE_ON_FLEET(Method, handler)                                  \
  WAVETUNE_RAW_METHOD(Method) {                                             \
    if (fleet_ == nullptr)                                                  \
      return FinishNow(context, absl::UnimplementedError("there is none")); \
    const std::string user = UserOf(peers_, *context);                      \
    return AnswerLater<v1::Method##Request, v1::Method##Response>(          \
        context, *in, out, kFewWords, {reads_, user},                       \
        WAVETUNE_HANDLE(handler));                                          \
  }

class AdminService final : public RawAdminService {
 public:
  AdminService(const AdminHandlers& handlers, const AdminWork& work,
               StreamSet* streams, const PeerUsers* peers)
      : handler_(handlers.jobs),
        tables_(handlers.tables),
        workloads_(handlers.workloads),
        store_(handlers.store),
        fleet_(handlers.fleet),
        work_(work.writes),
        reads_(work.reads),
        peers_(peers),
        streams_(streams) {}

  WAVETUNE_ANSWER_LATER(Reprofile, kReprofile, handler_->Reprofile, work_)
  WAVETUNE_ANSWER_LATER(CancelJob, kFewWords, handler_->CancelJob, work_)
  WAVETUNE_RAW_METHOD(RemoveWorkload) {
    if (workloads_ == nullptr) {
      return FinishNow(context, absl::UnimplementedError("there are none"));
    }
    return AnswerLater<v1::RemoveWorkloadRequest, v1::RemoveWorkloadResponse>(
        context, *in, out, kFewWords, {work_, UserOf(peers_, *context)},
        [this](const auto& request, auto*) {
          return workloads_->RemoveWorkload(request);
        });
  }
  WAVETUNE_ANSWER_LATER(RollBack, kFewWords, tables_->RollBack, work_)
  WAVETUNE_ANSWER_LATER(PinTable, kFewWords, tables_->Pin, work_)
  WAVETUNE_ANSWER_LATER(UnpinTable, kFewWords, tables_->Unpin, work_)
  WAVETUNE_ANSWER_LATER(ImportTable, kImport, tables_->Import, work_)
  WAVETUNE_ANSWER_LATER(RetireTable, kFewWords, tables_->Retire, work_)
  WAVETUNE_ON_FLEET(PublishToFleet, fleet_->Publish)
  WAVETUNE_ON_FLEET(FreezeInFleet, fleet_->Freeze)
  WAVETUNE_ON_FLEET(UnfreezeInFleet, fleet_->Unfreeze)
  WAVETUNE_ON_FLEET(RollBackFleet, fleet_->RollBack)
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
  grpc::ServerWriteReactor<ByteBuffer>* BackUpStore(
      CallbackServerContext* context, const ByteBuffer* in) override {
    return StartOnStore<v1::BackUpStoreRequest>(context, *in,
                                                StoreAdmin::Work::kBackUp);
  }
  grpc::ServerWriteReactor<ByteBuffer>* CheckStore(
      CallbackServerContext* context, const ByteBuffer* in) override {
    return StartOnStore<v1::CheckStoreRequest>(context, *in,
                                               StoreAdmin::Work::kCheck);
  }
  grpc::ServerWriteReactor<ByteBuffer>* CompactStore(
      CallbackServerContext* context, const ByteBuffer* in) override {
    return StartOnStore<v1::CompactStoreRequest>(context, *in,
                                                 StoreAdmin::Work::kCompact);
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
  template <typename Request>
  grpc::ServerWriteReactor<ByteBuffer>* StartOnStore(
      CallbackServerContext* context, const ByteBuffer& in,
      StoreAdmin::Work work) {
    auto reactor = std::make_shared<StoreReactor>();
    if (!reactor->Open(streams_, UserOf(peers_, *context)))
      return reactor.get();
    if (store_ == nullptr) {
      reactor->End({grpc::StatusCode::UNIMPLEMENTED, "there is no store"});
      return reactor.get();
    }
    StartWith<Request>(*reactor, in, kFewWords,
                       [&](const auto&) { reactor->Start(store_, work); });
    return reactor.get();
  }

  AdminHandler* const handler_;
  TableAdmin* const tables_;
  WorkloadHandler* const workloads_;
  StoreAdmin* const store_;
  FleetAdmin* const fleet_;
  WorkQueue* const work_;
  WorkQueue* const reads_;
  const PeerUsers* const peers_;
  StreamSet* const streams_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(const AdminHandlers& handlers,
                                                const AdminWork& work,
                                                StreamSet* streams,
                                                const PeerUsers* peers) {
  return std::make_unique<AdminService>(handlers, work, streams, peers);
}

}  // namespace wavetune
