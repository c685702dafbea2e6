#include "server/jobs/job_device.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_space.h"

namespace wavetune {
namespace {

// A wait is cut into slices so that a cancelled job ends at once.
constexpr double kWaitSliceS = 0.2;
// Configurations per compile batch: small enough that a crash of the daemon
// costs little, large enough that a batch's round trip costs nothing.
constexpr size_t kPrepareBatch = 64;
// Samples are synced in groups: a sync takes about as long as a measurement.
constexpr size_t kFlushSamples = 16;
constexpr int64_t kFlushIntervalUs = 250'000;
// Attempts in a row that report nothing before the job gives up on a device
// that keeps going away.
constexpr int kFruitlessAttempts = 3;

absl::Status KeepsGoingAway(const std::string& uuid,
                            const absl::Status& status) {
  return absl::UnavailableError(absl::StrCat(
      "device ", uuid, " went away ", kFruitlessAttempts,
      " times without reporting anything, last: ", status.message(),
      ". Look at the agent's log on its host, then reprofile again; what was "
      "measured is kept"));
}

}  // namespace

JobDevice::JobDevice(const JobServices& services, JobControl* control)
    : services_(services), control_(control) {}

absl::StatusOr<DeviceFacts> JobDevice::Acquire() {
  const JobRecord record = control_->record();
  executor_ = services_.executors->Find(record.device_uuid, 0);
  std::string why;
  for (double waited_s = 0; executor_ == nullptr; waited_s += kWaitSliceS) {
    RETURN_IF_ERROR(control_->CheckGoOn());
    const std::string now =
        services_.executors->WhyUnusable(record.device_uuid);
    if (waited_s == 0 || now != why) ShowWaiting(now);
    why = now;
    if (waited_s >= services_.agent_wait_s) {
      return absl::UnavailableError(absl::StrCat(
          "device ", record.device_uuid,
          why.empty() ? " had no agent for " : " could not be used for ",
          services_.agent_wait_s,
          why.empty() ? " s: start wavetune-agent on its host"
                      : absl::StrCat(" s: ", why,
                                     ". Look at the agent's log on its host"),
          ", then reprofile again; what was measured is kept"));
    }
    executor_ = services_.executors->Find(record.device_uuid, kWaitSliceS);
  }
  RETURN_IF_ERROR(control_->CheckGoOn());
  control_->Update([&](JobRecord& job) {
    job.phase = record.phase;
    job.message = record.message;
  });
  return executor_->device();
}

void JobDevice::ShowWaiting(const std::string& why) {
  control_->Update([&](JobRecord& job) {
    job.phase = JobPhase::kWaiting;
    job.message = absl::StrCat("waiting for the agent of device ",
                               job.device_uuid, why.empty() ? "" : ": ", why);
  });
}

void JobDevice::Bind(std::shared_ptr<const TunableKernel> kernel,
                     ProfileKey key, uint64_t generation) {
  kernel_ = std::move(kernel);
  key_ = std::move(key);
  generation_ = generation;
  device_time_us_ = control_->record().device_time_us;
}

absl::Status JobDevice::CheckSameDevice(
    const MeasurementExecutor& executor) const {
  const DeviceFacts facts = executor.device();
  if (SiliconKey(facts) == key_.silicon_key &&
      EnvironmentKey(facts) == key_.environment_key) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("device ", facts.uuid, " came back as another one: it was ",
                   key_.silicon_key, ", ", key_.environment_key, " and is ",
                   SiliconKey(facts), ", ", EnvironmentKey(facts),
                   ". Reprofile again to measure it as it is now"));
}

MeasurementExecutor::IfBusy JobDevice::if_busy() const {
  return control_->record().even_if_busy ? MeasurementExecutor::IfBusy::kGoOn
                                         : MeasurementExecutor::IfBusy::kYield;
}

absl::Status JobDevice::AwaitIdle() {
  const JobRecord before = control_->record();
  std::string shown;
  while (if_busy() == MeasurementExecutor::IfBusy::kYield) {
    const std::string busy =
        executor_->AwaitIdle(shown.empty() ? 0 : kWaitSliceS);
    RETURN_IF_ERROR(control_->CheckGoOn());
    if (busy.empty()) break;
    if (busy == shown) continue;
    shown = busy;
    control_->Update(
        [&](JobRecord& job) {
          job.phase = JobPhase::kWaiting;
          job.seconds_left = -1;
          job.message =
              absl::StrCat("waiting: ", busy,
                           job.kind == JobKind::kMeasure
                               ? "; start it again with --even-if-busy to "
                                 "measure anyway"
                               : "; reprofile with --even-if-busy to measure "
                                 "anyway");
        },
        JobControl::Persist::kLazily);
  }
  if (shown.empty()) return absl::OkStatus();
  control_->Update([&](JobRecord& job) {
    job.phase = before.phase;
    job.message = before.message;
  });
  return absl::OkStatus();
}

absl::Status JobDevice::RunToEnd(
    const std::function<absl::Status(MeasurementExecutor&)>& attempt,
    const std::function<size_t()>& left) {
  int fruitless = 0;
  while (left() > 0) {
    RETURN_IF_ERROR(control_->CheckGoOn());
    if (executor_ == nullptr) RETURN_IF_ERROR(Acquire().status());
    RETURN_IF_ERROR(AwaitIdle());
    RETURN_IF_ERROR(CheckSameDevice(*executor_));
    const size_t before = left();
    acknowledged_ = 0;
    control_->SetInterrupt([executor = executor_] { executor->CancelBatch(); });
    const absl::Status status = attempt(*executor_);
    control_->SetInterrupt(nullptr);
    RETURN_IF_ERROR(Flush());
    RETURN_IF_ERROR(control_->CheckGoOn());
    if (status.ok() || budget_spent_) return absl::OkStatus();
    if (absl::IsResourceExhausted(status)) continue;  // Others use it now.
    if (!absl::IsUnavailable(status)) return status;
    fruitless = left() < before ? 0 : fruitless + 1;
    if (fruitless >= kFruitlessAttempts) {
      return KeepsGoingAway(control_->record().device_uuid, status);
    }
    executor_ = nullptr;
  }
  return absl::OkStatus();
}

absl::Status JobDevice::Prepare(
    const std::string& specialisation,
    const std::vector<Configuration>& configurations,
    const std::vector<Problem>& correctness_problems,
    const RecordCallback& on_record) {
  for (size_t begin = 0; begin < configurations.size();
       begin += kPrepareBatch) {
    const size_t end = std::min(begin + kPrepareBatch, configurations.size());
    std::vector<Configuration> left(configurations.begin() + begin,
                                    configurations.begin() + end);
    absl::Status stored;
    const auto attempt = [&](MeasurementExecutor& executor) {
      const std::vector<Configuration> batch = left;
      return executor.Prepare(
          kernel_->files, specialisation, batch, correctness_problems,
          if_busy(), [&](const MeasurementExecutor::Preparation& prepared) {
            const Candidate& candidate = prepared.candidate;
            std::erase(left, candidate.configuration);
            if (prepared.environment) {
              unprepared_[{specialisation, candidate.configuration}] =
                  candidate.excluded_reason;
              return control_->CheckGoOn().ok();
            }
            pending_candidates_.push_back({specialisation, candidate});
            on_record(pending_candidates_.back());
            // Compiling is slow: what is done must survive a crash.
            if (FlushIsDue()) {
              stored = Flush();
            }
            return stored.ok() && control_->CheckGoOn().ok();
          });
    };
    last_flush_us_ = services_.clock->NowUs();
    const absl::Status status = RunToEnd(attempt, [&] { return left.size(); });
    // A failed append ends the batch as cancelled; the reason counts.
    RETURN_IF_ERROR(stored);
    RETURN_IF_ERROR(status);
    if (!left.empty()) {
      return absl::InternalError(absl::StrCat(
          "the agent ended a batch without a word on ", left.size(),
          " configurations: upgrade or restart it, then reprofile again"));
    }
  }
  return absl::OkStatus();
}

std::string JobDevice::UnpreparedText() const {
  if (unprepared_.empty()) return "";
  const auto& [first, reason] = *unprepared_.begin();
  const size_t count = unprepared_.size();
  return absl::StrCat(
      "; ", count, count == 1 ? " candidate" : " candidates",
      " could not be compiled and checked on the device's host (the next job "
      "tries again), the first: ",
      FormatConfiguration(kernel_->spec, first.second), ": ", reason);
}

absl::StatusOr<std::vector<JobDevice::Result>> JobDevice::Measure(
    const std::vector<MeasureItem>& items, const ResultCallback& on_result) {
  std::vector<Result> results(items.size());
  std::vector<size_t> left(items.size());
  for (size_t i = 0; i < items.size(); ++i) left[i] = i;
  absl::Status stored;
  const auto attempt = [&](MeasurementExecutor& executor) {
    const std::vector<size_t> batch = left;
    std::vector<MeasureItem> wanted;
    for (size_t i : batch) wanted.push_back(items[i]);
    return executor.Measure(
        kernel_->files, wanted, if_busy(),
        [&](const MeasurementExecutor::Outcome& outcome) {
          if (outcome.index >= batch.size()) return true;
          const size_t index = batch[outcome.index];
          Result& result = results[index];
          std::erase(left, index);
          result.failure = outcome.failure;
          result.excluded = outcome.exclude;
          if (outcome.sample != nullptr) {
            result.sample = *outcome.sample;
            AddSample(items[index], *outcome.sample);
          }
          if (outcome.exclude && items[index].vendor_baseline.empty() &&
              stores_exclusions_) {
            Candidate excluded{.configuration = items[index].configuration};
            excluded.excluded_reason = outcome.failure.empty()
                                           ? "failed while measured"
                                           : outcome.failure;
            pending_candidates_.push_back(
                {items[index].problem.specialisation, std::move(excluded)});
          }
          if (on_result) on_result(index, result);
          if (FlushIsDue() || pending_samples_.size() >= kFlushSamples) {
            stored = Flush();
            if (!stored.ok()) return false;
          }
          if (OverBudget()) budget_spent_ = true;
          return !budget_spent_ && control_->CheckGoOn().ok();
        });
  };
  budget_spent_ = OverBudget();
  if (budget_spent_) return results;
  last_flush_us_ = services_.clock->NowUs();
  const absl::Status status = RunToEnd(attempt, [&] { return left.size(); });
  // A failed append ends the batch as cancelled; the reason counts.
  RETURN_IF_ERROR(stored);
  RETURN_IF_ERROR(status);
  if (!budget_spent_) {
    for (size_t index : left) {
      results[index].failure = "the agent reported no outcome";
      if (on_result) on_result(index, results[index]);
    }
  }
  return results;
}

void JobDevice::AddSample(const MeasureItem& item, const Sample& sample) {
  device_time_us_ += sample.device_time_us;
  if (!item.vendor_baseline.empty()) return;  // No candidate's.
  const JobRecord record = control_->record();
  pending_samples_.push_back(
      {sample, record.device_uuid, services_.clock->NowUs(), record.id});
}

bool JobDevice::FlushIsDue() const {
  // A clock that was set back has not waited for ever.
  const int64_t passed_us = services_.clock->NowUs() - last_flush_us_;
  return passed_us < 0 || passed_us >= kFlushIntervalUs;
}

bool JobDevice::OverBudget() const {
  return device_time_limit_us_ > 0 && device_time_us_ >= device_time_limit_us_;
}

absl::Status JobDevice::Flush() {
  last_flush_us_ = services_.clock->NowUs();
  if (pending_samples_.empty() && pending_candidates_.empty()) {
    return absl::OkStatus();
  }
  const absl::Status status = services_.samples->Append(
      key_, generation_, pending_samples_, pending_candidates_);
  const auto count = static_cast<int64_t>(pending_samples_.size());
  const auto throttled =
      std::count_if(pending_samples_.begin(), pending_samples_.end(),
                    [](const SampleRecord& r) { return r.sample.throttled; });
  pending_samples_.clear();
  pending_candidates_.clear();
  RETURN_IF_ERROR(status);
  acknowledged_ += count;
  if (count > 0) executor_->AcknowledgeStored(acknowledged_);
  control_->Update(
      [&](JobRecord& job) {
        job.samples += count;
        job.throttled_samples += throttled;
        job.device_time_us = device_time_us_;
      },
      JobControl::Persist::kLazily);
  return absl::OkStatus();
}

}  // namespace wavetune
