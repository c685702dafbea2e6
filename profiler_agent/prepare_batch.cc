#include "profiler_agent/prepare_batch.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "profiler_agent/candidate_failure.h"

namespace wavetune {
namespace {

// What the threads of a batch share.
class Progress {
 public:
  Progress(const PrepareBatch& batch, const CandidateCallback& on_candidate)
      : batch_(batch), on_candidate_(on_candidate) {
    for (size_t i = 0; i < batch.configurations.size(); ++i) {
      waiting_.push_back(i);
    }
  }

  std::optional<size_t> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_.empty()) return std::nullopt;
    const size_t index = waiting_.front();
    waiting_.pop_front();
    return index;
  }

  void Report(size_t index, const absl::StatusOr<Candidate>& result) {
    Candidate candidate;
    if (result.ok()) {
      candidate = *result;
    } else {
      candidate.excluded_reason = FailureReason(result.status());
    }
    candidate.configuration = batch_.configurations[index];
    const std::lock_guard<std::mutex> lock(mutex_);
    on_candidate_(index, candidate);
  }

  void GiveBack(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_front(index);
  }

  // Keeps the error of a thread that cannot go on.
  void Fail(const absl::Status& status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (status_.ok()) status_ = status;
  }

  // Returns how the batch ended; after all threads did.
  absl::Status Outcome(bool cancelled) const {
    if (waiting_.empty()) return absl::OkStatus();
    if (cancelled) return absl::CancelledError("the batch was cancelled");
    return status_;
  }

 private:
  const PrepareBatch& batch_;
  const CandidateCallback& on_candidate_;
  std::mutex mutex_;
  std::deque<size_t> waiting_;
  absl::Status status_;
};

void PrepareOn(Device& device, const PrepareBatch& batch, Progress& progress,
               const std::stop_token& cancel) {
  if (absl::Status loaded = device.Load(batch.kernel); !loaded.ok()) {
    progress.Fail(loaded);
    return;
  }
  while (!cancel.stop_requested()) {
    const std::optional<size_t> index = progress.Take();
    if (!index.has_value()) return;
    const absl::StatusOr<Candidate> candidate = device.Prepare(
        batch.configurations[*index], batch.correctness_problems);
    if (!candidate.ok() && IsDeviceLost(candidate.status())) {
      progress.GiveBack(*index);
      progress.Fail(candidate.status());
      return;
    }
    progress.Report(*index, candidate);
  }
}

}  // namespace

absl::Status RunPrepareBatch(absl::Span<Device* const> devices,
                             const PrepareBatch& batch,
                             const CandidateCallback& on_candidate,
                             const std::stop_token& cancel) {
  Progress progress(batch, on_candidate);
  const size_t workers = std::min(
      devices.size(), std::max<size_t>(1, batch.configurations.size()));
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < workers; ++i) {
      threads.emplace_back([&, device = devices[i]] {
        PrepareOn(*device, batch, progress, cancel);
      });
    }
    PrepareOn(*devices[0], batch, progress, cancel);
  }
  // One device may be lost while the last of the others was just done: whoever
  // is left takes what was given back.
  for (size_t i = 0; i < workers && !progress.Outcome(false).ok(); ++i) {
    PrepareOn(*devices[i], batch, progress, cancel);
  }
  return progress.Outcome(cancel.stop_requested());
}

}  // namespace wavetune
