// WorkQueue: a thread of its own for work that may wait for a disk.
//
// Why: gRPC answers all calls on a few threads. One that waits for an fsync
// keeps everybody waiting, and readers need no disk at all.
//
// No user fills it alone: each has a share of what Run takes.
//
//   RETURN_IF_ERROR(queue.Run([=] { ...; reactor->Finish(status); },
//                             {.user = user, .bytes = request.Length()}));
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_WORK_QUEUE_H_
#define WAVETUNE_SERVER_RPC_WORK_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"

namespace wavetune {

class WorkQueue {
 public:
  using Work = std::function<void()>;

  // What may wait of what Run takes.
  struct Room {
    size_t works = 0;
    size_t bytes = std::numeric_limits<size_t>::max();
  };
  // The user of a piece of work, and the memory that it holds while it waits.
  struct Source {
    std::string user;
    size_t bytes = 0;
  };

  explicit WorkQueue(const Room& of_all) : WorkQueue(of_all, of_all) {}
  WorkQueue(const Room& of_all, const Room& of_user);
  ~WorkQueue();  // Does what waits, then ends.
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Queues work, which the queue's thread does in order. Errors:
  // RESOURCE_EXHAUSTED where too much work of this user, or of all users,
  // waits; the work is not done then. A user without waiting work has room for
  // one piece of any size.
  absl::Status Run(Work work, const Source& source);
  absl::Status Run(Work work) { return Run(std::move(work), Source()); }

  // Queues work that must not be refused, however much waits: the little that
  // the daemon does by itself. Callers that queue for others bound how much of
  // it waits at once.
  void RunAlways(Work work);

 private:
  struct Waiting {
    Work work;
    Source source;
    bool counted = false;
  };
  struct Used {
    size_t works = 0;
    size_t bytes = 0;

    bool Fits(size_t more_bytes, const Room& room) const;
  };

  void Loop();
  void Forget(const Waiting& waiting);  // Holds mutex_.

  const Room of_all_;
  const Room of_user_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<Waiting> waiting_;
  Used used_;
  std::map<std::string, Used> used_by_;  // Those of whom something waits.
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_WORK_QUEUE_H_
