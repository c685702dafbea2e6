#include "base/periodic_task.h"

#include <utility>

namespace wavetune {

PeriodicTask::~PeriodicTask() { Stop(); }

void PeriodicTask::Start(std::chrono::milliseconds interval,
                         std::function<void()> task) {
  thread_ = std::thread(
      [this, interval, task = std::move(task)] { Run(interval, task); });
}

void PeriodicTask::Run(std::chrono::milliseconds interval,
                       const std::function<void()>& task) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, interval, [this] { return stopping_ || wanted_; });
    if (stopping_) return;
    wanted_ = false;
    ++begun_;
    lock.unlock();
    task();
    lock.lock();
    ended_ = begun_;
    changed_.notify_all();
  }
}

void PeriodicTask::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool PeriodicTask::RunSoon(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const uint64_t awaited = begun_ + 1;
  wanted_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, patience,
                    [&] { return stopping_ || ended_ >= awaited; });
  return ended_ >= awaited;
}

}  // namespace wavetune
