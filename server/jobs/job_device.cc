#include "server/jobs/job_device.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_space.h"
#include "server/jobs/device_class.h"
#include "server/jobs/job_wait.h"

namespace wavetune {
namespace {

// A wait is cut into slices so that a cancelled job ends at once.
constexpr double kWaitSliceS = 0.2;
constexpr std::chrono::milliseconds kWaitSlice{200};
// Configurations per compile batch: a message stays small. At the end of each
// most workers wait for the last one, so that batches are large; a crash costs
// little all the same, as what is compiled is stored on the way.
constexpr size_t kPrepareBatch = 256;
// Samples are synced in groups: a sync takes about as long as a measurement.
constexpr size_t kFlushSamples = 16;
constexpr int64_t kFlushIntervalUs = 250'000;
// Attempts in a row that report nothing before the job gives up on a device
// that keeps going away.
constexpr int kFruitlessAttempts = 3;

absl::Status StaysAway(const std::string& uuid, const std::string& why,
                       double waited_s) {
  return absl::UnavailableError(absl::StrCat(
      "device ", uuid,
      why.empty() ? " had no agent for " : " could not be used for ", waited_s,
      why.empty()
          ? " s: start wavetune-agent on its host"
          : absl::StrCat(" s: ", why, ". Look at the agent's log on its host"),
      ", then reprofile again; what was measured is kept"));
}

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
    : JobDevice(services, control, control->record().device_uuid,
                std::make_shared<DeviceTime>()) {}

JobDevice::JobDevice(const JobServices& services, JobControl* control,
                     std::string device_uuid, std::shared_ptr<DeviceTime> time)
    : services_(services),
      control_(control),
      job_id_(control->record().id),
      device_uuid_(std::move(device_uuid)),
      time_(std::move(time)) {}

absl::StatusOr<DeviceFacts> JobDevice::Acquire() {
  JobWait wait(control_, services_.clock);
  const absl::Status status = AwaitAgent(wait);
  waited_s_ += wait.WaitedS();
  RETURN_IF_ERROR(status);
  return executor_->device();
}

absl::Status JobDevice::AwaitAgent(JobWait& wait) {
  executor_ = services_.executors->Find(device_uuid_, 0);
  for (double waited_s = 0; executor_ == nullptr; waited_s += kWaitSliceS) {
    RETURN_IF_ERROR(control_->CheckGoOn());
    const std::string why = services_.executors->WhyUnusable(device_uuid_);
    if (!patient_ || waited_s >= services_.agent_wait_s) {
      return StaysAway(device_uuid_, why, services_.agent_wait_s);
    }
    wait.Show(absl::StrCat("waiting for the agent of device ", device_uuid_,
                           why.empty() ? "" : ": ", why));
    executor_ = services_.executors->Find(device_uuid_, kWaitSliceS);
  }
  return control_->CheckGoOn();
}

void JobDevice::Cancel() {
  std::lock_guard lock(running_mutex_);
  if (running_ != nullptr) running_->CancelBatch();
}

void JobDevice::Bind(std::shared_ptr<const TunableKernel> kernel,
                     ProfileKey key, uint64_t generation) {
  kernel_ = std::move(kernel);
  key_ = std::move(key);
  generation_ = generation;
  // Not less: another device of the job may have begun.
  time_->used_us.store(
      std::max(time_->used_us.load(), control_->record().device_time_us));
}

absl::Status JobDevice::CheckSameDevice(
    const MeasurementExecutor& executor) const {
  const DeviceFacts facts = executor.device();
  if (IsOfClass(facts, key_)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("device ", facts.uuid, " came back as another one: it was ",
                   key_.silicon_key, ", ", key_.environment_key, " and is ",
                   SiliconKey(facts), ", ", EnvironmentKey(facts),
                   ". Reprofile again to measure it as it is now"));
}

MeasurementExecutor::IfBusy JobDevice::if_busy() const {
  return control_->record().options.even_if_busy
             ? MeasurementExecutor::IfBusy::kGoOn
             : MeasurementExecutor::IfBusy::kYield;
}

std::string JobDevice::BusyText(const std::string& why) const {
  return absl::StrCat("waiting: ", why,
                      control_->record().kind == JobKind::kMeasure
                          ? "; start it again with --even-if-busy to measure "
                            "anyway"
                          : "; reprofile with --even-if-busy to measure "
                            "anyway");
}

absl::StatusOr<std::string> JobDevice::HotText(const std::string& why) const {
  const double left_s = services_.hot_wait_s - hot_waited_s_;
  if (left_s <= 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "device ", device_uuid_, " did not cool in ",
        DurationText(services_.hot_wait_s), ": ", why,
        ". Look at its cooling and at what else runs there, then reprofile "
        "again; what was measured is kept"));
  }
  return absl::StrCat("waiting for device ", device_uuid_, " to cool: ", why,
                      "; gives up in ", DurationText(left_s));
}

absl::Status JobDevice::AwaitUsable(JobWait& wait) {
  for (;;) {
    RETURN_IF_ERROR(control_->CheckGoOn());
    const std::string hot = executor_->WhyHot();
    if (!hot.empty()) {
      if (!patient_) return absl::ResourceExhaustedError(hot);
      ASSIGN_OR_RETURN(const std::string text, HotText(hot));
      wait.Show(text);
      services_.clock->Sleep(kWaitSlice);
      hot_waited_s_ += kWaitSliceS;
      continue;
    }
    if (if_busy() != MeasurementExecutor::IfBusy::kYield) break;
    const std::string busy =
        executor_->AwaitIdle(wait.waits() ? kWaitSliceS : 0);
    RETURN_IF_ERROR(control_->CheckGoOn());
    if (busy.empty()) break;
    if (!patient_) return absl::ResourceExhaustedError(busy);
    wait.Show(BusyText(busy));
  }
  return absl::OkStatus();
}

absl::Status JobDevice::RunToEnd(
    const std::function<absl::Status(MeasurementExecutor&)>& attempt,
    const std::function<size_t()>& left) {
  int fruitless = 0;
  while (left() > 0) {
    RETURN_IF_ERROR(control_->CheckGoOn());
    if (executor_ == nullptr) RETURN_IF_ERROR(Acquire().status());
    {
      JobWait wait(control_, services_.clock);
      const absl::Status usable = AwaitUsable(wait);
      waited_s_ += wait.WaitedS();
      RETURN_IF_ERROR(usable);
    }
    RETURN_IF_ERROR(CheckSameDevice(*executor_));
    const size_t before = left();
    acknowledged_ = 0;
    SetRunning(executor_);
    absl::Status status = attempt(*executor_);
    SetRunning(nullptr);
    RETURN_IF_ERROR(Flush());
    RETURN_IF_ERROR(control_->CheckGoOn());
    if (status.ok() || budget_spent_) return absl::OkStatus();
    if (absl::IsResourceExhausted(status) && patient_) continue;
    if (!absl::IsUnavailable(status)) return status;
    executor_ = nullptr;
    if (!patient_) return status;
    fruitless = left() < before ? 0 : fruitless + 1;
    if (fruitless >= kFruitlessAttempts) {
      return KeepsGoingAway(device_uuid_, status);
    }
  }
  return absl::OkStatus();
}

void JobDevice::SetRunning(
    const std::shared_ptr<MeasurementExecutor>& executor) {
  {
    std::lock_guard lock(running_mutex_);
    running_ = executor;
  }
  if (executor == nullptr) {
    control_->SetInterrupt(this, nullptr);
  } else {
    control_->SetInterrupt(this, [executor] { executor->CancelBatch(); });
  }
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
  return TextOf(unprepared_, kernel_.get());
}

std::string JobDevice::TextOf(const Unprepared& unprepared,
                              const TunableKernel* kernel) {
  if (unprepared.empty()) return "";
  const auto& [first, reason] = *unprepared.begin();
  const size_t count = unprepared.size();
  return absl::StrCat(
      "; ", count, count == 1 ? " candidate" : " candidates",
      " could not be compiled and checked on the device's host (the next job "
      "tries again), the first: ",
      FormatConfiguration(kernel->spec, first.second), ": ", reason);
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
          if (time_->spent()) budget_spent_ = true;
          return !budget_spent_ && control_->CheckGoOn().ok();
        });
  };
  budget_spent_ = time_->spent();
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
  time_->used_us.fetch_add(sample.device_time_us);
  if (!item.vendor_baseline.empty()) return;  // No candidate's.
  pending_samples_.push_back(
      {sample, device_uuid_, services_.clock->NowUs(), job_id_});
}

bool JobDevice::FlushIsDue() const {
  // A clock that was set back has not waited for ever.
  const int64_t passed_us = services_.clock->NowUs() - last_flush_us_;
  return passed_us < 0 || passed_us >= kFlushIntervalUs;
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
        job.device_time_us = time_->used_us.load();
        if (count > 0 &&
            std::find(job.device_uuids.begin(), job.device_uuids.end(),
                      device_uuid_) == job.device_uuids.end()) {
          job.device_uuids.push_back(device_uuid_);
        }
      },
      JobControl::Persist::kLazily);
  return absl::OkStatus();
}

}  // namespace wavetune
