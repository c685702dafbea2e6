#include "server/periodic_task.h"

#include <utility>

namespace wavetune {

PeriodicTask::~PeriodicTask() { Stop(); }

void PeriodicTask::Start(std::chrono::milliseconds interval,
                         std::function<void()> task) {
  thread_ = std::thread([this, interval, task = std::move(task)] {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, interval, [this] { return stopping_; })) {
      lock.unlock();
      task();
      lock.lock();
    }
  });
}

void PeriodicTask::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace wavetune
