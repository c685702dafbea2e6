// StreamReactor: a queue in front of a gRPC stream, so that anyone may send at
// any time without a thread per stream.
//
// A reader may be slow, or never read. So every queue has a bound (QueueLimit),
// and the caller decides what happens to a message that does not fit.
//
// gRPC allows one write at a time and none after Finish. Push and End may be
// called from any thread in any order; the reactor lives until gRPC is done
// with it. Includes gRPC.
#ifndef WAVETUNE_SERVER_RPC_STREAM_REACTOR_H_
#define WAVETUNE_SERVER_RPC_STREAM_REACTOR_H_

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/status.h"

namespace wavetune {

// A stream that a stopping daemon can end.
class EndableStream {
 public:
  virtual ~EndableStream() = default;

  // Ends the stream: at once, or after all queued messages where the status is
  // OK.
  virtual void End(const grpc::Status& status) = 0;
};

// The streams that are open on a socket. Thread-safe.
class StreamSet {
 public:
  // Bounds memory, at some 18 KiB a stream: twice as many as a node of a
  // thousand serving processes of one user needs.
  static constexpr size_t kMaxStreamsOfUser = 2048;
  // Streams of all users together but root and the daemon's own, which have no
  // such bound.
  static constexpr size_t kMaxStreams = 8192;

  // Adds a stream of a user, until Remove. RESOURCE_EXHAUSTED, adding nothing,
  // where too many are open.
  grpc::Status Add(const std::shared_ptr<EndableStream>& stream,
                   const std::string& user) {
    std::lock_guard lock(mutex_);
    const auto own = open_of_.find(user);
    if (own != open_of_.end() && own->second >= kMaxStreamsOfUser) {
      return TooMany("this user has too many streams open on this daemon");
    }
    if (!IsOwner(user) && open_of_others_ >= kMaxStreams) {
      return TooMany("too many streams are open on this daemon");
    }
    if (!streams_.emplace(stream.get(), Entry{stream, user}).second) {
      return grpc::Status::OK;
    }
    ++open_of_[user];
    if (!IsOwner(user)) ++open_of_others_;
    return grpc::Status::OK;
  }

  void Remove(const EndableStream* stream) {
    std::lock_guard lock(mutex_);
    const auto it = streams_.find(stream);
    if (it == streams_.end()) return;
    const auto own = open_of_.find(it->second.user);
    if (--own->second == 0) open_of_.erase(own);
    if (!IsOwner(it->second.user)) --open_of_others_;
    streams_.erase(it);
    ++ended_;
  }

  // Returns how many have ended since the last call.
  size_t TakeEnded() {
    std::lock_guard lock(mutex_);
    return std::exchange(ended_, 0);
  }

  void EndAll(const grpc::Status& status) {
    std::vector<std::weak_ptr<EndableStream>> streams;
    {
      std::lock_guard lock(mutex_);
      for (const auto& [unused, entry] : streams_) {
        streams.push_back(entry.stream);
      }
    }
    for (const auto& weak : streams) {
      if (const auto stream = weak.lock()) stream->End(status);
    }
  }

 private:
  struct Entry {
    std::weak_ptr<EndableStream> stream;
    std::string user;
  };

  static grpc::Status TooMany(const std::string& what) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            what + ": end some, then try again"};
  }
  bool IsOwner(const std::string& user) const {
    return user == "0" || user == own_user_;
  }

  const std::string own_user_ = std::to_string(::geteuid());
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<const EndableStream*, Entry> streams_;
  std::map<std::string, size_t> open_of_;  // By user, of those who have some.
  size_t open_of_others_ = 0;              // Than the owners.
  size_t ended_ = 0;
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

  // Keeps the reactor alive until gRPC is done with it; `streams` lives longer.
  // Returns false where too many streams are open already: then this one ends
  // as RESOURCE_EXHAUSTED.
  bool Open(StreamSet* streams, const std::string& user) {
    self_ = this->shared_from_this();
    user_ = user;
    const grpc::Status status = streams->Add(self_, user);
    if (!status.ok()) {
      End(status);
      return false;
    }
    streams_ = streams;
    return true;
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

  // Drops all queued messages and queues these.
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

  // Queues a message that replaces the one before of this kind: if that still
  // waits it is dropped, so that at most one waits. After a `last` one all
  // others are dropped, as they are older.
  void QueueLatest(const Message& message, bool last = false) {
    {
      std::lock_guard lock(mutex_);
      if (end_ || has_last_) return;
      has_last_ = last;
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
    if (streams_ != nullptr) streams_->Remove(this);
    // The last reference may go with this: nothing may follow.
    std::shared_ptr<EndableStream> self = std::move(self_);
  }

 protected:
  // The stream has ended. Called once.
  virtual void OnClosed() {}
  // Whose it is. Since Open.
  const std::string& user() const { return user_; }

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
  StreamSet* streams_ = nullptr;  // That it is in.
  std::string user_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<Message> queue_;
  size_t queued_bytes_ = 0;  // Bytes in queue_.
  Message latest_;           // QueueLatest's, while it waits.
  bool has_last_ = false;    // QueueLatest's.
  Message current_;
  bool writing_ = false;
  bool finished_ = false;
  std::optional<grpc::Status> end_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_STREAM_REACTOR_H_
