#include "profiler_agent/measure/stop_wait.h"

#include <condition_variable>
#include <mutex>

namespace wavetune {

bool SleepOrStop(std::chrono::milliseconds duration,
                 const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock<std::mutex> lock(mutex);
  return stopped.wait_for(lock, stop, duration,
                          [&stop] { return stop.stop_requested(); });
}

bool WaitForStop(const std::stop_token& stop, const std::stop_token& ended) {
  std::mutex mutex;
  std::condition_variable_any changed;
  // Before the lock, and so after it at the end: on a token that is stopped
  // already the callback runs right here, and its destructor waits for one that
  // runs elsewhere; both take the mutex.
  const std::stop_callback wake(stop, [&] {
    const std::lock_guard<std::mutex> guard(mutex);
    changed.notify_all();
  });
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, ended, [&stop] { return stop.stop_requested(); });
  return !ended.stop_requested();
}

}  // namespace wavetune
