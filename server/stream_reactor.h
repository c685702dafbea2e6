// StreamReactor: a queue in front of a gRPC stream, so that anyone may send at
// any time without a thread per stream.
//
// gRPC allows one write at a time and none after Finish. Push and End may be
// called from any thread in any order; the reactor lives until gRPC is done
// with it. Includes gRPC.
#ifndef WAVETUNE_SERVER_STREAM_REACTOR_H_
#define WAVETUNE_SERVER_STREAM_REACTOR_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/status.h"

namespace wavetune {

// A stream that a stopping daemon can end.
class EndableStream {
 public:
  virtual ~EndableStream() = default;

  // Ends the stream: after what is queued where the status is OK, else at once.
  virtual void End(const grpc::Status& status) = 0;
};

// The streams that are open. Thread-safe.
class StreamSet {
 public:
  void Add(std::weak_ptr<EndableStream> stream) {
    std::lock_guard lock(mutex_);
    // Streams come and go for months: forget the dead ones now and then.
    if (streams_.size() >= 2 * live_ + kSlack) {
      std::erase_if(streams_, [](const auto& weak) { return weak.expired(); });
      live_ = streams_.size();
    }
    streams_.push_back(std::move(stream));
  }

  void EndAll(const grpc::Status& status) {
    std::vector<std::weak_ptr<EndableStream>> streams;
    {
      std::lock_guard lock(mutex_);
      streams.swap(streams_);
    }
    for (const auto& weak : streams) {
      if (const auto stream = weak.lock()) stream->End(status);
    }
  }

 private:
  static constexpr size_t kSlack = 64;

  std::mutex mutex_;
  std::vector<std::weak_ptr<EndableStream>> streams_;  // Guarded by mutex_.
  size_t live_ = 0;                                    // Guarded by mutex_.
};

// `Base` is a grpc::ServerWriteReactor or grpc::ServerBidiReactor of
// `Response`. Make it with std::make_shared and call Open once.
template <typename Base, typename Response>
class StreamReactor
    : public Base,
      public EndableStream,
      public std::enable_shared_from_this<StreamReactor<Base, Response>> {
 public:
  using Message = std::shared_ptr<const Response>;

  // Keeps the reactor alive until gRPC is done with it.
  void Open(StreamSet* streams) {
    self_ = this->shared_from_this();
    streams->Add(self_);
  }

  // Queues messages; returns false, queueing none, where more than `limit`
  // would wait (0: no limit). Messages after the end are dropped.
  bool Queue(const std::vector<Message>& messages, size_t limit = 0) {
    {
      std::lock_guard lock(mutex_);
      if (limit > 0 && queue_.size() + messages.size() > limit) return false;
      if (!end_) queue_.insert(queue_.end(), messages.begin(), messages.end());
    }
    Pump();
    return true;
  }

  // Forgets what is queued and queues these.
  void QueueInstead(const std::vector<Message>& messages) {
    {
      std::lock_guard lock(mutex_);
      if (!end_) queue_.assign(messages.begin(), messages.end());
    }
    Pump();
  }

  void End(const grpc::Status& status) override {
    {
      std::lock_guard lock(mutex_);
      if (end_) return;
      end_ = status;
      if (!status.ok()) queue_.clear();
    }
    Pump();
  }

  void OnWriteDone(bool ok) override {
    {
      std::lock_guard lock(mutex_);
      writing_ = false;
      current_ = nullptr;
      if (!ok) {
        queue_.clear();
        if (!end_) end_ = grpc::Status::CANCELLED;
      }
    }
    Pump();
  }

  void OnCancel() override { End(grpc::Status::CANCELLED); }

  void OnDone() override {
    OnClosed();
    // The last reference may go with this: nothing may follow.
    std::shared_ptr<EndableStream> self = std::move(self_);
  }

 protected:
  // The stream has ended. Called once.
  virtual void OnClosed() {}

 private:
  // Starts the next write, or finishes. Whoever sets writing_ owns the stream
  // until OnWriteDone; gRPC is called without the lock.
  void Pump() {
    std::unique_lock lock(mutex_);
    if (writing_ || finished_) return;
    if (!queue_.empty()) {
      writing_ = true;
      current_ = std::move(queue_.front());
      queue_.pop_front();
      const Response* const message = current_.get();
      lock.unlock();
      this->StartWrite(message);
      return;
    }
    if (!end_) return;
    finished_ = true;
    const grpc::Status status = *end_;
    lock.unlock();
    this->Finish(status);
  }

  std::shared_ptr<EndableStream> self_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<Message> queue_;
  Message current_;
  bool writing_ = false;
  bool finished_ = false;
  std::optional<grpc::Status> end_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STREAM_REACTOR_H_
