#include "server/jobs/job_queue.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "server/jobs/device_class.h"
#include "server/jobs/drift_job.h"
#include "server/jobs/job_wait.h"
#include "server/jobs/profiling_job.h"

namespace wavetune {
namespace {

// Unfinished jobs are few; so many are read back after a restart.
constexpr int kJobsReadAtStart = 10000;
// Finished jobs kept in memory, where they can be read while the disk is full.
constexpr size_t kJobsInMemory = 256;
// What a queued job says.
constexpr char kWaitsForJob[] = "waits for job ";
constexpr char kWaitsForThread[] = "waits for a thread: ";
// Jobs of a device that all wait for other nodes look in turns.
constexpr std::chrono::seconds kLookInTurns{5};

// What a job says at its end: stored, sent and shown. Enough for some dozen
// candidates or faults of a manifest.
constexpr size_t kMaxMessageBytes = size_t{4} << 10;

std::string NoThreadText(const std::string& why) {
  return absl::StrCat("no thread can be started for jobs (", why,
                      "): raise the daemon's limit on processes (TasksMax= of "
                      "its unit, --pids-limit of its container, ulimit -u)");
}

absl::Status AlreadyEnded(const JobRecord& record) {
  return absl::FailedPreconditionError(
      absl::StrCat("job ", record.id, " has already ended: ", record.message));
}

// What all nodes are asked for takes the place of what this one is, and stays:
// after a restart the job goes on with it.
void TakeDemand(const ProfileDemand& demand, JobControl& control) {
  control.Update(
      [&](JobRecord& record) {
        record.used_problems = demand.used;
        record.workload_problems = SharedProblems(demand.workloads);
        record.workload_problem_count =
            static_cast<int32_t>(demand.workloads.size());
        record.fleet_demand = demand.counts;
      },
      JobControl::Persist::kSynced);
}

}  // namespace

JobQueue::JobQueue(JobServices services) : services_(std::move(services)) {}

JobQueue::~JobQueue() { Stop(); }

absl::Status JobQueue::Start() {
  ASSIGN_OR_RETURN(std::vector<JobRecord> records,
                   services_.jobs->List(kJobsReadAtStart));
  std::reverse(records.begin(), records.end());  // Oldest first.
  std::vector<std::shared_ptr<Job>> resumed;
  for (JobRecord& record : records) {
    if (record.finished()) continue;
    auto job = std::make_shared<Job>();
    const JobKind kind = record.kind;
    const bool ran = record.state == JobState::kRunning;
    job->control = std::make_shared<JobControl>(std::move(record),
                                                services_.jobs, services_.warn);
    if (kind == JobKind::kMeasure) {
      Finish(*job, absl::AbortedError(
                       "the daemon was restarted and nobody waits for the "
                       "results any more: start the measurement again"));
      continue;
    }
    job->control->Update(
        [&](JobRecord& r) {
          r.state = JobState::kQueued;
          r.phase = JobPhase::kWaiting;
          if (ran) r.message = "goes on after a restart of the daemon";
        },
        JobControl::Persist::kLazily);
    resumed.push_back(std::move(job));
  }
  try {
    std::lock_guard lock(mutex_);
    spare_ = services_.start_thread([this] { RunSpare(); });
  } catch (const std::system_error& error) {
    return absl::UnavailableError(NoThreadText(error.what()));
  }
  for (std::shared_ptr<Job>& job : resumed) Enqueue(std::move(job));
  return absl::OkStatus();
}

void JobQueue::Stop() {
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [id, job] : jobs_) job->control->Stop();
    for (auto& [device, worker] : workers_) {
      if (worker->thread.joinable()) {
        threads.push_back(std::move(worker->thread));
      }
    }
    if (spare_.joinable()) threads.push_back(std::move(spare_));
    if (ended_.joinable()) threads.push_back(std::move(ended_));
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
  SaveJobs();
}

void JobQueue::SaveJobs() {
  std::vector<std::shared_ptr<Job>> unsaved;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, job] : jobs_) {
      if (job->control->unsaved()) unsaved.push_back(job);
    }
  }
  for (const std::shared_ptr<Job>& job : unsaved) {
    // The first that fails says what the others would.
    if (!job->control->Save().ok()) return;
  }
}

absl::StatusOr<std::vector<JobRecord>> JobQueue::Reprofile(
    const ReprofileRequest& request) {
  if (request.fingerprint.empty()) services_.kernels->Reload();
  ASSIGN_OR_RETURN(const std::vector<JobRequests::Pair> pairs,
                   requests_.Pairs(request));
  std::vector<JobRecord> records;
  for (const JobRequests::Pair& pair : pairs) {
    ASSIGN_OR_RETURN(JobRecord record, requests_.Reprofile(request, pair));
    ASSIGN_OR_RETURN(record, QueueReprofile(std::move(record)));
    records.push_back(std::move(record));
  }
  return records;
}

absl::StatusOr<std::vector<PlannedJob>> JobQueue::Plan(
    const ReprofileRequest& request) {
  services_.kernels->Reload();
  ASSIGN_OR_RETURN(const std::vector<JobRequests::Pair> pairs,
                   requests_.Pairs(request));
  std::vector<PlannedJob> planned;
  for (const JobRequests::Pair& pair : pairs) {
    ASSIGN_OR_RETURN(const JobRecord record,
                     requests_.Reprofile(request, pair));
    ASSIGN_OR_RETURN(const auto kernel,
                     services_.kernels->Get(pair.kernel, pair.device));
    ASSIGN_OR_RETURN(PlannedJob one,
                     PlanJob(services_, record, *kernel, pair.device));
    planned.push_back(std::move(one));
  }
  return planned;
}

absl::StatusOr<JobRecord> JobQueue::QueueReprofile(JobRecord record) {
  std::lock_guard lock(create_mutex_);
  if (const std::shared_ptr<Job> alike = FindAlike(record)) {
    if (record.options.even_if_busy &&
        !alike->control->record().options.even_if_busy) {
      alike->control->Update(
          [](JobRecord& job) { job.options.even_if_busy = true; },
          JobControl::Persist::kSynced);
    }
    return alike->control->record();
  }
  RETURN_IF_ERROR(CheckRoom());
  ASSIGN_OR_RETURN(record, services_.jobs->Create(std::move(record)));
  auto job = std::make_shared<Job>();
  job->control =
      std::make_shared<JobControl>(record, services_.jobs, services_.warn);
  Enqueue(std::move(job));
  return record;
}

absl::StatusOr<JobRecord> JobQueue::Measure(MeasureRequest request,
                                            MeasureListener listener) {
  ASSIGN_OR_RETURN(JobRecord record, requests_.Measure(request));
  request.device_uuid = record.device_uuid;
  RETURN_IF_ERROR(CheckRoom());
  ASSIGN_OR_RETURN(record, services_.jobs->Create(std::move(record)));
  auto job = std::make_shared<Job>();
  job->measure = std::move(request);
  job->listener = std::move(listener);
  job->control =
      std::make_shared<JobControl>(record, services_.jobs, services_.warn);
  Enqueue(std::move(job));
  return record;
}

bool JobQueue::HasSeveralDevices(const ProfileKey& key) {
  return AttachedOfClass(*services_.executors, key).size() > 1;
}

bool JobQueue::OnSameDevices(const JobRecord& a, const JobRecord& b) {
  if (a.whole_class && b.whole_class) return true;  // Their keys are equal.
  return a.device_uuid == b.device_uuid &&
         (a.whole_class == b.whole_class || !HasSeveralDevices(a.key));
}

std::shared_ptr<JobQueue::Job> JobQueue::FindAlike(const JobRecord& wanted) {
  std::lock_guard lock(mutex_);
  for (const auto& [id, job] : jobs_) {
    JobRecord record = job->control->record();
    // A job that is there can be told not to wait.
    record.options.even_if_busy = wanted.options.even_if_busy;
    if (!record.finished() && !job->control->cancelled() &&
        record.kind == wanted.kind && record.kernel == wanted.kernel &&
        record.key == wanted.key && OnSameDevices(record, wanted) &&
        record.options == wanted.options &&
        record.generation == wanted.generation &&
        job->workload_problems == wanted.workload_problems) {
      return job;
    }
  }
  return nullptr;
}

std::shared_ptr<JobQueue::Job> JobQueue::Find(uint64_t id) {
  std::lock_guard lock(mutex_);
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : it->second;
}

absl::Status JobQueue::CheckRoom() {
  std::lock_guard lock(mutex_);
  const auto unfinished = static_cast<size_t>(
      std::count_if(jobs_.begin(), jobs_.end(), [](const auto& entry) {
        return !entry.second->control->record().finished();
      }));
  if (unfinished < kMaxUnfinished) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      unfinished,
      " jobs wait or run: wait for some, or cancel them (wavetune jobs list, "
      "wavetune jobs cancel)"));
}

void JobQueue::Enqueue(std::shared_ptr<Job> job) {
  const JobRecord record = job->control->record();
  job->workload_problems = record.workload_problems;
  const std::string name = record.whole_class && HasSeveralDevices(record.key)
                               ? absl::StrCat("class ", record.key.silicon_key,
                                              " ", record.key.environment_key)
                               : record.device_uuid;
  std::lock_guard lock(mutex_);
  if (stopping_) job->control->Stop();
  ForgetOldJobs();
  jobs_[record.id] = job;
  std::unique_ptr<Worker>& worker = workers_[name];
  if (worker == nullptr) worker = std::make_unique<Worker>();
  worker->name = name;
  Insert(*worker, std::move(job));
  StartThread(worker.get());
  changed_.notify_all();
}

void JobQueue::Insert(Worker& worker, std::shared_ptr<Job> job) {
  const JobRecord record = job->control->record();
  const auto at =
      std::find_if(worker.queue.begin(), worker.queue.end(),
                   [&](const std::shared_ptr<Job>& other) {
                     return other->control->record().priority < record.priority;
                   });
  ShowPlace(at == worker.queue.begin() ? worker.running
                                       : (*(at - 1))->control->record().id,
            *job);
  if (at != worker.queue.end()) ShowPlace(record.id, **at);
  worker.queue.insert(at, std::move(job));
}

void JobQueue::ShowPlace(uint64_t before, Job& job) {
  if (before == 0) return;
  job.control->Update([&](JobRecord& record) {
    record.message = absl::StrCat(kWaitsForJob, before, " on the same device");
  });
}

void JobQueue::StartThread(Worker* worker) {
  if (worker->thread.joinable() || worker->on_spare || stopping_) return;
  try {
    worker->thread =
        services_.start_thread([this, worker] { RunWorker(worker); });
  } catch (const std::system_error& error) {
    // The spare thread takes them: this one as soon as it is free.
    const std::string text = NoThreadText(error.what());
    services_.warn(text);
    for (const std::shared_ptr<Job>& job : worker->queue) {
      job->control->Update([&](JobRecord& record) {
        record.message = absl::StrCat(kWaitsForThread, text);
      });
    }
  }
}

JobQueue::Worker* JobQueue::Unserved() {
  for (auto& [device, worker] : workers_) {
    if (!worker->thread.joinable() && !worker->queue.empty()) {
      return worker.get();
    }
  }
  return nullptr;
}

void JobQueue::ForgetOldJobs() {
  for (auto it = jobs_.begin();
       it != jobs_.end() && jobs_.size() >= kJobsInMemory;) {
    const JobControl& control = *it->second->control;
    it = control.record().finished() && !control.unsaved() ? jobs_.erase(it)
                                                           : std::next(it);
  }
}

void JobQueue::RunWorker(Worker* worker) {
  std::unique_lock lock(mutex_);
  while (!stopping_ && !worker->queue.empty()) RunNext(worker, lock);
  if (stopping_) return;  // Stop joins the thread.
  std::thread ended = std::exchange(ended_, std::move(worker->thread));
  workers_.erase(worker->name);
  lock.unlock();
  if (ended.joinable()) ended.join();
}

void JobQueue::RunSpare() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Worker* worker = nullptr;
    changed_.wait(lock, [&] {
      worker = Unserved();
      return stopping_ || worker != nullptr;
    });
    if (stopping_) return;
    StartThread(worker);  // There may be room by now.
    if (worker->thread.joinable()) continue;
    worker->on_spare = true;
    RunNext(worker, lock);
    worker->on_spare = false;
  }
}

void JobQueue::RunNext(Worker* worker, std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Job> job = std::move(worker->queue.front());
  worker->queue.pop_front();
  worker->running = job->control->record().id;
  lock.unlock();
  const bool ended = RunJob(worker, *job);
  lock.lock();
  worker->running = 0;
  job->waits = !ended;
  if (ended) return;
  const int priority = job->control->record().priority;
  worker->queue.insert(std::find_if(worker->queue.begin(), worker->queue.end(),
                                    [&](const std::shared_ptr<Job>& other) {
                                      return other->control->record().priority <
                                             priority;
                                    }),
                       job);
}

bool JobQueue::OthersWait(const Worker& worker, Clock::Duration since) {
  std::lock_guard lock(mutex_);
  // Those that wait themselves have their look now and then.
  return std::any_of(worker.queue.begin(), worker.queue.end(),
                     [&](const std::shared_ptr<Job>& other) {
                       return !other->waits ||
                              services_.clock->SteadyNow() - since >
                                  kLookInTurns;
                     });
}

bool JobQueue::RunJob(Worker* worker, Job& job) {
  JobControl& control = *job.control;
  bool runs = false;
  control.Update(
      [&](JobRecord& record) {
        // Cancelled while it was queued: Cancel finished it.
        if (record.finished()) return;
        record.state = JobState::kRunning;
        if (job.waits || absl::StartsWith(record.message, kWaitsForJob) ||
            absl::StartsWith(record.message, kWaitsForThread)) {
          record.message.clear();
        }
        runs = true;
      },
      job.waits ? JobControl::Persist::kNo : JobControl::Persist::kSynced);
  if (!runs) return true;
  services_.job_changed(control.record());
  const Clock::Duration began = services_.clock->SteadyNow();
  const absl::StatusOr<ProfileTurn> turn = services_.await_turn(
      &control, [&] { return OthersWait(*worker, began); });
  if (turn.ok() && !turn->later.empty()) {
    // On disk it runs: the next start goes on with it either way.
    control.Update([&](JobRecord& record) {
      record.state = JobState::kQueued;
      record.phase = JobPhase::kWaiting;
      record.message = turn->later;
    });
    return false;
  }
  absl::Status status = turn.status();
  const bool measures = status.ok() && turn->done_elsewhere.empty();
  if (status.ok() && !measures) {
    control.Update([&](JobRecord& record) {
      record.digest = turn->digest;
      record.message = turn->done_elsewhere;
    });
  }
  if (measures && turn->demand) TakeDemand(*turn->demand, control);
  // A job for a class takes its devices as it needs them.
  DeviceLease lease;
  if (measures && !control.record().whole_class &&
      !control.record().options.refit_only) {
    absl::StatusOr<DeviceLease> taken =
        AwaitLease(services_, &control, control.record().device_uuid);
    status = taken.status();
    if (taken.ok()) lease = *std::move(taken);
  }
  if (!status.ok() || !measures) {
    job.listener = {};
  } else if (control.record().kind == JobKind::kMeasure) {
    status = MeasuringJob(services_, &control, job.measure, job.listener).Run();
    job.listener = {};
  } else if (control.record().options.drift_probe) {
    status = DriftJob(services_, &control).Run();
  } else {
    status = ProfilingJob(services_, &control).Run();
  }
  if (!status.ok() && control.stopping() && !control.cancelled()) {
    // Stays RUNNING on disk: the next start goes on with it.
    control.Update([](JobRecord&) {}, JobControl::Persist::kSynced);
    return true;
  }
  Finish(job, status);
  return true;
}

void JobQueue::Finish(Job& job, const absl::Status& status) {
  const bool cancelled = job.control->cancelled();
  job.control->Update(
      [&](JobRecord& record) {
        record.finished_at_us = services_.clock->NowUs();
        record.seconds_left = 0;
        record.workload_problems = {};
        if (status.ok()) {
          record.state = JobState::kSucceeded;
          record.phase = JobPhase::kDone;
        } else if (cancelled) {
          record.state = JobState::kCancelled;
          record.message =
              absl::StrCat("cancelled; ", record.samples,
                           " samples are kept and used by the next job");
        } else {
          record.state = JobState::kFailed;
          record.message = BoundedText(status.message(), kMaxMessageBytes);
        }
      },
      JobControl::Persist::kSynced);
  {
    std::lock_guard lock(mutex_);
    job.workload_problems = {};
  }
  const JobRecord record = job.control->record();
  if (record.state == JobState::kFailed) {
    services_.warn(absl::StrCat("job ", record.id, " (kernel ", record.kernel,
                                ", device ", record.device_uuid,
                                ") failed: ", record.message));
  }
  services_.job_changed(record);
}

absl::StatusOr<JobRecord> JobQueue::Cancel(uint64_t id) {
  const std::shared_ptr<Job> job = Find(id);
  if (job == nullptr) {
    ASSIGN_OR_RETURN(const JobRecord record, services_.jobs->Get(id));
    return AlreadyEnded(record);
  }
  JobControl& control = *job->control;
  if (control.record().finished()) return AlreadyEnded(control.record());
  control.Cancel(services_.clock->NowUs());
  control.Update(
      [&](JobRecord& record) {
        if (record.state != JobState::kQueued) return;
        record.state = JobState::kCancelled;
        record.message = "cancelled before it ran";
        record.finished_at_us = services_.clock->NowUs();
      },
      JobControl::Persist::kSynced);
  const JobRecord record = control.record();
  if (record.state == JobState::kCancelled) services_.job_changed(record);
  return record;
}

absl::StatusOr<JobRecord> JobQueue::Get(uint64_t id) {
  if (const std::shared_ptr<Job> job = Find(id)) return job->control->record();
  return services_.jobs->Get(id);
}

bool JobQueue::InMemory(uint64_t id) { return Find(id) != nullptr; }

absl::StatusOr<std::vector<JobRecord>> JobQueue::List(int limit) {
  ASSIGN_OR_RETURN(std::vector<JobRecord> records, services_.jobs->List(limit));
  // Memory knows more than the disk: progress, and states that a full disk
  // refused.
  for (JobRecord& record : records) {
    if (const std::shared_ptr<Job> job = Find(record.id)) {
      record = job->control->record();
    }
  }
  return records;
}

absl::StatusOr<JobControl::Watch> JobQueue::Subscribe(
    uint64_t id, JobControl::Listener listener) {
  if (const std::shared_ptr<Job> job = Find(id)) {
    return job->control->Subscribe(std::move(listener));
  }
  ASSIGN_OR_RETURN(JobRecord record, services_.jobs->Get(id));
  return JobControl::Watch{std::move(record), nullptr};
}

JobQueue::Counts JobQueue::counts() {
  std::lock_guard lock(mutex_);
  Counts counts;
  for (const auto& [id, job] : jobs_) {
    const JobState state = job->control->record().state;
    counts.running += state == JobState::kRunning ? 1 : 0;
    counts.queued += state == JobState::kQueued ? 1 : 0;
  }
  return counts;
}

size_t JobQueue::workers() {
  std::lock_guard lock(mutex_);
  return workers_.size();
}

bool JobQueue::IsProfiling(const std::string& kernel,
                           const std::string& device_uuid) {
  std::lock_guard lock(mutex_);
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    const JobRecord record = entry.second->control->record();
    return !record.finished() && record.kind == JobKind::kReprofile &&
           record.kernel == kernel &&
           (record.device_uuid == device_uuid ||
            (record.whole_class &&
             IsOfClass(*services_.executors, device_uuid, record.key)));
  });
}

}  // namespace wavetune
