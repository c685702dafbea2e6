#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "formats/status.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "server/rpc/bounded_call.h"
#include "server/rpc/caller.h"
#include "server/rpc/event_handler.h"
#include "server/rpc/list_samples_reactor.h"
#include "server/rpc/sample_handler.h"
#include "server/rpc/service_parts.h"
#include "server/rpc/status_handler.h"
#include "server/rpc/stream_reactor.h"
#include "server/rpc/work_queue.h"

namespace wavetune {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;

using RawStatusService = v1::StatusService::WithRawCallbackMethod_ListFleetNodes<
    v1::StatusService::WithRawCallbackMethod_GetFleet<
        v1::StatusService::WithRawCallbackMethod_GetStatus<
            v1::StatusService::WithRawCallbackMethod_ListDevices<
                v1::StatusService::WithRawCallbackMethod_ListKernels<
                    v1::StatusService::WithRawCallbackMethod_ListJobs<
                        v1::StatusService::WithRawCallbackMethod_GetJob<
                            v1::StatusService::WithRawCallbackMethod_ListSamples<
                                v1::StatusService::
                                    WithRawCallbackMethod_ListEvents<
                                        v1::StatusService::
                                            WithRawCallbackMethod_WatchEvents<
                                                v1::StatusService::
                                                    Service>>>>>>>>>>;

// Events that may wait for a slow reader before it loses its stream.
constexpr QueueLimit kEventLimit = {.messages = 2048,
                                    .bytes = size_t{256} << 10};

class WatchEventsReactor final
    : public StreamReactor<RawWriteReactor<v1::WatchEventsResponse>,
                           v1::WatchEventsResponse>,
      public EventHandler::Sink {
 public:
  // Reads the store.
  void Start(EventHandler* handler, const v1::WatchEventsRequest& request) {
    auto watch = handler->WatchEvents(
        request,
        std::static_pointer_cast<WatchEventsReactor>(this->shared_from_this()));
    if (!watch.ok()) {
      End(ToGrpcStatus(watch.status()));
      return;
    }
    std::lock_guard lock(mutex_);
    if (!closed_) watch_ = *std::move(watch);
  }
  void Push(const std::vector<EventNotice>& events) override {
    if (Queue(events, kEventLimit)) return;
    End({grpc::StatusCode::RESOURCE_EXHAUSTED,
         "events were read too slowly: ask again for those after the last id"});
  }

 protected:
  void OnClosed() override {
    std::shared_ptr<EventHandler::Watch> watch;  // Goes without the lock.
    std::lock_guard lock(mutex_);
    closed_ = true;
    watch = std::move(watch_);
  }

 private:
  std::mutex mutex_;
  bool closed_ = false;                         // Guarded by mutex_.
  std::shared_ptr<EventHandler::Watch> watch_;  // Guarded by mutex_.
};

class StatusService final : public RawStatusService {
 public:
  StatusService(const ReaderHandlers& handlers, StreamSet* streams)
      : handler_(handlers.status),
        samples_(handlers.samples),
        events_(handlers.events),
        work_(handlers.read_work),
        peers_(handlers.peers),
        patience_(handlers.listing_patience),
        streams_(streams) {}

  WAVETUNE_ANSWER(GetStatus, kFewWords, handler_->GetStatus)
  WAVETUNE_ANSWER(GetFleet, kFewWords, handler_->GetFleet)
  // It waits for the network.
  WAVETUNE_ANSWER_LATER(ListFleetNodes, kFewWords, handler_->ListFleetNodes,
                        work_)
  WAVETUNE_ANSWER(ListDevices, kFewWords, handler_->ListDevices)
  WAVETUNE_ANSWER(ListKernels, kFewWords, handler_->ListKernels)
  WAVETUNE_ANSWER_LATER(ListJobs, kFewWords, handler_->ListJobs, work_)
  WAVETUNE_RAW_METHOD(GetJob) {
    const auto handle = [this](const auto& request, auto* response) {
      return handler_->GetJob(request, response);
    };
    const auto in_memory = [this](const v1::GetJobRequest& request) {
      return handler_->InMemory(request.id());
    };
    return AnswerNowOrLater<v1::GetJobRequest, v1::GetJobResponse>(
        context, *in, out, kFewWords,
        [&] {
          return Later{work_, UserOf(peers_, *context)};
        },
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
  WAVETUNE_ANSWER_LATER(ListEvents, kFewWords, events_->ListEvents, work_)
  grpc::ServerWriteReactor<ByteBuffer>* WatchEvents(
      CallbackServerContext* context, const ByteBuffer* in) override {
    auto reactor = std::make_shared<WatchEventsReactor>();
    const std::string user = UserOf(peers_, *context);
    if (reactor->Open(streams_, user)) {
      StartWith<v1::WatchEventsRequest>(
          *reactor, *in, kFewWords, [&](const auto& request) {
            const absl::Status queued =
                work_->Run([reactor, events = events_,
                            request] { reactor->Start(events, request); },
                           {.user = user});
            if (!queued.ok()) reactor->End(ToGrpcStatus(queued));
          });
    }
    return reactor.get();
  }

 private:
  StatusHandler* const handler_;
  SampleHandler* const samples_;
  EventHandler* const events_;
  WorkQueue* const work_;
  const PeerUsers* const peers_;
  const std::chrono::milliseconds patience_;
  StreamSet* const streams_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeStatusService(const ReaderHandlers& handlers,
                                                 StreamSet* streams) {
  return std::make_unique<StatusService>(handlers, streams);
}

}  // namespace wavetune
