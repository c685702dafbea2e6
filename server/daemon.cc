#include "server/daemon.h"

#include <malloc.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/periodic_task.h"
#include "base/status_macros.h"
#include "base/tls_files.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "model/kernel/kernel_spec.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/default_faults.h"
#include "server/catalog/disk_kernel_catalog.h"
#include "server/catalog/event_journal.h"
#include "server/catalog/event_texts.h"
#include "server/catalog/retention_task.h"
#include "server/catalog/shipped_tables.h"
#include "server/catalog/staleness_watch.h"
#include "server/catalog/table_admission.h"
#include "server/catalog/table_catalog.h"
#include "server/catalog/table_judge.h"
#include "server/catalog/workload_catalog.h"
#include "server/catalog/wrong_tables.h"
#include "server/jobs/drift_watch.h"
#include "server/jobs/job_queue.h"
#include "server/metrics/activity.h"
#include "server/metrics/metrics_endpoint.h"
#include "server/rpc/admin_handler.h"
#include "server/rpc/connection_acceptor.h"
#include "server/rpc/connection_bounds.h"
#include "server/rpc/deafness_probe.h"
#include "server/rpc/decision_handler.h"
#include "server/rpc/event_handler.h"
#include "server/rpc/memory_return.h"
#include "server/rpc/peer_users.h"
#include "server/rpc/request_bounds.h"
#include "server/rpc/sample_handler.h"
#include "server/rpc/services.h"
#include "server/rpc/socket_lock.h"
#include "server/rpc/store_admin.h"
#include "server/rpc/table_admin.h"
#include "server/rpc/table_handler.h"
#include "server/rpc/tcp_socket.h"
#include "server/rpc/tls_access.h"
#include "server/rpc/tls_credentials.h"
#include "server/rpc/unix_socket.h"
#include "server/rpc/usage_handler.h"
#include "server/rpc/user_servers.h"
#include "server/rpc/work_queue.h"
#include "server/rpc/workload_handler.h"
#include "server/usage/usage_ledger.h"

namespace wavetune {
namespace {

// How long a stopping daemon waits for agents to end their batches, and for
// calls to end.
constexpr std::chrono::seconds kBatchGrace{5};
constexpr std::chrono::seconds kCallGrace{1};
// How long a daemon that nobody can reach waits for its log.
constexpr std::chrono::seconds kLogPatience{2};
// The servers of each socket, and what one may hold of messages on their way:
// beyond it gRPC ends streams. A thousand watchers take some 40 MiB of it. Who
// may use agent and admin socket, or has a certificate, is trusted not to hurt
// others there. Together 464 MiB: below what the unit may take (MemoryMax,
// deploy/systemd).
constexpr UserServers::Options kReaderServers{
    .servers = 4,
    .max_message_bytes = kMaxReaderBytes,
    .quota_bytes = 80 * kMiB};
constexpr UserServers::Options kAgentServers{
    .servers = 1,
    .max_message_bytes = kMaxAgentBytes,
    .quota_bytes = 48 * kMiB};
constexpr UserServers::Options kAdminServers{
    .servers = 1,
    .max_message_bytes = kMaxAdminBytes,
    .quota_bytes = 32 * kMiB,
    .reflection = true};
constexpr UserServers::Options kTcpServers{.servers = 1,
                                           .max_message_bytes = kMaxReaderBytes,
                                           .quota_bytes = 64 * kMiB};
static_assert(kMaxReaderBytes >= kMaxAgentBytes &&
              kMaxReaderBytes >= kMaxAdminBytes);
// Requests that may wait for the disk, of each kind, and a user's share.
constexpr WorkQueue::Room kMostWaiting{.works = 128, .bytes = 16 * kMiB};
constexpr WorkQueue::Room kMostOfUser{.works = 32, .bytes = 4 * kMiB};

// What grpc.health.v1 knows the daemon's parts by (docs/limits.md). Ready: can
// serve tables, even stale ones, or with a full disk; "" says the same. Live:
// answers at all, also while it stops. The store: not serving while nothing can
// be written to it.
constexpr char kReadyHealth[] = "wavetune.ready";
constexpr char kLiveHealth[] = "wavetune.live";
constexpr char kStoreHealth[] = "wavetune.store";

// The newest, among which a start looks for what canaries found.
constexpr int kJobsRemembered = 1000;
// How soon an edited kernel, or a device of another driver, is noticed.
constexpr std::chrono::milliseconds kSurroundingsInterval{1000};
// How long a list of kernels waits for a look at the disk, which may be slow.
constexpr std::chrono::milliseconds kRefreshPatience{250};

constexpr mode_t kEveryone = 0666;
constexpr mode_t kOwnerAndGroup = 0660;

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

void WarnOfSocket(const std::string& kind, const std::string& text) {
  LogOfKind(LogLevel::kWarning, "socket", kind, text);
}

void GiveMemoryBack() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

// A daemon that nobody can reach is worse than none: whoever started it starts
// it anew. The store is as safe as at a crash, of which it loses nothing.
[[noreturn]] void EndWithReason(const std::string& reason) {
  // A log that takes nothing may be what a thread hangs in: it keeps the daemon
  // from ending no longer than this.
  pollfd log{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  const auto patience = std::chrono::milliseconds(kLogPatience);
  if (::poll(&log, 1, static_cast<int>(patience.count())) == 1)
    Log(LogLevel::kError, "socket", absl::StrCat(reason, ". The daemon ends"));
  std::_Exit(EXIT_FAILURE);
}

void TellOfAccess(LogLevel level, const std::string& text) {
  Log(level, "tls", text);
}

// What is behind a socket.
struct Role {
  ConnectionBounds bounds;
  UserServers::Options servers;
  ConnectionKind kind = UnixConnections();
  std::shared_ptr<grpc::ServerCredentials> credentials;  // Over TCP.
};

// One socket with its services.
struct Listener {
  std::unique_ptr<UserServers> servers;
  std::unique_ptr<ConnectionAcceptor> acceptor;
};

absl::Status Listen(absl::StatusOr<ListeningSocket> socket, const Role& role,
                    const UserServers::MakeServices& make_services,
                    PeerUsers* peers, Listener* listener) {
  RETURN_IF_ERROR(socket.status());
  ASSIGN_OR_RETURN(
      listener->servers,
      UserServers::Start(role.servers, make_services, role.credentials));
  ASSIGN_OR_RETURN(
      listener->acceptor,
      ConnectionAcceptor::Start(
          *std::move(socket),
          {.bounds = role.bounds,
           .peers = peers,
           .serve = [servers = listener->servers.get()](
                        int fd, uid_t user) { servers->Serve(fd, user); },
           .warn = WarnOfSocket,
           .give_up = EndWithReason,
           .kind = role.kind}));
  return absl::OkStatus();
}

// Half of what TCP needs is a mistake, not a wish for less. Certificate, key
// and authority alone are none: clients have variables of these names, too.
absl::Status CheckComplete(const TcpOptions& tcp) {
  if (tcp.address.empty() && tcp.files.policy.empty()) return absl::OkStatus();
  const std::vector<std::pair<const char*, const std::string*>> options = {
      {"--listen-tcp", &tcp.address},
      {"--tls-cert", &tcp.files.tls.cert},
      {"--tls-key", &tcp.files.tls.key},
      {"--tls-ca", &tcp.files.tls.ca},
      {"--authz-policy", &tcp.files.policy}};
  std::vector<std::string> missing;
  for (const auto& [name, value] : options) {
    if (value->empty()) missing.emplace_back(name);
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "TCP needs --listen-tcp, --tls-cert, --tls-key, --tls-ca and "
      "--authz-policy; missing: ",
      absl::StrJoin(missing, ", ")));
}

// Returns whether nobody is told the same place twice. Port 0 is any.
absl::Status CheckApart(const DaemonOptions& options) {
  std::set<std::string> places;
  for (const std::string& place :
       {options.reader_socket, options.agent_socket, options.admin_socket,
        options.tcp.address, options.metrics_address}) {
    if (place.empty() || absl::EndsWith(place, ":0")) continue;
    if (places.insert(place).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "two listeners cannot share ", place,
        ": give each of --reader-socket, --agent-socket, --admin-socket, "
        "--listen-tcp and --metrics-address a place of its own"));
  }
  return absl::OkStatus();
}

absl::Status CheckListeners(const DaemonOptions& options) {
  for (const std::string& path :
       {options.reader_socket, options.agent_socket, options.admin_socket}) {
    RETURN_IF_ERROR(CheckSocketPath(path));
  }
  RETURN_IF_ERROR(CheckComplete(options.tcp));
  if (!options.tcp.address.empty()) {
    RETURN_IF_ERROR(CheckTcpAddress(options.tcp.address));
    ASSIGN_OR_RETURN(const auto access,
                     TlsAccess::Open(options.tcp.files, TellOfAccess));
    // A daemon starts all the same, since the certificate can be replaced while
    // it runs; until then nobody comes in.
    RETURN_IF_ERROR(CheckValid(*access->material().material,
                               options.tcp.files.tls.cert, absl::Now()));
  }
  if (!options.metrics_address.empty()) {
    RETURN_IF_ERROR(MetricsEndpoint::CheckAddress(options.metrics_address));
    RETURN_IF_ERROR(CheckTcpAddress(options.metrics_address));
  }
  return CheckApart(options);
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
        judge_(&devices_, &kernels_),
        staleness_(&tables_, &judge_),
        admission_(&devices_, &kernels_, stores.samples, clock_),
        shipped_({.tables = &tables_,
                  .devices = &devices_,
                  .kernels = &kernels_,
                  .admission = &admission_,
                  .warn = WarnOfKernels}),
        status_handler_(MakeStatusOptions(stores)),
        sample_handler_(&tables_, stores.samples, clock_),
        admin_handler_(&jobs_, &kernels_),
        table_admin_({.store_id = stores.facts.store_id,
                      .tables = &tables_,
                      .devices = &devices_,
                      .kernels = &kernels_,
                      .samples = stores.samples,
                      .clock = clock_,
                      .events = &events_}),
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
                        .clock = clock_}) {}

  ~Impl() { Stop(); }

  absl::Status Start() {
    RETURN_IF_ERROR(CheckComplete(options_.tcp));
    if (!options_.tcp.address.empty()) {
      ASSIGN_OR_RETURN(access_,
                       TlsAccess::Open(options_.tcp.files, TellOfAccess));
    }
    for (const std::string& path :
         {options_.reader_socket, options_.agent_socket,
          options_.admin_socket}) {
      ASSIGN_OR_RETURN(SocketLock lock, SocketLock::Take(path));
      socket_locks_.push_back(std::move(lock));
      RETURN_IF_ERROR(PrepareSocketPath(path));
    }
    RETURN_IF_ERROR(kernels_.CheckFolders());
    kernels_.Reload();
    RETURN_IF_ERROR(events_.Load());
    RETURN_IF_ERROR(tables_.Load());
    ListenForEvents();
    WithdrawWrongTables(samples_, tables_, clock_->NowUs(), Warn);
    RETURN_IF_ERROR(devices_.Load());
    shipped_.Look();
    RETURN_IF_ERROR(usage_.Load());
    RETURN_IF_ERROR(workloads_.Load());
    LoadDefaultFaults();
    RETURN_IF_ERROR(jobs_.Start());
    RememberCanaries();
    surroundings_.Start(kSurroundingsInterval, [this] {
      kernels_.Refresh();
      shipped_.Look();
      staleness_.Look();
      events_.TellHeldBack();
      if (options_.auto_drift) drift_.Look();
      ExpectDefaultFaults();
      size_t ended = 0;
      for (StreamSet* streams : AllStreams()) ended += streams->TakeEnded();
      memory_.Look(ended);
    });
    grpc::EnableDefaultHealthCheckService(true);
    RETURN_IF_ERROR(
        ListenEverywhere(BoundsFor(options_.descriptors, access_ != nullptr)));
    TellReady();
    TellOfStore(facts_.write_problem());
    store_looks_.Start(options_.store_look_interval, [this] { LookAtStore(); });
    retention_runs_.Start(RetentionTask::kLookInterval,
                          [this] { retention_.RunDaily(); });
    listener_looks_.Start(DeafnessProbe::kInterval,
                          [this] { LookAtListeners(); });
    return ShowMetrics();
  }

  void Reload() {
    kernels_.Reload();
    if (access_ != nullptr) LookAtAccess();
  }

  void Change(const DaemonOptions& options) {
    Change(options, *job_settings_);
    top_ups_.SetOptions(options.top_ups);
  }

  void TellOfReload(const std::string& text, bool failed) {
    events_.Record(
        {.kind = EventKind::kConfigReloaded, .warning = failed, .text = text});
  }

  std::string tcp_address() const { return tcp_address_; }
  int metrics_port() const {
    return metrics_ == nullptr ? 0 : metrics_->port();
  }

  void Stop() {
    if (std::exchange(stopped_, true)) return;
    metrics_ = nullptr;
    store_looks_.Stop();
    retention_runs_.Stop();
    store_admin_.Stop();
    listener_looks_.Stop();
    access_looks_.Stop();
    for (Listener* listener : Listeners()) {
      listener->servers->SetNothingServing();
      listener->servers->SetServing(kLiveHealth, true);
    }
    // Agents get the chance to end their batches in order; then their streams
    // end, which ends the batches.
    std::future<void> jobs =
        std::async(std::launch::async, [this] { jobs_.Stop(); });
    jobs.wait_for(kBatchGrace);
    for (StreamSet* streams : AllStreams()) {
      streams->EndAll(
          grpc::Status(grpc::StatusCode::UNAVAILABLE, "the daemon stops"));
    }
    for (Listener* listener : Listeners()) {
      listener->acceptor.reset();
    }
    const auto deadline = std::chrono::system_clock::now() + kCallGrace;
    for (Listener* listener : Listeners()) {
      listener->servers->Shutdown(deadline);
    }
    jobs.wait();
    for (Listener* listener : Listeners()) {
      listener->servers.reset();
    }
    surroundings_.Stop();  // It has work done by what ends before it.
    usage_.Flush();
    events_.TellHeldBack(/*all=*/true);
    events_.Save().IgnoreError();  // What failed was logged when it happened.
  }

 private:
  absl::Status ShowMetrics() {
    if (options_.metrics_address.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(
        metrics_, MetricsEndpoint::Start(
                      options_.metrics_address,
                      {.version = options_.version,
                       .store = facts_,
                       .tables = &tables_,
                       .judge = &judge_,
                       .devices = &devices_,
                       .jobs = &jobs_,
                       .samples = &samples_,
                       .activity = &activity_,
                       .clock = clock_,
                       .watchers = [this] { return table_handler_.watchers(); },
                       .slow_watchers =
                           [this] { return table_handler_.slow_watchers(); }}));
    return absl::OkStatus();
  }

  absl::Status ListenEverywhere(const SocketBounds& bounds) {
    RETURN_IF_ERROR(Listen(
        ListeningSocket::Listen(
            options_.reader_socket,
            options_.reader_group ? kOwnerAndGroup : kEveryone,
            options_.reader_group),
        {bounds.reader, kReaderServers},
        [this] { return MakeReaderServices(&reader_streams_); }, &peers_,
        &reader_));
    RETURN_IF_ERROR(Listen(
        ListeningSocket::Listen(options_.agent_socket, kOwnerAndGroup,
                                options_.agent_group),
        {bounds.agent, kAgentServers},
        [this] { return MakeAgentServices(&agent_streams_); }, &peers_,
        &agent_));
    RETURN_IF_ERROR(Listen(
        ListeningSocket::Listen(options_.admin_socket, kOwnerAndGroup,
                                options_.admin_group),
        {bounds.admin, kAdminServers},
        [this] { return MakeAdminServices(&admin_streams_); }, &peers_,
        &admin_));
    return access_ == nullptr ? absl::OkStatus() : ListenOverTcp(bounds.tcp);
  }

  // The services of all roles: the policy says who may call which.
  absl::Status ListenOverTcp(const ConnectionBounds& bounds) {
    absl::StatusOr<ListeningSocket> socket = ListenOnTcp(options_.tcp.address);
    if (socket.ok()) tcp_address_ = socket->path();
    UserServers::Options servers = kTcpServers;
    servers.ping_after = options_.tcp.ping_after;
    const auto make_services = [this] {
      Services services = MakeReaderServices(&tcp_reader_streams_);
      const auto add = [&services](Services more) {
        std::move(more.begin(), more.end(), std::back_inserter(services));
      };
      add(MakeAgentServices(&tcp_agent_streams_));
      add(MakeAdminServices(&tcp_admin_streams_));
      return services;
    };
    RETURN_IF_ERROR(Listen(
        std::move(socket),
        {bounds, servers, TlsConnections(), MakeTlsCredentials(access_.get())},
        make_services, &peers_, &tcp_));
    access_looks_.Start(options_.tcp.look_interval, [this] { LookAtAccess(); });
    return absl::OkStatus();
  }

  // Those that have been started.
  std::vector<Listener*> Listeners() {
    std::vector<Listener*> started;
    for (Listener* listener : {&reader_, &agent_, &admin_, &tcp_}) {
      if (listener->servers != nullptr) started.push_back(listener);
    }
    return started;
  }

  // Streams were judged when they began: an agent's whole right is one.
  void LookAtAccess() {
    if (!access_->Look(absl::Now())) return;
    for (StreamSet* streams :
         {&tcp_reader_streams_, &tcp_agent_streams_, &tcp_admin_streams_}) {
      streams->EndAll({grpc::StatusCode::UNAVAILABLE,
                       "who may call has changed: connect anew"});
    }
  }

  std::vector<StreamSet*> AllStreams() {
    return {&reader_streams_,     &agent_streams_,     &admin_streams_,
            &tcp_reader_streams_, &tcp_agent_streams_, &tcp_admin_streams_};
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
                           .peers = &peers_,
                           .listing_patience = options_.listing_patience},
                          streams);
  }

  Services MakeAgentServices(StreamSet* streams) {
    return AgentServices(&devices_,
                         {.program_version = options_.version,
                          .heartbeat_timeout_s = options_.heartbeat_timeout_s},
                         streams, &peers_);
  }

  Services MakeAdminServices(StreamSet* streams) {
    return AdminServices({.jobs = &admin_handler_,
                          .tables = &table_admin_,
                          .workloads = &workload_handler_,
                          .store = &store_admin_},
                         {.writes = &writes_, .reads = &reads_}, streams,
                         &peers_);
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
      ReloadDefaultFaults(key);
    };
    services.job_changed = [this](const JobRecord& job) {
      activity_.Add(job);
      events_.Record(EventOf(job));
    };
    services.canary_judged = [this](const JobRecord& job) {
      activity_.AddCanary(job);
      events_.Record(CanaryEvent(job));
    };
    services.table_refused = [this](const RejectedTable& table) {
      events_.Record(EventOf(table));
    };
    services.board_rated = [this](const JobRecord&, const std::string& uuid,
                                  const BoardRatio& ratio) {
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
    return options;
  }

  using Defaults = std::set<std::pair<ProfileKey, Configuration>>;

  // Returns the defaults that may be decided with: of what serves, and of each
  // kernel on each device, or each that is attached; of these the ones whose
  // key is wanted. So many at most as DefaultFaults keeps.
  Defaults DefaultsInUse(bool only_attached,
                         const std::function<bool(const ProfileKey&)>& wanted) {
    Defaults defaults;
    const auto add = [&](const ProfileKey& key,
                         const Configuration& default_configuration) {
      if (defaults.size() < DefaultFaults::kMostKept)
        defaults.emplace(key, default_configuration);
    };
    for (const ServingTable& table : tables_.snapshot()->tables) {
      if (wanted(table.record.key))
        add(table.record.key, table.table->table().default_configuration);
    }
    std::set<ProfileKey> seen;  // Devices are often alike.
    const std::vector<std::string> names = kernels_.Names();
    for (const AgentDirectory::Known& known : devices_.List()) {
      if (only_attached && !known.attached) continue;
      const DeviceFacts& device = known.record.facts;
      for (const std::string& name : names) {
        const auto fingerprint = kernels_.Fingerprint(name, device);
        if (!fingerprint.ok()) continue;
        ProfileKey key{name, *fingerprint, SiliconKey(device),
                       EnvironmentKey(device)};
        if (!wanted(key) || !seen.insert(key).second) continue;
        // Not for each key: it copies the kernel's sources.
        const auto kernel = kernels_.Get(name, device);
        if (!kernel.ok()) continue;
        key.fingerprint = (*kernel)->files.fingerprint;
        add(key, (*kernel)->spec.default_configuration);
      }
    }
    return defaults;
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

  // What the last canaries found stays known over a restart.
  void RememberCanaries() {
    const absl::StatusOr<std::vector<JobRecord>> jobs =
        jobs_.List(kJobsRemembered);
    if (!jobs.ok()) return Warn(std::string(jobs.status().message()));
    for (auto job = jobs->rbegin(); job != jobs->rend(); ++job)
      activity_.AddCanary(*job);
  }

  // Reads what is known of defaults, before anybody asks.
  void LoadDefaultFaults() {
    const auto all = [](const ProfileKey&) { return true; };
    for (const auto& [key, default_configuration] :
         DefaultsInUse(/*only_attached=*/false, all))
      default_faults_.Load(key, default_configuration);
    // Of what was withdrawn the kernel's folder may be gone.
    for (const ServingTable& withdrawn : tables_.snapshot()->withdrawn) {
      if (withdrawn.table == nullptr) continue;
      default_faults_.Load(withdrawn.record.key,
                           withdrawn.table->table().default_configuration);
    }
  }

  // A job has changed the candidates; the default may be one that nobody has
  // asked for.
  void ReloadDefaultFaults(const ProfileKey& changed) {
    const auto is_changed = [&](const ProfileKey& key) {
      return key == changed;
    };
    for (const auto& [key, default_configuration] :
         DefaultsInUse(/*only_attached=*/false, is_changed))
      default_faults_.Expect(key, default_configuration);
    default_faults_.Reload(changed);
  }

  // Devices that have come and kernels that were edited since may have profiles
  // of earlier times.
  void ExpectDefaultFaults() {
    std::set<ProfileKey> in_use;
    const auto is_new = [&](const ProfileKey& key) {
      in_use.insert(key);
      return !expected_.contains(key);
    };
    for (const auto& [key, default_configuration] :
         DefaultsInUse(/*only_attached=*/true, is_new))
      default_faults_.Of(key, default_configuration);
    expected_.swap(in_use);
    default_faults_.RetryFailed();
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

  // On a thread of its own, which waits for no disk.
  void LookAtListeners() {
    for (Listener* listener : Listeners()) {
      if (const absl::Status deaf = listener->acceptor->Probe(); !deaf.ok())
        EndWithReason(std::string(deaf.message()));
    }
    options_.alive();
  }

  // Tables are loaded: whoever asks gets them, stale ones and those that no
  // disk takes any more included.
  void TellReady() {
    for (Listener* listener : Listeners()) {
      for (const char* service : {"", kReadyHealth, kLiveHealth}) {
        listener->servers->SetServing(service, true);
      }
    }
  }

  void TellOfStore(const absl::Status& status) {
    for (Listener* listener : Listeners()) {
      listener->servers->SetServing(kStoreHealth, status.ok());
    }
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
  UsageLedger usage_;
  WorkloadCatalog workloads_;
  const std::shared_ptr<JobSettings> job_settings_ =
      std::make_shared<JobSettings>();
  JobQueue jobs_;
  DriftWatch drift_;
  TableHandler table_handler_;
  DecisionHandler decision_handler_;
  TableJudge judge_;
  StalenessWatch staleness_;
  TableAdmission admission_;
  ShippedTables shipped_;
  PeriodicTask surroundings_;
  StatusHandler status_handler_;
  SampleHandler sample_handler_;
  AdminHandler admin_handler_;
  TableAdmin table_admin_;
  RetentionTask retention_;
  StoreAdmin store_admin_;
  EventHandler event_handler_;
  TableCatalog::Handle table_changes_;
  WorkloadHandler workload_handler_;
  UsageTopUps top_ups_;
  UsageHandler usage_handler_;
  // Apart, so that watchers without end keep out neither agents nor people.
  StreamSet reader_streams_;
  StreamSet agent_streams_;
  StreamSet admin_streams_;
  StreamSet tcp_reader_streams_;
  StreamSet tcp_agent_streams_;
  StreamSet tcp_admin_streams_;
  MemoryReturn memory_{GiveMemoryBack};
  // What ExpectDefaultFaults has found before; its thread's.
  std::set<ProfileKey> expected_;
  PeerUsers peers_;
  std::vector<SocketLock> socket_locks_;  // Longer than what listens.
  std::unique_ptr<TlsAccess> access_;     // nullptr: not over TCP.
  std::string tcp_address_;
  Listener reader_;
  Listener agent_;
  Listener admin_;
  Listener tcp_;
  bool store_failed_ = false;  // At the last look.
  PeriodicTask store_looks_;
  PeriodicTask retention_runs_;
  PeriodicTask listener_looks_;
  PeriodicTask access_looks_;
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
  RETURN_IF_ERROR(CheckListeners(options));
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
