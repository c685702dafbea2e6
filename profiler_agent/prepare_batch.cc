#include "profiler_agent/prepare_batch.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/kernel/correctness_problems.h"
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

  // Leaves a configuration for later, behind the others.
  void GiveBack(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (aborted_) return;
    waiting_.push_back(index);
    given_back_.insert(index);
  }

  bool WasGivenBack(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return given_back_.contains(index);
  }

  // Keeps the error of a thread that cannot go on.
  void Fail(const absl::Status& status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (status_.ok()) status_ = status;
  }

  // Ends the batch: what is left would fail alike.
  void Abort(const absl::Status& status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_ = status;
    waiting_.clear();
    aborted_ = true;
  }

  // Returns whether anything is left to do; after all threads ended.
  bool Unfinished() const { return !waiting_.empty(); }

  // Returns how the batch ended; after all threads did.
  absl::Status Outcome(bool cancelled) const {
    if (aborted_) return status_;
    if (waiting_.empty()) return absl::OkStatus();
    if (cancelled) return absl::CancelledError("the batch was cancelled");
    return status_;
  }

 private:
  const PrepareBatch& batch_;
  const CandidateCallback& on_candidate_;
  std::mutex mutex_;
  std::deque<size_t> waiting_;
  std::set<size_t> given_back_;  // Once or more.
  absl::Status status_;
  bool aborted_ = false;
};

struct Worker {
  Device* device = nullptr;
  bool proven = false;  // It has prepared something since it was last lost.
};

// Deals with a failure that is not, or not clearly, the candidate's. Returns
// whether the worker can go on.
bool TakeFailure(Worker& worker, size_t index, const absl::Status& status,
                 Progress& progress) {
  if (IsReferenceBroken(status)) {
    progress.Abort(status);
    return false;
  }
  const bool lost = IsDeviceLost(status);
  // Whoever takes down a device that others find in order is to blame.
  const bool go_on = !lost || std::exchange(worker.proven, false);
  if (go_on && progress.WasGivenBack(index)) {
    progress.Report(index, status);
    return true;
  }
  progress.GiveBack(index);
  if (!go_on) progress.Fail(status);
  return go_on;
}

absl::StatusOr<Candidate> PrepareOne(Device& device, const PrepareBatch& batch,
                                     const Configuration& configuration) {
  const KernelSpec& spec = batch.kernel.spec;
  if (!batch.check_edges || !spec.correctness.has_value()) {
    return device.Prepare(configuration, batch.correctness_problems);
  }
  const absl::StatusOr<std::vector<Problem>> problems =
      CandidateProblems(spec, batch.kernel.specialisation, configuration,
                        batch.correctness_problems);
  if (!problems.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no problem at which its results could be checked was "
                     "found; declare correctness_problems: ",
                     problems.status().message()));
  }
  return device.Prepare(configuration, *problems);
}

void PrepareOn(Worker& worker, const PrepareBatch& batch, Progress& progress,
               const std::stop_token& cancel) {
  Device& device = *worker.device;
  if (absl::Status loaded = device.Load(batch.kernel); !loaded.ok()) {
    progress.Fail(loaded);
    return;
  }
  while (!cancel.stop_requested()) {
    const std::optional<size_t> index = progress.Take();
    if (!index.has_value()) return;
    const absl::StatusOr<Candidate> candidate =
        PrepareOne(device, batch, batch.configurations[*index]);
    const absl::Status& status = candidate.status();
    if (IsReferenceBroken(status) || IsDeviceLost(status) || MayPass(status)) {
      if (!TakeFailure(worker, *index, status, progress)) return;
      continue;
    }
    worker.proven = true;
    progress.Report(*index, candidate);
  }
}

}  // namespace

absl::Status RunPrepareBatch(absl::Span<Device* const> devices,
                             const PrepareBatch& batch,
                             const CandidateCallback& on_candidate,
                             const std::stop_token& cancel) {
  Progress progress(batch, on_candidate);
  std::vector<Worker> workers(std::min(
      devices.size(), std::max<size_t>(1, batch.configurations.size())));
  for (size_t i = 0; i < workers.size(); ++i) workers[i].device = devices[i];
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < workers.size(); ++i) {
      threads.emplace_back([&, worker = &workers[i]] {
        PrepareOn(*worker, batch, progress, cancel);
      });
    }
    PrepareOn(workers[0], batch, progress, cancel);
  }
  // One device may be lost while the last of the others was just done: whoever
  // is left takes what was given back.
  for (Worker& worker : workers) {
    if (progress.Unfinished()) PrepareOn(worker, batch, progress, cancel);
  }
  return progress.Outcome(cancel.stop_requested());
}

}  // namespace wavetune
