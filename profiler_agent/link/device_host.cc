#include "profiler_agent/link/device_host.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/parallel_for.h"
#include "formats/types.h"
#include "profiler_agent/link/busy_rule.h"
#include "profiler_agent/measure/candidate_failure.h"
#include "profiler_agent/measure/stop_wait.h"

namespace wavetune {

DeviceHost::DeviceHost(DeviceHostOptions options, ReportSink report)
    : workers_(std::move(options.workers)),
      measuring_(workers_.front().get()),
      probe_(std::move(options.probe)),
      probe_interval_(options.probe_interval),
      read_telemetry_(std::move(options.read_telemetry)),
      stop_watching_(std::move(options.stop_watching)),
      idle_release_(options.idle_release),
      quiet_period_(options.quiet_period),
      quiet_look_interval_(options.quiet_look_interval),
      report_(std::move(report)),
      width_(std::max<size_t>(workers_.size() - 1, 1)),
      facts_(measuring_->facts()) {
  for (size_t i = 1; i < workers_.size(); ++i) {
    preparing_.push_back(workers_[i].get());
  }
  if (preparing_.empty()) preparing_.push_back(measuring_);
  thread_ = std::jthread([this](const std::stop_token& stop) { Work(stop); });
}

DeviceHost::~DeviceHost() {
  CancelAll();
  thread_.request_stop();
  thread_.join();
  EndWarmUp();  // It uses members that are destroyed before it.
}

DeviceFacts DeviceHost::facts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return facts_;
}

std::string DeviceHost::problem() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return Problem();
}

const std::string& DeviceHost::Problem() const {
  return problem_.empty() ? seen_problem_ : problem_;
}

int64_t DeviceHost::batches() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return batches_;
}

void DeviceHost::Submit(v1::PrepareBatch batch, SharedKernel kernel) {
  const uint64_t id = batch.batch_id();
  Enqueue(id, [this, batch = std::move(batch),
               kernel = std::move(kernel)](const std::stop_token& cancel) {
    return Prepare(batch, *kernel, cancel);
  });
}

void DeviceHost::Submit(v1::MeasureBatch batch, SharedKernel kernel) {
  const uint64_t id = batch.batch_id();
  Enqueue(id, [this, batch = std::move(batch),
               kernel = std::move(kernel)](const std::stop_token& cancel) {
    EndWarmUp();
    // The others hold memory of host and device that a measurement may need.
    // Together, as the end of a process with a driver takes a while.
    ParallelFor(workers_.size() - 1,
                [this](size_t i) { workers_[i + 1]->Release(); });
    return ExecuteMeasure(*measuring_, batch, *kernel, history_, report_,
                          cancel);
  });
}

absl::Status DeviceHost::Prepare(const v1::PrepareBatch& batch,
                                 const LoadedKernel& kernel,
                                 const std::stop_token& cancel) {
  bool has_room = preparing_.front() != measuring_;
  const auto make_room = [&] {
    if (!std::exchange(has_room, false)) return;
    EndWarmUp();
    measuring_->Release();
  };
  // Not earlier: those that prepare are needed first.
  const ReportSink report = [&](const v1::AttachRequest& message) {
    report_(message);
    if (has_room && message.has_candidate()) {
      BeginWarmUp(kernel, batch.specialisation());
    }
  };
  return ExecutePrepare(preparing_, batch, kernel, width_, make_room, report,
                        cancel);
}

void DeviceHost::BeginWarmUp(const LoadedKernel& kernel,
                             const std::string& specialisation) {
  if (warm_up_.joinable()) return;
  try {
    warm_up_ = std::jthread([this, loaded = kernel.Of(specialisation)] {
      const Clock::Duration begin = SystemClock().SteadyNow();
      // What is wrong shows when it measures.
      if (!measuring_->Load(loaded).ok()) return;
      measuring_->WarmUp(Device::Use::kMeasure);
      Log(LogLevel::kInfo, "device",
          absl::StrCat("device ", facts().uuid, ": ready to measure after ",
                       ToSeconds(SystemClock().SteadyNow() - begin), " s"));
    });
  } catch (const std::system_error&) {  // The limit on processes: later, then.
  }
}

void DeviceHost::EndWarmUp() {
  if (warm_up_.joinable()) warm_up_.join();
}

void DeviceHost::Enqueue(
    uint64_t batch_id,
    std::function<absl::Status(const std::stop_token&)> run) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_.size() < kMaxWaitingBatches) {
      waiting_.push_back({.batch_id = batch_id, .run = std::move(run)});
      changed_.notify_all();
      return;
    }
  }
  ReportDone(batch_id,
             absl::ResourceExhaustedError(absl::StrCat(
                 kMaxWaitingBatches, " batches wait for this device already")),
             report_);
}

void DeviceHost::Cancel(uint64_t batch_id) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (busy_ && running_.batch_id == batch_id) running_.cancel.request_stop();
    const auto dropped = std::erase_if(waiting_, [batch_id](const Job& job) {
      return job.batch_id == batch_id;
    });
    if (dropped == 0) return;
    changed_.notify_all();
  }
  ReportDone(batch_id, absl::CancelledError("the batch was cancelled"),
             report_);
}

void DeviceHost::CancelAll() {
  std::vector<uint64_t> ids;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (busy_) ids.push_back(running_.batch_id);
    for (const Job& job : waiting_) ids.push_back(job.batch_id);
  }
  for (const uint64_t id : ids) Cancel(id);
}

void DeviceHost::WaitUntilIdle() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !busy_ && waiting_.empty(); });
}

void DeviceHost::Work(const std::stop_token& stop) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop.stop_requested()) {
    AwaitWork(lock, stop);
    if (stop.stop_requested()) return;
    if (waiting_.empty()) {
      lock.unlock();
      WorkIdle();
      lock.lock();
      continue;
    }
    running_ = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    ++batches_;
    workers_run_ = true;
    let_go_ = false;
    lock.unlock();
    WatchQuietly(running_.cancel.get_token());
    SetLaunching(true);
    const absl::Status status = running_.run(running_.cancel.get_token());
    SetLaunching(false);
    SetProblem(&DeviceHost::problem_,
               IsDeviceLost(status) ? std::string(status.message()) : "");
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void DeviceHost::AwaitWork(std::unique_lock<std::mutex>& lock,
                           const std::stop_token& stop) {
  const auto has_work = [this] { return !waiting_.empty() || let_go_; };
  if (!problem_.empty()) {
    changed_.wait_for(lock, stop, probe_interval_, has_work);
  } else if (workers_run_) {
    changed_.wait_for(lock, stop, idle_release_, has_work);
  } else {
    changed_.wait(lock, stop, has_work);
  }
}

void DeviceHost::WorkIdle() {
  bool release = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    release = std::exchange(let_go_, false) || problem_.empty();
    workers_run_ = !release;
  }
  EndWarmUp();
  if (release) {
    for (const auto& worker : workers_) worker->Release();
  } else if (probe_().ok()) {
    SetProblem(&DeviceHost::problem_, "");
  }
}

void DeviceHost::LetGo() {
  if (stop_watching_) stop_watching_();
  const std::lock_guard<std::mutex> lock(mutex_);
  let_go_ = true;
  changed_.notify_all();
}

void DeviceHost::SetProblem(std::string DeviceHost::*source,
                            const std::string& known) {
  std::string problem;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::string before = Problem();
    this->*source = known;
    problem = Problem();
    if (problem == before) return;
  }
  Log(LogLevel::kWarning, "device",
      absl::StrCat("device ", facts().uuid,
                   problem.empty() ? " is usable again" : ": ", problem));
  v1::AttachRequest message;
  message.mutable_device()->set_device_uuid(facts().uuid);
  message.mutable_device()->set_problem(problem);
  report_(message);
}

void DeviceHost::SetLaunching(bool launching) {
  const std::lock_guard<std::mutex> lock(mutex_);
  launching_ = launching;
  launched_at_ = SystemClock().SteadyNow();
}

bool DeviceHost::Quiet() const {
  return !launching_ &&
         (!launched_at_.has_value() ||
          SystemClock().SteadyNow() - *launched_at_ >= quiet_period_);
}

bool DeviceHost::TakePowerLimit(const DeviceState& state) {
  if (state.power_limit_w <= 0 || state.power_limit_w == facts_.power_limit_w) {
    return false;
  }
  facts_.power_limit_w = state.power_limit_w;
  return true;
}

void DeviceHost::SayLook(const absl::Status& status) {
  // A lost device has been told.
  const std::string failure =
      IsDeviceLost(status) ? "" : std::string(status.message());
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (look_failure_ == failure) return;
    look_failure_ = failure;
  }
  if (failure.empty()) return;
  Log(LogLevel::kWarning, "device",
      absl::StrCat("device ", facts().uuid,
                   ": nobody sees what it does, or who else uses it: ", failure,
                   "; looking again every few seconds"));
}

void DeviceHost::Watch() {
  if (!read_telemetry_) return;
  bool quiet = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    quiet = Quiet();
  }
  absl::StatusOr<DeviceState> state = read_telemetry_();
  if (state.ok() || IsDeviceLost(state.status())) {
    SetProblem(&DeviceHost::seen_problem_,
               std::string(state.status().message()));
  }
  SayLook(state.status());
  if (!state.ok()) return;
  v1::AttachRequest changed;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // A batch may have begun while we looked.
    quiet = quiet && Quiet();
    others_hidden_ = !state->other_processes.has_value() &&
                     state->utilisation_percent.has_value();
    // Our own launches hide theirs: what was seen last still counts.
    if (quiet || !others_hidden_) {
      busy_reason_ = BusyReason(facts_.uuid, *state, quiet);
    }
    state->busy = busy_reason_;
    if (quiet) quiet_look_at_ = SystemClock().SteadyNow();
    if (TakePowerLimit(*state)) {
      changed.mutable_device()->set_device_uuid(facts_.uuid);
      changed.mutable_device()->set_problem(Problem());
      *changed.mutable_device()->mutable_facts() = DeviceFactsToProto(facts_);
    }
  }
  if (changed.has_device()) report_(changed);
  v1::AttachRequest message;
  message.mutable_state()->set_device_uuid(facts().uuid);
  *message.mutable_state()->mutable_state() = DeviceStateToProto(*state);
  report_(message);
}

void DeviceHost::WatchQuietly(const std::stop_token& cancel) {
  Clock::Duration pause{};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Clock::Duration now = SystemClock().SteadyNow();
    const bool recent = quiet_look_at_.has_value() &&
                        now - *quiet_look_at_ < quiet_look_interval_;
    // Before the first batch somebody must have looked.
    const bool needed = others_hidden_ || !quiet_look_at_.has_value();
    if (!read_telemetry_ || !needed || recent) return;
    if (launched_at_.has_value()) pause = *launched_at_ + quiet_period_ - now;
  }
  // Rounded up, so that it is quiet then.
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(pause);
  if (wait.count() > 0 && SleepOrStop(wait, cancel)) return;
  Watch();
}

}  // namespace wavetune
