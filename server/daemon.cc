#include "server/daemon.h"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/periodic_task.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_spec.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/default_faults.h"
#include "server/catalog/defaults_in_use.h"
#include "server/catalog/disk_kernel_catalog.h"
#include "server/catalog/event_journal.h"
#include "server/catalog/event_texts.h"
#include "server/catalog/node_staleness.h"
#include "server/catalog/retention_task.h"
#include "server/catalog/shipped_tables.h"
#include "server/catalog/staleness_watch.h"
#include "server/catalog/table_admission.h"
#include "server/catalog/table_catalog.h"
#include "server/catalog/workload_catalog.h"
#include "server/catalog/wrong_tables.h"
#include "server/daemon_sockets.h"
#include "server/fleet/fleet_admin.h"
#include "server/fleet/fleet_member.h"
#include "server/jobs/drift_watch.h"
#include "server/jobs/job_queue.h"
#include "server/metrics/activity.h"
#include "server/metrics/metrics_endpoint.h"
#include "server/rpc/admin_handler.h"
#include "server/rpc/decision_handler.h"
#include "server/rpc/event_handler.h"
#include "server/rpc/memory_return.h"
#include "server/rpc/request_bounds.h"
#include "server/rpc/sample_handler.h"
#include "server/rpc/services.h"
#include "server/rpc/store_admin.h"
#include "server/rpc/table_admin.h"
#include "server/rpc/table_handler.h"
#include "server/rpc/usage_handler.h"
#include "server/rpc/work_queue.h"
#include "server/rpc/workload_handler.h"
#include "server/usage/usage_ledger.h"

namespace wavetune {
namespace {

// How long a stopping daemon waits for agents to end their batches.
constexpr std::chrono::seconds kBatchGrace{5};
// Requests that may wait for the disk, of each kind, and a user's share.
constexpr WorkQueue::Room kMostWaiting{.works = 128, .bytes = 16 * kMiB};
constexpr WorkQueue::Room kMostOfUser{.works = 32, .bytes = 4 * kMiB};

// The newest, among which a start looks for what drift probes found.
constexpr int kJobsRemembered = 1000;
// How soon an edited kernel, or a device of another driver, is noticed.
constexpr std::chrono::milliseconds kSurroundingsInterval{1000};
// How long a list of kernels waits for a look at the disk, which may be slow.
constexpr std::chrono::milliseconds kRefreshPatience{250};

void Warn(const std::string& text) { Log(LogLevel::kWarning, "job", text); }
void WarnOfKernels(const std::string& text) {
  Log(LogLevel::kWarning, "kernels", text);
}
void LogEvent(const EventRecord& event) {
  if (event.kind == EventKind::kConfigReloaded) return;  // TellOfReload
  Log(event.warning ? LogLevel::kWarning : LogLevel::kInfo, "event",
      event.text);
}
void LogOfStore(const std::string& text) {
  Log(LogLevel::kInfo, "store", text);
}
void WarnOfUsage(const std::string& text) {
  Log(LogLevel::kWarning, "usage", text);
}

void LogOfFleet(bool warning, const std::string& text) {
  Log(warning ? LogLevel::kWarning : LogLevel::kInfo, "fleet", text);
}

void GiveMemoryBack() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

class Daemon::Impl {
 public:
  Impl(const DaemonStores& stores, const DaemonOptions& options)
      : options_(options),
        facts_(stores.facts),
        clock_(options.clock ? options.clock : &SystemClock()),
        events_(
            stores.events, clock_,
            [this](WorkQueue::Work work) {
              usage_writes_.RunAlways(std::move(work));
            },
            [this](const EventRecord& event) {
              activity_.Add(event);
              LogEvent(event);
            }),
        tables_(stores.tables, Warn),
        devices_(stores.devices, clock_,
                 [this](WorkQueue::Work work) {
                   writes_.RunAlways(std::move(work));
                 }),
        kernels_(options.kernels_dirs, WarnOfKernels),
        samples_(*stores.samples),
        default_faults_(stores.samples,
                        [this](WorkQueue::Work work) {
                          reads_.RunAlways(std::move(work));
                        }),
        defaults_({.tables = &tables_,
                   .devices = &devices_,
                   .kernels = &kernels_,
                   .faults = &default_faults_}),
        usage_(
            stores.usage, clock_,
            {.on_report =
                 [this](const UsageReport& report) { activity_.Add(report); }},
            WarnOfUsage),
        workloads_(stores.workloads, clock_, absl::StrCat(::geteuid())),
        jobs_(MakeJobServices(stores)),
        drift_({.tables = &tables_,
                .kernels = &kernels_,
                .executors = &devices_,
                .jobs = &jobs_,
                .clock = clock_,
                .warn = Warn}),
        table_handler_(stores.facts.store_id, &tables_, &devices_, &kernels_,
                       &default_faults_),
        decision_handler_(&tables_, &devices_, &kernels_, &default_faults_),
        staleness_(&devices_, &kernels_),
        staleness_watch_(&tables_, &staleness_,
                         [this](const TableRecord& table) {
                           return options_.auto_drift &&
                                  drift_.WillJudge(table);
                         }),
        admission_(&devices_, &kernels_, stores.samples, clock_),
        shipped_(
            {.tables = &tables_,
             .devices = &devices_,
             .kernels = &kernels_,
             .admission = &admission_,
             .warn = WarnOfKernels,
             .refused =
                 [this](const EventRecord& event) { events_.Record(event); }}),
        fleet_({.membership = options.fleet,
                .version = options.version,
                .tables = &tables_,
                .devices = &devices_,
                .kernels = &kernels_,
                .admission = &admission_,
                .accepted = stores.fleet_heads,
                .jobs = &jobs_,
                .usage = &usage_,
                .workloads = &workloads_,
                .events = &events_,
                .clock = clock_,
                .log = LogOfFleet}),
        status_handler_(MakeStatusOptions(stores)),
        sample_handler_(&tables_, stores.samples, clock_),
        admin_handler_(&jobs_, &kernels_,
                       [this](const ReprofileRequest& request,
                              const RolloutPlan& rollout) {
                         return fleet_.AskFor(request, rollout);
                       }),
        table_admin_({.store_id = stores.facts.store_id,
                      .tables = &tables_,
                      .devices = &devices_,
                      .kernels = &kernels_,
                      .samples = stores.samples,
                      .clock = clock_,
                      .events = &events_,
                      .why_halted =
                          [this](const TableRecord& table) {
                            FleetTables* const fleet = fleet_.tables();
                            return fleet == nullptr ? std::string()
                                                    : fleet->WhyHalted(table);
                          }}),
        fleet_admin_({.fleet = [this] { return fleet_.tables(); },
                      .tables = &tables_,
                      .devices = &devices_,
                      .kernels = &kernels_}),
        retention_({.tables = &tables_,
                    .table_store = stores.tables,
                    .jobs = stores.jobs,
                    .samples = stores.samples,
                    .devices = &devices_,
                    .kernels = &kernels_,
                    .clock = clock_,
                    .limits = options.retention,
                    .log = LogOfStore}),
        store_admin_({.maintenance = stores.maintenance,
                      .backup_folder = options.backup_folder,
                      .clock = clock_,
                      .log = LogOfStore,
                      .what_would_go = [this] { return retention_.Lines(); }}),
        event_handler_(&events_),
        workload_handler_(&workloads_, &kernels_, clock_),
        top_ups_({.ledger = &usage_,
                  .jobs = &jobs_,
                  .tables = &tables_,
                  .kernels = &kernels_,
                  .executors = &devices_,
                  .clock = clock_,
                  .warn = WarnOfUsage},
                 options.top_ups),
        usage_handler_({.ledger = &usage_,
                        .top_ups = &top_ups_,
                        .tables = &tables_,
                        .devices = &devices_,
                        .kernels = &kernels_,
                        .clock = clock_}),
        sockets_(options_) {}

  ~Impl() { Stop(); }

  absl::Status Start() {
    RETURN_IF_ERROR(sockets_.Claim());
    RETURN_IF_ERROR(kernels_.CheckFolders());
    kernels_.Reload();
    RETURN_IF_ERROR(events_.Load());
    RETURN_IF_ERROR(tables_.Load());
    ListenForEvents();
    WithdrawWrongTables(samples_, tables_, clock_->NowUs(), Warn);
    RETURN_IF_ERROR(devices_.Load());
    admission_.LeaveOutIllegal(&tables_, Warn);
    shipped_.Look();
    RETURN_IF_ERROR(usage_.Load());
    RETURN_IF_ERROR(workloads_.Load());
    defaults_.Load();
    RETURN_IF_ERROR(fleet_.Start());
    RETURN_IF_ERROR(jobs_.Start());
    RememberDriftProbes();
    surroundings_.Start(kSurroundingsInterval, [this] {
      kernels_.Refresh();
      shipped_.Look();
      staleness_watch_.Look();
      events_.TellHeldBack();
      if (options_.auto_drift) drift_.Look();
      defaults_.Look();
      memory_.Look(sockets_.TakeEndedStreams(), jobs_ended_.exchange(0));
    });
    RETURN_IF_ERROR(sockets_.Listen({
        .reader = [this](StreamSet* s) { return MakeReaderServices(s); },
        .agent = [this](StreamSet* s) { return MakeAgentServices(s); },
        .admin = [this](StreamSet* s) { return MakeAdminServices(s); },
    }));
    sockets_.TellReady();
    TellOfStore(facts_.write_problem());
    store_looks_.Start(options_.store_look_interval, [this] { LookAtStore(); });
    retention_runs_.Start(RetentionTask::kLookInterval,
                          [this] { retention_.RunDaily(); });
    sockets_.Watch();
    return ShowMetrics();
  }

  void Reload() {
    kernels_.Reload();
    admission_.LeaveOutIllegal(&tables_, Warn);
    sockets_.LookAtAccess();
  }

  void Change(const DaemonOptions& options) {
    Change(options, *job_settings_);
    top_ups_.SetOptions(options.top_ups);
    fleet_.Trust(options.fleet.trust);
  }

  void TellOfReload(const std::string& text, bool failed) {
    events_.Record(
        {.kind = EventKind::kConfigReloaded, .warning = failed, .text = text});
  }

  std::string tcp_address() const { return sockets_.tcp_address(); }
  int metrics_port() const {
    return metrics_ == nullptr ? 0 : metrics_->port();
  }

  void Stop() {
    if (std::exchange(stopped_, true)) return;
    fleet_.Stop();
    metrics_ = nullptr;
    store_looks_.Stop();
    retention_runs_.Stop();
    store_admin_.Stop();
    sockets_.StopServing();
    // Agents get the chance to end their batches in order; then their streams
    // end, which ends the batches.
    std::future<void> jobs =
        std::async(std::launch::async, [this] { jobs_.Stop(); });
    jobs.wait_for(kBatchGrace);
    sockets_.EndStreams();
    sockets_.EndCalls();
    jobs.wait();
    sockets_.Close();
    surroundings_.Stop();  // It has work done by what ends before it.
    usage_.Flush();
    events_.TellHeldBack(/*all=*/true);
    events_.Save().IgnoreError();  // What failed was logged when it happened.
  }

 private:
  absl::Status ShowMetrics() {
    if (options_.metrics_address.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(
        metrics_,
        MetricsEndpoint::Start(
            options_.metrics_address,
            {.version = options_.version,
             .store = facts_,
             .tables = &tables_,
             .staleness = &staleness_,
             .devices = &devices_,
             .jobs = &jobs_,
             .samples = &samples_,
             .activity = &activity_,
             .clock = clock_,
             .watchers = [this] { return table_handler_.watchers(); },
             .slow_watchers = [this] { return table_handler_.slow_watchers(); },
             .certificate_until_s =
                 [this] { return sockets_.certificate_until_s(); },
             .newest_backup_s = [this] { return store_admin_.NewestBackupS(); },
             .fleet = [this] { return fleet_.View(); }}));
    return absl::OkStatus();
  }

  Services MakeReaderServices(StreamSet* streams) {
    return ReaderServices({.tables = &table_handler_,
                           .decisions = &decision_handler_,
                           .status = &status_handler_,
                           .samples = &sample_handler_,
                           .events = &event_handler_,
                           .usage = &usage_handler_,
                           .workloads = &workload_handler_,
                           .read_work = &reads_,
                           .usage_work = &usage_writes_,
                           .peers = sockets_.peers(),
                           .listing_patience = options_.listing_patience},
                          streams);
  }

  Services MakeAgentServices(StreamSet* streams) {
    return AgentServices(&devices_,
                         {.program_version = options_.version,
                          .heartbeat_timeout_s = options_.heartbeat_timeout_s},
                         streams, sockets_.peers());
  }

  Services MakeAdminServices(StreamSet* streams) {
    return AdminServices({.jobs = &admin_handler_,
                          .tables = &table_admin_,
                          .workloads = &workload_handler_,
                          .store = &store_admin_,
                          .fleet = &fleet_admin_},
                         {.writes = &writes_, .reads = &reads_}, streams,
                         sockets_.peers());
  }

  static void Change(const DaemonOptions& options, JobSettings& settings) {
    settings.default_budget_s = options.default_budget_s;
    settings.even_if_busy = options.even_if_busy;
    settings.generations_kept = options.generations_kept;
  }

  JobServices MakeJobServices(const DaemonStores& stores) {
    JobServices services;
    services.samples = stores.samples;
    services.jobs = stores.jobs;
    services.devices = stores.devices;
    services.tables = &tables_;
    services.kernels = &kernels_;
    services.executors = &devices_;
    services.clock = clock_;
    services.profiling = options_.profiling;
    services.warn = Warn;
    services.used_problems = [this](const std::string& kernel,
                                    const std::string& silicon_key) {
      return usage_.Problems(kernel, silicon_key);
    };
    services.workload_problems = [this](const KernelSpec& spec) {
      return workloads_.Problems(spec);
    };
    services.candidates_changed = [this](const ProfileKey& key) {
      defaults_.Reload(key);
    };
    services.await_turn = [this](JobControl* job,
                                 const JobServices::OthersWait& others_wait) {
      return fleet_.Await(job, others_wait);
    };
    services.job_changed = [this](const JobRecord& job) {
      activity_.Add(job);
      events_.Record(EventOf(job));
      fleet_.OnJob(job);
      if (job.finished()) ++jobs_ended_;
    };
    services.probe_judged = [this](const JobRecord& job) {
      activity_.AddDriftProbe(job);
      events_.Record(DriftProbeEvent(job));
    };
    services.table_refused = [this](const RejectedTable& table) {
      events_.Record(EventOf(table));
    };
    services.device_rated = [this](const JobRecord&, const std::string& uuid,
                                   const DeviceRatio& ratio) {
      devices_.SetClassRatio(uuid, ratio);
    };
    services.agent_wait_s = options_.agent_wait_s;
    services.hot_wait_s = options_.hot_wait_s;
    services.settings = job_settings_;
    Change(options_, *services.settings);
    return services;
  }

  StatusHandler::Options MakeStatusOptions(const DaemonStores& stores) {
    StatusHandler::Options options;
    options.version = options_.version;
    options.store = stores.facts;
    options.samples = stores.samples;
    options.tables = &tables_;
    options.devices = &devices_;
    options.kernels = &kernels_;
    options.jobs = &jobs_;
    options.clock = clock_;
    options.default_faults = &default_faults_;
    options.refresh_kernels = [this] {
      surroundings_.RunSoon(kRefreshPatience);
    };
    options.watchers = [this] { return table_handler_.watchers(); };
    options.fleet = [this] { return fleet_.View(); };
    options.fleet_summary = [this] { return fleet_.Summarise(); };
    return options;
  }

  // What other parts do becomes events.
  void ListenForEvents() {
    table_changes_ = tables_
                         .Subscribe(tables_.snapshot()->revision,
                                    [this](const TableChange& change) {
                                      events_.Record(EventOf(change));
                                    })
                         .handle;
    devices_.SetListener([this](const AgentDirectory::Change& change) {
      events_.Record(EventOf(change));
    });
  }

  // What the last drift probes found stays known over a restart.
  void RememberDriftProbes() {
    const absl::StatusOr<std::vector<JobRecord>> jobs =
        jobs_.List(kJobsRemembered);
    if (!jobs.ok()) return Warn(std::string(jobs.status().message()));
    for (auto job = jobs->rbegin(); job != jobs->rend(); ++job)
      activity_.AddDriftProbe(*job);
  }

  // What could not be stored is stored as soon as it can be.
  void LookAtStore() {
    const absl::Status status = facts_.tend();
    if (status.ok()) {
      jobs_.SaveJobs();
      devices_.SaveDevices();
      if (const absl::Status saved = tables_.SaveWithdrawals(); !saved.ok()) {
        Warn(absl::StrCat("a withdrawn table: ", saved.message()));
      }
      if (store_failed_) usage_.Flush();
      if (const absl::Status saved = events_.Save(); !saved.ok()) {
        Warn(absl::StrCat("events: ", saved.message()));
      }
    }
    if (store_failed_ == status.ok()) events_.Record(StoreEvent(status));
    // Whoever hears that it serves may rely on what was answered meanwhile.
    TellOfStore(status);
    store_failed_ = !status.ok();
  }

  void TellOfStore(const absl::Status& status) {
    sockets_.TellOfStore(status.ok());
    options_.tell_state(
        status.ok() ? absl::StrCat("serves ", tables_.snapshot()->tables.size(),
                                   " tables")
                    : absl::StrCat("serves tables, but the store cannot be "
                                   "written: ",
                                   status.message()));
  }

  const DaemonOptions options_;
  const StoreFacts facts_;
  Clock* const clock_;
  Activity activity_;
  EventJournal events_;
  TableCatalog tables_;
  AgentDirectory devices_;
  DiskKernelCatalog kernels_;
  SampleStore& samples_;
  DefaultFaults default_faults_;
  DefaultsInUse defaults_;
  UsageLedger usage_;
  WorkloadCatalog workloads_;
  const std::shared_ptr<JobSettings> job_settings_ =
      std::make_shared<JobSettings>();
  std::atomic<size_t> jobs_ended_ = 0;  // Since memory_ looked.
  JobQueue jobs_;
  DriftWatch drift_;
  TableHandler table_handler_;
  DecisionHandler decision_handler_;
  NodeStaleness staleness_;
  StalenessWatch staleness_watch_;
  TableAdmission admission_;
  ShippedTables shipped_;
  FleetMember fleet_;
  PeriodicTask surroundings_;
  StatusHandler status_handler_;
  SampleHandler sample_handler_;
  AdminHandler admin_handler_;
  TableAdmin table_admin_;
  FleetAdmin fleet_admin_;
  RetentionTask retention_;
  StoreAdmin store_admin_;
  EventHandler event_handler_;
  TableCatalog::Handle table_changes_;
  WorkloadHandler workload_handler_;
  UsageTopUps top_ups_;
  UsageHandler usage_handler_;
  DaemonSockets sockets_;
  MemoryReturn memory_{GiveMemoryBack};
  bool store_failed_ = false;  // At the last look.
  PeriodicTask store_looks_;
  PeriodicTask retention_runs_;
  std::unique_ptr<MetricsEndpoint> metrics_;  // nullptr: nobody may ask.
  bool stopped_ = false;
  // Last: what waits is done before anything else goes. Several, so that
  // reports of use, which anybody may send, never keep an operator waiting, and
  // what is only read waits for no fsync. What the others do may become events,
  // which the first stores: it goes after them.
  WorkQueue usage_writes_{kMostWaiting, kMostOfUser};
  WorkQueue reads_{kMostWaiting, kMostOfUser};
  WorkQueue writes_{kMostWaiting, kMostOfUser};
};

Daemon::Daemon(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Daemon::~Daemon() = default;

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(
    const DaemonStores& stores, const DaemonOptions& options) {
  auto impl = std::make_unique<Impl>(stores, options);
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Daemon>(new Daemon(std::move(impl)));
}

absl::Status Daemon::Check(const DaemonOptions& options) {
  RETURN_IF_ERROR(DaemonSockets::Check(options));
  return DiskKernelCatalog(options.kernels_dirs, WarnOfKernels).CheckFolders();
}

void Daemon::Reload() { impl_->Reload(); }

void Daemon::Change(const DaemonOptions& options) { impl_->Change(options); }

void Daemon::TellOfReload(const std::string& text, bool failed) {
  impl_->TellOfReload(text, failed);
}

std::string Daemon::tcp_address() const { return impl_->tcp_address(); }

int Daemon::metrics_port() const { return impl_->metrics_port(); }

void Daemon::Stop() { impl_->Stop(); }

}  // namespace wavetune
