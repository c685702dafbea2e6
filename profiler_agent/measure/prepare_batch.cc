#include "profiler_agent/measure/prepare_batch.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "model/kernel/argument.h"
#include "model/kernel/correctness_problems.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/candidate_failure.h"
#include "profiler_agent/measure/environment_error.h"

namespace wavetune {
namespace {

// So many failures in a row for want of something, alone and with nothing that
// worked between them, and the rest would fail alike: each costs the start of
// two processes.
constexpr int kMostInVain = 3;

// What the threads of a batch share.
class Progress {
 public:
  Progress(const PrepareBatch& batch, const CandidateCallback& on_candidate,
           const EnvironmentCallback& on_environment, PrepareWidth& width)
      : batch_(batch),
        on_candidate_(on_candidate),
        on_environment_(on_environment),
        width_(width) {
    for (size_t i = 0; i < batch.configurations.size(); ++i) {
      waiting_.push_back(i);
    }
  }

  // Calls `start` once few enough others start. Returns whether it did: not
  // where nothing is left to prepare by then.
  bool StartInTurn(const std::function<void()>& start,
                   const std::stop_token& cancel) {
    std::unique_lock<std::mutex> lock(mutex_);
    started_.wait(lock, [this] { return starting_ < kMostStarting; });
    if (waiting_.empty() || cancel.stop_requested()) return false;
    ++starting_;
    lock.unlock();
    start();
    lock.lock();
    --starting_;
    started_.notify_all();
    return true;
  }

  // Returns what a worker prepares next beside others; nothing for one that is
  // too many.
  std::optional<size_t> Take(size_t worker) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (worker >= width_.now()) return std::nullopt;
    if (width_.now() == 1 && in_vain_ >= kMostInVain) return std::nullopt;
    return Pop(waiting_);
  }

  bool IsTooMany(size_t worker) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return worker >= width_.now();
  }

  // Returns what is prepared next while nothing else runs.
  std::optional<size_t> TakeAlone() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return Pop(alone_.empty() ? waiting_ : alone_);
  }

  // From now on one configuration is prepared at a time.
  void BeginAlone() {
    const std::lock_guard<std::mutex> lock(mutex_);
    in_vain_ = 0;
  }

  // Ends the batch where nothing works alone, either: the environment is to
  // blame for all that is left.
  void GiveUpInVain(const absl::Status& status) {
    std::deque<size_t> rest;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (in_vain_ < kMostInVain) return;
      rest = std::exchange(waiting_, {});
      rest.insert(rest.end(), alone_.begin(), alone_.end());
      alone_.clear();
    }
    for (const size_t index : rest) Report(index, status);
  }

  void Report(size_t index, const absl::StatusOr<Candidate>& result) {
    Candidate candidate;
    std::string reason;
    if (result.ok()) {
      candidate = *result;
    } else {
      reason = FailureReason(result.status());
    }
    const bool environment = ExhaustedResource(result.status()).has_value();
    const std::lock_guard<std::mutex> lock(mutex_);
    in_vain_ = environment ? in_vain_ + 1 : 0;
    if (environment && on_environment_) return on_environment_(index, reason);
    candidate.excluded_reason = reason;
    candidate.configuration = batch_.configurations[index];
    on_candidate_(index, candidate);
  }

  // Leaves a configuration for later, behind the others.
  void GiveBack(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (aborted_) return;
    waiting_.push_back(index);
    given_back_.insert(index);
  }

  // As if it had never been taken.
  void PutBack(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!aborted_) waiting_.push_front(index);
  }

  // Leaves a configuration for when nothing else runs.
  void KeepForAlone(size_t index, const absl::Status& status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ExhaustedResource(status).has_value()) {
      width_.Halve();
      exhausted_ = true;
      ++in_vain_;
    }
    if (aborted_) return;
    alone_.push_back(index);
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
    alone_.clear();
    aborted_ = true;
  }

  // What is left to do; after all threads ended.
  bool Unfinished() const { return !waiting_.empty() || !alone_.empty(); }
  bool KeptForAlone() const { return !alone_.empty(); }

  // Returns how the batch ended; after all threads did.
  absl::Status Outcome(bool cancelled) const {
    if (aborted_) return status_;
    if (!Unfinished()) return absl::OkStatus();
    if (cancelled) return absl::CancelledError("the batch was cancelled");
    return status_;
  }

  bool exhausted() const { return exhausted_; }

 private:
  static std::optional<size_t> Pop(std::deque<size_t>& queue) {
    if (queue.empty()) return std::nullopt;
    const size_t index = queue.front();
    queue.pop_front();
    return index;
  }

  const PrepareBatch& batch_;
  const CandidateCallback& on_candidate_;
  const EnvironmentCallback& on_environment_;
  std::mutex mutex_;
  PrepareWidth& width_;
  std::deque<size_t> waiting_;
  std::deque<size_t> alone_;
  std::set<size_t> given_back_;  // Once or more.
  absl::Status status_;
  bool aborted_ = false;
  bool exhausted_ = false;
  std::condition_variable started_;
  int starting_ = 0;
  int in_vain_ = 0;  // What ran out of something since something worked.
};

struct Worker {
  Device* device = nullptr;
  size_t number = 0;
  bool proven = false;  // It has prepared something since it was last lost.
};

// Deals with a device that was lost while it prepared `index`. Returns whether
// the worker can go on.
bool TakeLoss(Worker& worker, size_t index, const absl::Status& status,
              Progress& progress) {
  if (!WasTried(status)) {  // No worker could be started for it.
    progress.PutBack(index);
    progress.Fail(status);
    return false;
  }
  // Whoever takes down a device that others find in order is to blame.
  const bool go_on = std::exchange(worker.proven, false);
  if (go_on && progress.WasGivenBack(index)) {
    progress.Report(index, status);
    return true;
  }
  progress.GiveBack(index);
  if (!go_on) progress.Fail(status);
  return go_on;
}

// Names the inputs whose integers are any, where a reference is broken: it may
// have followed one.
absl::Status WithUnbounded(const absl::Status& status, const KernelSpec& spec) {
  std::vector<std::string> names;
  for (const Argument& argument : spec.arguments) {
    if (HoldsValues(argument) && IsInteger(argument.type) &&
        !argument.below.has_value() && !argument.blocks.has_value() &&
        spec.RepeatedDimensionOf(argument) < 0) {
      names.push_back(absl::StrCat("'", argument.name, "'"));
    }
  }
  if (names.empty()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(), " (nothing bounds the integers of ",
                   absl::StrJoin(names, ", "),
                   ", so all of their bits are random: where a kernel indexes "
                   "or counts by them, say so in the manifest, as in \"int32 "
                   "below 8\")"));
}

// Deals with a failure that is not, or not clearly, the candidate's. Returns
// whether the worker can go on.
bool TakeFailure(Worker& worker, bool alone, size_t index,
                 const absl::Status& status, const KernelSpec& spec,
                 Progress& progress) {
  if (IsReferenceBroken(status)) {
    progress.Abort(WithUnbounded(status, spec));
    return false;
  }
  if (IsDeviceLost(status)) return TakeLoss(worker, index, status, progress);
  // A fresh process starts with nothing, and leaves more to the others.
  if (ExhaustedResource(status).has_value()) worker.device->Release();
  if (alone && progress.WasGivenBack(index)) {
    progress.Report(index, status);
    if (ExhaustedResource(status).has_value()) progress.GiveUpInVain(status);
  } else {
    progress.KeepForAlone(index, status);
  }
  return true;
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

// Prepares what there is to do, beside others or alone.
void PrepareOn(Worker& worker, bool alone, const PrepareBatch& batch,
               Progress& progress, const std::stop_token& cancel) {
  Device& device = *worker.device;
  if (absl::Status loaded = device.Load(batch.kernel); !loaded.ok()) {
    progress.Fail(loaded);
    return;
  }
  const auto start = [&device] { device.WarmUp(Device::Use::kPrepare); };
  if (!alone && !progress.StartInTurn(start, cancel)) return;
  while (!cancel.stop_requested()) {
    const std::optional<size_t> index =
        alone ? progress.TakeAlone() : progress.Take(worker.number);
    if (!index.has_value()) return;
    const absl::StatusOr<Candidate> candidate =
        PrepareOne(device, batch, batch.configurations[*index]);
    const absl::Status& status = candidate.status();
    if (IsReferenceBroken(status) || IsDeviceLost(status) || MayPass(status)) {
      if (!TakeFailure(worker, alone, *index, status, batch.kernel.spec,
                       progress)) {
        return;
      }
      continue;
    }
    worker.proven = true;
    progress.Report(*index, candidate);
  }
}

void PrepareBesideOthers(std::vector<Worker>& workers,
                         const PrepareBatch& batch, Progress& progress,
                         const std::stop_token& cancel) {
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < workers.size(); ++i) {
    try {
      threads.emplace_back([&, worker = &workers[i]] {
        PrepareOn(*worker, /*alone=*/false, batch, progress, cancel);
        if (progress.IsTooMany(worker->number)) worker->device->Release();
      });
    } catch (const std::system_error& error) {  // The limit on processes.
      Log(LogLevel::kWarning, "prepare",
          absl::StrCat("only ", i, " of ", workers.size(),
                       " workers prepare, as no more threads can be "
                       "started (",
                       error.what(),
                       "): ", ExhaustedAdvice(Resource::kProcesses)));
      break;
    }
  }
  PrepareOn(workers[0], /*alone=*/false, batch, progress, cancel);
}

}  // namespace

absl::Status RunPrepareBatch(absl::Span<Device* const> devices,
                             const PrepareBatch& batch,
                             const CandidateCallback& on_candidate,
                             const std::stop_token& cancel,
                             const PrepareOptions& options) {
  PrepareWidth all(devices.size());
  PrepareWidth& width = options.width == nullptr ? all : *options.width;
  Progress progress(batch, on_candidate, options.on_environment, width);
  std::vector<Worker> workers(
      std::min({devices.size(), width.now(),
                std::max<size_t>(1, batch.configurations.size())}));
  for (size_t i = 0; i < workers.size(); ++i) {
    workers[i] = {.device = devices[i], .number = i};
  }
  PrepareBesideOthers(workers, batch, progress, cancel);
  progress.BeginAlone();
  if (progress.KeptForAlone()) {
    for (Device* const device : devices) device->Release();
    options.make_room();
  }
  // One device may be lost while the last of the others was just done: whoever
  // is left takes what was given back.
  for (Worker& worker : workers) {
    if (progress.Unfinished()) {
      PrepareOn(worker, /*alone=*/true, batch, progress, cancel);
    }
  }
  if (!progress.exhausted()) width.Grow();
  return progress.Outcome(cancel.stop_requested());
}

}  // namespace wavetune
