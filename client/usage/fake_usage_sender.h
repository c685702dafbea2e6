// FakeUsageSender: keeps sent reports, and fails or hangs when told.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_CLIENT_USAGE_FAKE_USAGE_SENDER_H_
#define WAVETUNE_CLIENT_USAGE_FAKE_USAGE_SENDER_H_

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "client/usage/usage_sender.h"

namespace wavetune {

class FakeUsageSender : public UsageSender {
 public:
  absl::Status Send(const UsageBatch& batch, double) override {
    std::unique_lock lock(mutex_);
    ++attempts_;
    changed_.notify_all();
    if (hang_) {
      changed_.wait(lock, [this] { return !hang_; });
      return absl::CancelledError("cut off");
    }
    if (status_.ok()) batches_.push_back(batch);
    return status_;
  }
  // What hangs ends, and nothing hangs any more.
  void CutOff() override {
    std::lock_guard lock(mutex_);
    hang_ = false;
    changed_.notify_all();
  }

  // From now on Send does not return before CutOff.
  void Hang() {
    std::lock_guard lock(mutex_);
    hang_ = true;
  }

  // What Send answers from now on.
  void SetStatus(absl::Status status) {
    std::lock_guard lock(mutex_);
    status_ = std::move(status);
  }
  // Waits until so many sends were tried, the failed ones included.
  void AwaitAttempts(int attempts) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return attempts_ >= attempts; });
  }
  int attempts() const {
    std::lock_guard lock(mutex_);
    return attempts_;
  }
  std::vector<UsageBatch> batches() const {
    std::lock_guard lock(mutex_);
    return batches_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  absl::Status status_;
  bool hang_ = false;
  int attempts_ = 0;
  std::vector<UsageBatch> batches_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_USAGE_FAKE_USAGE_SENDER_H_
