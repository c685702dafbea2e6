#include <memory>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "formats/api_version.h"
#include "formats/status.h"
#include "proto/wavetune/v1/table_service.grpc.pb.h"
#include "server/rpc/bounded_call.h"
#include "server/rpc/caller.h"
#include "server/rpc/service_parts.h"
#include "server/rpc/stream_reactor.h"
#include "server/rpc/table_answers.h"
#include "server/rpc/table_handler.h"
#include "server/rpc/work_queue.h"

namespace wavetune {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;

// Notices that may wait for a slow watcher before it gets the snapshot instead:
// one is a promotion, and a thousand watchers that all wait cost some MiB.
constexpr QueueLimit kNoticeLimit = {.messages = 256, .bytes = size_t{1} << 20};
// Up to 256 kernels with their digests.
constexpr RequestBounds kTableSet{128 * kKiB, kMiB};

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
                    v1::TableService::WithRawCallbackMethod_ListTableHistory<
                        v1::TableService::
                            WithRawCallbackMethod_ListRejectedTables<
                                v1::TableService::Service>>>>>>>;

class TableService final : public RawTableService {
 public:
  TableService(const ReaderHandlers& handlers, StreamSet* streams)
      : handler_(handlers.tables),
        work_(handlers.read_work),
        peers_(handlers.peers),
        streams_(streams) {}

  WAVETUNE_ANSWER(ListTables, kFewWords, handler_->ListTables)
  WAVETUNE_RAW_METHOD(GetTable) {
    const CallTimer timer(MethodOf<v1::GetTableRequest>());
    // Before anything is looked at: what changes meanwhile makes it another.
    const AnswerBasis basis = handler_->BasisOfAnswers();
    if (std::optional<ByteBuffer> kept = answers_.Find(basis, *in)) {
      *out = *std::move(kept);
      return FinishNow(context, timer.Done(absl::OkStatus()));
    }
    const auto handle = [this, basis, asked = *in](const auto& request,
                                                   FoundTable* found) {
      RETURN_IF_ERROR(handler_->GetTable(request, found));
      answers_.Keep(basis, asked, *found);
      return absl::OkStatus();
    };
    // What does not serve any more is read from the store.
    const auto in_memory = [this](const v1::GetTableRequest& request) {
      return request.digest().empty() || handler_->Serves(request.digest());
    };
    return AnswerNowOrLater<v1::GetTableRequest, FoundTable>(
        context, *in, out, kFewWords,
        [&] {
          return Later{work_, UserOf(peers_, *context)};
        },
        in_memory, handle);
  }
  WAVETUNE_ANSWER(AnnounceTableSet, kTableSet, handler_->AnnounceTableSet)
  WAVETUNE_ANSWER(GetTableSet, kFewWords, handler_->GetTableSet)
  WAVETUNE_ANSWER_LATER(ListTableHistory, kFewWords, handler_->ListTableHistory,
                        work_)
  WAVETUNE_ANSWER_LATER(ListRejectedTables, kFewWords,
                        handler_->ListRejectedTables, work_)
  grpc::ServerWriteReactor<ByteBuffer>* WatchTables(
      CallbackServerContext* context, const ByteBuffer* in) override {
    auto reactor = std::make_shared<WatchTablesReactor>();
    if (reactor->Open(streams_, UserOf(peers_, *context))) {
      StartWith<v1::WatchTablesRequest>(
          *reactor, *in, kFewWords, [&](const auto& request) {
            const absl::Status known = CheckClientApiVersion(
                request.api_version(), "client", "daemon");
            if (known.ok()) return reactor->Start(handler_, request);
            reactor->End(ToGrpcStatus(known));
          });
    }
    return reactor.get();
  }

 private:
  TableHandler* const handler_;
  WorkQueue* const work_;
  const PeerUsers* const peers_;
  StreamSet* const streams_;
  TableAnswers answers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeTableService(const ReaderHandlers& handlers,
                                                StreamSet* streams) {
  return std::make_unique<TableService>(handlers, streams);
}

}  // namespace wavetune
