#include "server/work_queue.h"

#include <utility>

namespace wavetune {

WorkQueue::WorkQueue(size_t most_waiting)
    : most_waiting_(most_waiting), thread_([this] { Loop(); }) {}

WorkQueue::~WorkQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool WorkQueue::Run(Work work) {
  {
    std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_waiting_) return false;
    waiting_.push_back(std::move(work));
  }
  changed_.notify_all();
  return true;
}

void WorkQueue::RunAlways(Work work) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void WorkQueue::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // What it holds goes without the lock.
    lock.lock();
  }
}

}  // namespace wavetune
