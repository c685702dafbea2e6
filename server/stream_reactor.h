// StreamReactor: a queue in front of a gRPC stream, so that anyone may send at
// any time without a thread per stream.
//
// A reader may take its time, or never read: every queue has a bound
// (QueueLimit), and whoever queues says what becomes of what does not fit.
//
// gRPC allows one write at a time and none after Finish. Push and End may be
// called from any thread in any order; the reactor lives until gRPC is done
// with it. Includes gRPC.
#ifndef WAVETUNE_SERVER_STREAM_REACTOR_H_
#define WAVETUNE_SERVER_STREAM_REACTOR_H_

#include <algorithm>
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
  // Streams open at once on a socket: 64 times what a node of a thousand
  // serving processes needs; one takes some KiB.
  static constexpr size_t kMaxStreams = 65536;

  // Returns false, adding nothing, where kMaxStreams are open.
  bool Add(std::weak_ptr<EndableStream> stream) {
    std::lock_guard lock(mutex_);
    // Streams come and go for months: forget the dead ones now and then.
    if (streams_.size() >= std::min(2 * live_ + kSlack, kMaxStreams)) {
      std::erase_if(streams_, [](const auto& weak) { return weak.expired(); });
      live_ = streams_.size();
    }
    if (streams_.size() >= kMaxStreams) return false;
    streams_.push_back(std::move(stream));
    return true;
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

// What may wait for a reader.
struct QueueLimit {
  size_t messages = 0;
  size_t bytes = 0;  // As sent. A single message may be larger.
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
  // Returns false where too many streams are open already: then this one ends
  // as RESOURCE_EXHAUSTED.
  bool Open(StreamSet* streams) {
    self_ = this->shared_from_this();
    if (streams->Add(self_)) return true;
    End({grpc::StatusCode::RESOURCE_EXHAUSTED,
         "too many streams are open on this daemon: end some, then try again"});
    return false;
  }

  // Queues messages; returns false, queueing none, where more than `limit`
  // would wait. Messages after the end are dropped.
  bool Queue(const std::vector<Message>& messages, const QueueLimit& limit) {
    {
      std::lock_guard lock(mutex_);
      if (end_) return true;
      const size_t bytes = queued_bytes_ + SizeOf(messages);
      if (queue_.size() + messages.size() > limit.messages ||
          (bytes > limit.bytes && !queue_.empty())) {
        return false;
      }
      queue_.insert(queue_.end(), messages.begin(), messages.end());
      queued_bytes_ = bytes;
    }
    Pump();
    return true;
  }

  // Forgets what is queued and queues these.
  void QueueInstead(const std::vector<Message>& messages) {
    {
      std::lock_guard lock(mutex_);
      if (end_) return;
      queue_.assign(messages.begin(), messages.end());
      queued_bytes_ = SizeOf(messages);
      latest_ = nullptr;
    }
    Pump();
  }

  // Queues a message that makes the one before of this kind needless: where
  // that still waits it is dropped, so that one at most waits.
  void QueueLatest(const Message& message) {
    {
      std::lock_guard lock(mutex_);
      if (end_) return;
      const auto old = std::find(queue_.begin(), queue_.end(), latest_);
      if (old != queue_.end()) {
        queued_bytes_ -= (*old)->ByteSizeLong();
        queue_.erase(old);
      }
      queue_.push_back(message);
      queued_bytes_ += message->ByteSizeLong();
      latest_ = message;
    }
    Pump();
  }

  void End(const grpc::Status& status) override {
    {
      std::lock_guard lock(mutex_);
      if (end_) return;
      end_ = status;
      if (!status.ok()) Forget();
    }
    Pump();
  }

  void OnWriteDone(bool ok) override {
    {
      std::lock_guard lock(mutex_);
      writing_ = false;
      current_ = nullptr;
      if (!ok) {
        Forget();
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
  static size_t SizeOf(const std::vector<Message>& messages) {
    size_t bytes = 0;
    for (const Message& message : messages) bytes += message->ByteSizeLong();
    return bytes;
  }
  // Holds mutex_.
  void Forget() {
    queue_.clear();
    queued_bytes_ = 0;
    latest_ = nullptr;
  }
  // Starts the next write, or finishes. Whoever sets writing_ owns the stream
  // until OnWriteDone; gRPC is called without the lock.
  void Pump() {
    std::unique_lock lock(mutex_);
    if (writing_ || finished_) return;
    if (!queue_.empty()) {
      writing_ = true;
      current_ = std::move(queue_.front());
      queue_.pop_front();
      queued_bytes_ -= current_->ByteSizeLong();
      if (current_ == latest_) latest_ = nullptr;
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
  size_t queued_bytes_ = 0;  // Of queue_.
  Message latest_;           // Of QueueLatest, while it waits.
  Message current_;
  bool writing_ = false;
  bool finished_ = false;
  std::optional<grpc::Status> end_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STREAM_REACTOR_H_
