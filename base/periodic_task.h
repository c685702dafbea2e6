// PeriodicTask: calls a function every so often on a thread of its own.
//
//   PeriodicTask looks;
//   looks.Start(std::chrono::seconds(2), [&] { store.RecoverWrites(); });
//   ...
//   looks.Stop();   // Returns when a call that runs has returned.
//
// Thread safety: Start and Stop from one thread; RunSoon from any, once
// started.
#ifndef WAVETUNE_BASE_PERIODIC_TASK_H_
#define WAVETUNE_BASE_PERIODIC_TASK_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
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

  // Waits for a call that begins after this one, `patience` at most. Returns
  // whether there was one.
  bool RunSoon(std::chrono::milliseconds patience);

 private:
  void Run(std::chrono::milliseconds interval,
           const std::function<void()>& task);

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool stopping_ = false;
  bool wanted_ = false;  // Before the interval has passed.
  uint64_t begun_ = 0;
  uint64_t ended_ = 0;
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_BASE_PERIODIC_TASK_H_
