#include "server/rpc/work_queue.h"

#include <string>
#include <utility>

#include "absl/status/status.h"

namespace wavetune {

bool WorkQueue::Used::Fits(size_t more_bytes, const Room& room) const {
  return works < room.works &&
         (works == 0 ||
          (bytes <= room.bytes && more_bytes <= room.bytes - bytes));
}

WorkQueue::WorkQueue(const Room& of_all, const Room& of_user)
    : of_all_(of_all), of_user_(of_user), thread_([this] { Loop(); }) {}

WorkQueue::~WorkQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

absl::Status WorkQueue::Run(Work work, const Source& source) {
  {
    std::lock_guard lock(mutex_);
    if (!used_.Fits(source.bytes, of_all_)) {
      return absl::ResourceExhaustedError(
          "too many requests wait for the daemon's disk: try again later");
    }
    const auto own = used_by_.find(source.user);
    const Used used_of_user = own == used_by_.end() ? Used() : own->second;
    if (!used_of_user.Fits(source.bytes, of_user_)) {
      return absl::ResourceExhaustedError(
          "too many requests of this user wait for the daemon's disk: send "
          "fewer at once, and try again later");
    }
    for (Used* used : {&used_, &used_by_[source.user]}) {
      ++used->works;
      used->bytes += source.bytes;
    }
    waiting_.push_back({std::move(work), source, /*counted=*/true});
  }
  changed_.notify_all();
  return absl::OkStatus();
}

void WorkQueue::RunAlways(Work work) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(work), {}, /*counted=*/false});
  }
  changed_.notify_all();
}

void WorkQueue::Forget(const Waiting& waiting) {
  if (!waiting.counted) return;
  --used_.works;
  used_.bytes -= waiting.source.bytes;
  const auto own = used_by_.find(waiting.source.user);
  own->second.bytes -= waiting.source.bytes;
  if (--own->second.works == 0) used_by_.erase(own);
}

void WorkQueue::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Forget(waiting_.front());
    Work work = std::move(waiting_.front().work);
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // What it holds goes without the lock.
    lock.lock();
  }
}

}  // namespace wavetune
