// ListSamplesReactor: a listing of samples as a gRPC stream. Includes gRPC.
//
// Makes the next message when the last one is written, and reads its samples
// from the store then: a slow reader costs no more memory than a fast one. A
// reader that takes no message for a while loses its call. It does so at once
// where others wait to list (RESOURCE_EXHAUSTED, which it hears of when it
// reads on), else after its patience (CANCELLED).
#ifndef WAVETUNE_SERVER_RPC_LIST_SAMPLES_REACTOR_H_
#define WAVETUNE_SERVER_RPC_LIST_SAMPLES_REACTOR_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "formats/foreign_text.h"
#include "formats/status.h"
#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "proto/wavetune/v1/status_service.grpc.pb.h"
#include "server/rpc/bounded_call.h"
#include "server/rpc/sample_handler.h"
#include "server/rpc/stream_reactor.h"
#include "server/rpc/work_queue.h"

namespace wavetune {

class ListSamplesReactor final
    : public StreamReactor<RawWriteReactor<v1::ListSamplesResponse>,
                           v1::ListSamplesResponse> {
 public:
  // `patience`: how long a reader may take for a message. `work`: where the
  // store is read; nullptr: on gRPC's threads.
  ListSamplesReactor(grpc::CallbackServerContext* context,
                     std::chrono::milliseconds patience, WorkQueue* work)
      : patience_(patience), work_(work), context_(context) {}

  void Start(SampleHandler* handler, const v1::ListSamplesRequest& request) {
    const auto list = [self = Self(), handler, request] {
      self->List(handler, request);
    };
    if (work_ == nullptr) {
      list();
    } else if (const absl::Status status = work_->Run(list, {.user = user()});
               !status.ok()) {
      End(ToGrpcStatus(status));
    }
  }
  void OnWriteDone(bool ok) override {
    const std::shared_ptr<ListSamplesReactor> self = Self();
    StreamReactor::OnWriteDone(ok);
    // A stream that has ended meanwhile sends nothing.
    if (ok) Later([self] { self->SendNext(); });
  }

 protected:
  void OnClosed() override {
    std::lock_guard lock(context_mutex_);
    context_ = nullptr;
  }

 private:
  std::shared_ptr<ListSamplesReactor> Self() {
    return std::static_pointer_cast<ListSamplesReactor>(
        this->shared_from_this());
  }
  void List(SampleHandler* handler, const v1::ListSamplesRequest& request) {
    absl::StatusOr<std::shared_ptr<SampleListing>> listing =
        handler->ListSamples(request);
    if (!listing.ok()) {
      End(ToGrpcStatus(listing.status()));
      return;
    }
    listing_ = *std::move(listing);
    SendNext();
  }
  // One at a time: the next comes when what it queued is written. Always, as
  // few list at once.
  void Later(WorkQueue::Work work) {
    if (work_ == nullptr) {
      work();
    } else {
      work_->RunAlways(std::move(work));
    }
  }

  void SendNext() {
    auto message = std::make_shared<v1::ListSamplesResponse>();
    const absl::StatusOr<bool> more = listing_->Next(message.get());
    if (!more.ok() || !*more) {
      patience_alarm_.reset();
      End(ToGrpcStatus(more.status()));
      return;
    }
    EscapeForeignText(message.get());
    // Before the message: writing it may end on another thread at once.
    Await(++sent_);
    QueueInstead({std::move(message)});  // The one before is written.
  }

  // Ends the call where message number `number` is not written in time.
  void Await(int64_t number) {
    const std::weak_ptr<ListSamplesReactor> weak = Self();
    patience_alarm_.emplace();
    patience_alarm_->Set(std::chrono::system_clock::now() + patience_,
                         [weak, number](bool expired) {
                           const auto self = weak.lock();
                           if (expired && self) self->OnImpatient(number);
                         });
  }
  void OnImpatient(int64_t number) {
    if (sent_ != number) return;  // It was written at the last moment.
    std::lock_guard lock(context_mutex_);
    // The write fails, and that ends the stream.
    if (context_ != nullptr) context_->TryCancel();
  }

  const std::chrono::milliseconds patience_;
  WorkQueue* const work_;
  std::shared_ptr<SampleListing> listing_;
  std::optional<grpc::Alarm> patience_alarm_;
  std::atomic<int64_t> sent_ = 0;
  // Recursive: gRPC does not say that TryCancel calls nobody back.
  std::recursive_mutex context_mutex_;
  // Guarded by context_mutex_; lives until OnClosed.
  grpc::CallbackServerContext* context_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_LIST_SAMPLES_REACTOR_H_
