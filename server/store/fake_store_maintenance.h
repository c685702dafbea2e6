// FakeStoreMaintenance: StoreMaintenance that goes on until it may end.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_FAKE_STORE_MAINTENANCE_H_
#define WAVETUNE_SERVER_STORE_FAKE_STORE_MAINTENANCE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/store_maintenance.h"

namespace wavetune {

// Tells two lines, then waits until it may go on, or is stopped.
class FakeStoreMaintenance : public StoreMaintenance {
 public:
  absl::StatusOr<Result> Check(const Control& control) override {
    return Work(control, "checked");
  }
  absl::StatusOr<Result> BackUp(const std::string& folder,
                                const Control& control) override {
    return Work(control, "copied to " + folder);
  }
  absl::StatusOr<int64_t> NewestBackupS(const std::string&) override {
    ++newest_asked;
    return newest_backup_s;
  }
  absl::StatusOr<Result> Compact(const Control&) override {
    return absl::ResourceExhaustedError("the disk is full");
  }
  std::atomic<int64_t> newest_backup_s = 0;
  std::atomic<int> newest_asked = 0;

  void Release() {
    std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  absl::StatusOr<Result> Work(const Control& control, std::string line) {
    control.Report("begins");
    control.Report("goes on");
    std::unique_lock lock(mutex_);
    while (!released_ && !control.stopped()) {
      changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
    if (control.stopped()) return absl::CancelledError("ended");
    return Result{.lines = {std::move(line)}, .faults = 2, .size_bytes = 7};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_FAKE_STORE_MAINTENANCE_H_
