// PeriodicTask: calls a function every so often on a thread of its own.
//
//   PeriodicTask looks;
//   looks.Start(std::chrono::seconds(2), [&] { store.Tend(); });
//   ...
//   looks.Stop();   // Returns when a call that runs has returned.
//
// Thread safety: Start and Stop from one thread.
#ifndef WAVETUNE_SERVER_PERIODIC_TASK_H_
#define WAVETUNE_SERVER_PERIODIC_TASK_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace wavetune {

class PeriodicTask {
 public:
  PeriodicTask() = default;
  ~PeriodicTask();  // Stops.
  PeriodicTask(const PeriodicTask&) = delete;
  PeriodicTask& operator=(const PeriodicTask&) = delete;

  // The first call comes after one interval. Once.
  void Start(std::chrono::milliseconds interval, std::function<void()> task);
  void Stop();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_PERIODIC_TASK_H_
