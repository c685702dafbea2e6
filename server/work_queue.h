// WorkQueue: a thread of its own for what may wait for a disk.
//
// Why: gRPC answers all calls on a few threads. One that waits for an fsync
// keeps everybody waiting, and readers need no disk at all.
//
//   if (!queue.Run([=] { ...; reactor->Finish(status); })) { busy }
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_WORK_QUEUE_H_
#define WAVETUNE_SERVER_WORK_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace wavetune {

class WorkQueue {
 public:
  using Work = std::function<void()>;

  // Of what Run takes, so many wait at most.
  explicit WorkQueue(size_t most_waiting);
  ~WorkQueue();  // Does what waits, then ends.
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Queues work, done in order on the queue's thread. Returns false where too
  // much waits; then it is not done.
  bool Run(Work work);

  // Queues what must not be left out, however much waits: what the daemon does
  // by itself, and little of it.
  void RunAlways(Work work);

 private:
  void Loop();

  const size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<Work> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_WORK_QUEUE_H_
