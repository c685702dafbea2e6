// wavetuned: owns the store, plans, fits, promotes and serves.

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/descriptor_limit.h"
#include "base/environment_variable.h"
#include "base/init_process.h"
#include "base/library_log.h"
#include "base/log.h"
#include "base/number_range.h"
#include "base/option_checks.h"
#include "base/option_sources.h"
#include "base/process_signals.h"
#include "base/service_notify.h"
#include "base/socket_paths.h"
#include "base/standard_output.h"
#include "base/status_macros.h"
#include "base/unix_group.h"
#include "server/daemon.h"
#include "server/fleet_options.h"
#include "server/maintenance_commands.h"
#include "server/store/rocksdb_store.h"

namespace wavetune {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

constexpr char kNoStore[] = "give --store: there is no HOME";

// What a reload takes over; the rest takes a restart.
const std::vector<std::string>& Reloadable() {
  static const std::vector<std::string> names = {
      "log-level",   "log-format",  "budget",        "even-if-busy",
      "generations", "auto-refine", "refine-budget", "refine-interval-hours",
      "fleet-trust"};
  return names;
}

constexpr char kFooter[] = R"(
Sockets: reader.sock (mode 0666: tables, decisions, status, usage), agent.sock and
admin.sock (mode 0660). Clients connect to unix:<socket-dir>/reader.sock.
Who runs native code should not administer: give agent.sock and admin.sock groups
of their own (--agent-group, --admin-group); the daemon's user is in both.

An option that is not on the command line is the environment's WAVETUNE_<OPTION>
(as WAVETUNE_SOCKET_DIR; folders are separated by ':'), else that of the file of
--config. The units use /etc/wavetune/wavetune.conf.

Signals: TERM and INT stop it (a start at once, else in order; a second one at
once); HUP has it read the kernel folders, the file of --fleet-trust and the
configuration again. Of this log-level, log-format, budget, even-if-busy,
generations, fleet-trust and what begins with auto-refine or refine- change at
once, the rest at the next start: the log says so.

Exit codes: 0 stopped on request, 1 failed, 2 wrong usage.

Examples:
  wavetuned --store /var/lib/wavetune --kernels-dir /usr/share/wavetune/kernels
  wavetuned --config /etc/wavetune/wavetune.conf --check-config
  wavetuned check --store /var/lib/wavetune
  wavetuned --store /tmp/wt/store --socket-dir /tmp/wt --kernels-dir kernels \
      --kernels-dir ~/my_kernels --log-level info
)";

struct Arguments {
  std::string store;
  std::string socket_dir;
  std::string reader_socket;
  std::string agent_socket;
  std::string admin_socket;
  std::string reader_group;
  std::string agent_group;
  std::string admin_group;
  TcpOptions tcp;
  FleetArguments fleet;
  std::string metrics_address;
  std::vector<std::string> kernels_dirs;
  double budget_s = 60;
  bool even_if_busy = false;
  double hot_wait_s = 600;
  int64_t sample_limit_mib = 4096;
  int generations = 3;
  std::string backup_dir;
  RetentionLimits retention;
  bool auto_refine = true;
  double refine_budget_s = 20;
  bool auto_drift = true;
  double refine_interval_h = 6;
  std::string log_level = "warning";
  std::string log_format = "text";
  bool end_with_stdin = false;
};

std::string DefaultStore() {
  if (::geteuid() == 0) return "/var/lib/wavetune";
  const std::string state = EnvironmentVariable("XDG_STATE_HOME");
  if (!state.empty()) return state + "/wavetune";
  const std::string home = EnvironmentVariable("HOME");
  return home.empty() ? "" : home + "/.local/state/wavetune";
}

void DeclareRetention(CLI::App& app, RetentionLimits& limits) {
  const auto add = [&app](const char* name, const char* variable, double& days,
                          const char* help) {
    app.add_option(name, days, help)
        ->envname(variable)
        ->check(NumberIn({0, 36500}))
        ->capture_default_str();
  };
  add("--keep-jobs-days", "WAVETUNE_KEEP_JOBS_DAYS", limits.jobs_days,
      "Days after which a job that has ended is forgotten; 0: never, as the "
      "next");
  add("--keep-devices-days", "WAVETUNE_KEEP_DEVICES_DAYS", limits.devices_days,
      "Days after which a device that was not attached is forgotten");
  add("--keep-classes-days", "WAVETUNE_KEEP_CLASSES_DAYS", limits.classes_days,
      "Days after which a table is retired whose driver no device has, or "
      "whose build of the kernel was replaced, and beside which a newer one "
      "serves");
  add("--keep-tables-days", "WAVETUNE_KEEP_TABLES_DAYS", limits.payloads_days,
      "Days after which a table that serves no longer is forgotten; the newest "
      "8 of a kernel stay");
  add("--keep-samples-days", "WAVETUNE_KEEP_SAMPLES_DAYS", limits.samples_days,
      "Days after which samples are forgotten that no table is of any more, "
      "and that no device would profile with");
}

void Declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version",
                       absl::StrCat("wavetuned ", WAVETUNE_VERSION));
  app.footer(kFooter);
  app.add_option("--store", arguments.store, "Folder of the store")
      ->capture_default_str();
  app.add_option("--socket-dir", arguments.socket_dir, "Folder of the sockets")
      ->capture_default_str();
  app.add_option("--reader-socket", arguments.reader_socket,
                 "Reader socket, instead of <socket-dir>/reader.sock");
  app.add_option("--agent-socket", arguments.agent_socket,
                 "Agent socket, instead of <socket-dir>/agent.sock");
  app.add_option("--admin-socket", arguments.admin_socket,
                 "Admin socket, instead of <socket-dir>/admin.sock");
  app.add_option("--reader-group", arguments.reader_group,
                 "Group of the reader socket, which then has mode 0660; "
                 "without it everybody may read");
  app.add_option("--agent-group", arguments.agent_group,
                 "Group of the agent socket, instead of the daemon's own");
  app.add_option("--admin-group", arguments.admin_group,
                 "Group of the admin socket, instead of the daemon's own");
  app.add_option("--listen-tcp", arguments.tcp.address,
                 "Listen at HOST:PORT too, for who shows a certificate; needs "
                 "the next four. Without it nothing listens on TCP");
  app.add_option("--tls-cert", arguments.tcp.files.tls.cert,
                 "PEM file of the daemon's certificate, with the host names "
                 "that clients connect to");
  app.add_option("--tls-key", arguments.tcp.files.tls.key,
                 "PEM file of its key");
  app.add_option("--tls-ca", arguments.tcp.files.tls.ca,
                 "PEM file of the authorities whose clients are believed");
  app.add_option("--authz-policy", arguments.tcp.files.policy,
                 "JSON file that says which certificate may call what; what "
                 "no rule allows is denied");
  app.add_option("--metrics-address", arguments.metrics_address,
                 "HOST:PORT where Prometheus may ask for metrics over HTTP, "
                 "for example 127.0.0.1:9478; without it nowhere");
  DeclareFleet(app, &arguments.fleet);
  app.add_option("--kernels-dir", arguments.kernels_dirs,
                 "Folder with one folder per kernel; may be repeated")
      ->delimiter(':');
  app.add_option("--budget", arguments.budget_s,
                 "Device time per profiling job, in seconds")
      ->check(NumberIn(kBudgetRange))
      ->capture_default_str();
  app.add_flag("--even-if-busy", arguments.even_if_busy,
               "Profile also while others use a device, for machines that do "
               "nothing else; jobs otherwise wait until nobody does");
  app.add_option("--hot-wait", arguments.hot_wait_s,
                 "Seconds that a profile waits for a device to cool where its "
                 "class has no other, before it fails")
      ->check(NumberIn({0, 1e6}))
      ->capture_default_str();
  app.add_option("--sample-limit-mib", arguments.sample_limit_mib,
                 "Space that samples may take, in MiB; 0: no limit")
      ->check(NumberIn({0, 1e12}))
      ->capture_default_str();
  app.add_option("--generations", arguments.generations,
                 "Generations of samples kept per kernel and device class")
      ->check(NumberIn({1, 1000}))
      ->capture_default_str();
  DeclareRetention(app, arguments.retention);
  app.add_option("--backup-dir", arguments.backup_dir,
                 "Folder of the backups that `wavetune store backup` makes; "
                 "without it none can be made while the daemon runs");
  app.add_flag("--auto-refine,!--no-auto-refine", arguments.auto_refine,
               "Profile a little more by itself where more than 5 % of the "
               "decisions with a table are extrapolated or have a wide bound "
               "(--auto-refine=false: never)")
      ->default_str("true");
  app.add_flag("--auto-drift,!--no-auto-drift", arguments.auto_drift,
               "Judge a table by itself where its device came back with "
               "another driver, runtime or power limit: a drift probe, then "
               "carry over or profile anew (--auto-drift=false: never)")
      ->default_str("true");
  app.add_option("--refine-budget", arguments.refine_budget_s,
                 "Device time of such a top-up, in seconds")
      ->check(NumberIn(kBudgetRange))
      ->capture_default_str();
  app.add_option("--refine-interval-hours", arguments.refine_interval_h,
                 "Least time between two top-ups of a kernel on a kind of "
                 "device, in hours")
      ->check(NumberIn({0, 87600}))
      ->capture_default_str();
  app.add_flag(kEndWithStdin, arguments.end_with_stdin, kEndWithStdinHelp);
  DeclareLogOptions(app, &arguments.log_level, &arguments.log_format);
}

// Returns the group that an option names, nothing where it names none.
absl::StatusOr<std::optional<gid_t>> GroupOf(const char* option,
                                             const std::string& name) {
  if (name.empty()) return std::nullopt;
  const absl::StatusOr<gid_t> group = FindGroup(name);
  if (group.ok()) return *group;
  return absl::Status(group.status().code(),
                      absl::StrCat(option, ": ", group.status().message()));
}

std::string Or(const std::string& path, const std::string& otherwise) {
  return path.empty() ? otherwise : path;
}

absl::StatusOr<DaemonOptions> OptionsOf(const Arguments& arguments) {
  DaemonOptions options;
  const std::string& dir = arguments.socket_dir;
  options.reader_socket = Or(arguments.reader_socket, dir + "/reader.sock");
  options.agent_socket = Or(arguments.agent_socket, dir + "/agent.sock");
  options.admin_socket = Or(arguments.admin_socket, dir + "/admin.sock");
  ASSIGN_OR_RETURN(options.reader_group,
                   GroupOf("--reader-group", arguments.reader_group));
  ASSIGN_OR_RETURN(options.agent_group,
                   GroupOf("--agent-group", arguments.agent_group));
  ASSIGN_OR_RETURN(options.admin_group,
                   GroupOf("--admin-group", arguments.admin_group));
  options.tcp = arguments.tcp;
  options.metrics_address = arguments.metrics_address;
  options.kernels_dirs = arguments.kernels_dirs;
  options.version = WAVETUNE_VERSION;
  options.default_budget_s = arguments.budget_s;
  options.even_if_busy = arguments.even_if_busy;
  options.hot_wait_s = arguments.hot_wait_s;
  options.generations_kept = arguments.generations;
  options.backup_folder = arguments.backup_dir;
  options.retention = arguments.retention;
  options.profiling = ModelProfilingFunctions();
  options.auto_drift = arguments.auto_drift;
  options.top_ups.enabled = arguments.auto_refine;
  options.top_ups.budget_s = arguments.refine_budget_s;
  options.top_ups.interval_s = arguments.refine_interval_h * 3600;
  options.alive = NotifyAlive;
  options.tell_state = [](const std::string& state) { NotifyState(state); };
  return options;
}

// What was asked for: by the command line, the environment, and the file of
// --config as it is now.
struct Invocation {
  Invocation() {
    arguments.store = DefaultStore();
    arguments.socket_dir = DefaultSocketDir();
    Declare(app, arguments);
    sources.emplace(app, "daemon", "WAVETUNE_",
                    std::vector<std::string>{"end-with-stdin"});
    DeclareMaintenance(app, &arguments.store, &maintenance);
  }

  void UseLogOptions() const {
    SetLogLevel(*ParseLogLevel(arguments.log_level));
    SetLogFormat(*ParseLogFormat(arguments.log_format));
  }

  Arguments arguments;
  CLI::App app{"WaveTune daemon: tuning decisions for GPU kernels"};
  std::optional<OptionSources> sources;
  MaintenanceCommand maintenance;
};

// Reads the command line, environment and file anew.
absl::StatusOr<std::unique_ptr<Invocation>> ReadAgain(int argc, char** argv) {
  auto invocation = std::make_unique<Invocation>();
  invocation->app.parse(argc, argv);  // As it did at the start.
  RETURN_IF_ERROR(invocation->sources->ApplyFile());
  return invocation;
}

// A daemon as it was invoked, and takes over what changes of it.
class Reloads {
 public:
  Reloads(int argc, char** argv, const Invocation& first)
      : argc_(argc), argv_(argv), values_(first.sources->Values()) {}

  // Takes over what may change; what cannot be used changes nothing. Returns
  // what there is to say of it.
  absl::StatusOr<std::string> Reload(Daemon& daemon) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Invocation> now,
                     ReadAgain(argc_, argv_));
    ASSIGN_OR_RETURN(DaemonOptions options, OptionsOf(now->arguments));
    ASSIGN_OR_RETURN(options.fleet.trust, ReadFleetTrust(now->arguments.fleet));
    daemon.Change(options);
    now->UseLogOptions();
    std::map<std::string, std::string> values = now->sources->Values();
    const ConfigChange change = CompareConfig(values_, values, Reloadable());
    // What waits for a restart is told of at the next reload, too.
    for (const std::string& name : change.taken) values_[name] = values[name];
    return TextOf(change, values);
  }

 private:
  const int argc_;
  char** const argv_;
  std::map<std::string, std::string> values_;  // In use.
};

// Reads everything again that may change.
void Reload(Daemon& daemon, Reloads& reloads) {
  NotifyReloading();
  daemon.Reload();
  const absl::StatusOr<std::string> change = reloads.Reload(daemon);
  const std::string text =
      change.ok()
          ? absl::StrCat("has read the kernel folders again",
                         change->empty() ? "" : "; configuration: ", *change)
          : absl::StrCat("the configuration stays as it was: ",
                         change.status().message());
  Log(change.ok() ? LogLevel::kInfo : LogLevel::kError, "daemon", text);
  daemon.TellOfReload(text, /*failed=*/!change.ok());
  NotifyReady(change.ok() ? "serves" : "serves; a reload failed, see the log");
}

// Serves until a signal asks for the end.
absl::Status Serve(const Arguments& arguments, Reloads reloads) {
  const uint64_t descriptors = RaiseDescriptorLimit();
  RETURN_IF_ERROR(CheckDescriptorLimit(descriptors));
  ASSIGN_OR_RETURN(DaemonOptions options, OptionsOf(arguments));
  ASSIGN_OR_RETURN(const Fleet fleet, OpenFleet(arguments.fleet));
  options.fleet = fleet.membership;
  RETURN_IF_ERROR(PrepareSocketDir(arguments.socket_dir));
  NotifyState("opens its store");
  ASSIGN_OR_RETURN(const std::unique_ptr<RocksDbStore> store,
                   RocksDbStore::Open({.path = arguments.store,
                                       .sample_limit_bytes =
                                           arguments.sample_limit_mib << 20}));
  DaemonStores stores{&store->samples(), &store->tables(), &store->jobs(),
                      &store->devices()};
  stores.usage = &store->usage();
  stores.workloads = &store->workloads();
  stores.events = &store->events();
  stores.maintenance = &store->maintenance();
  stores.fleet_heads = &store->fleet_heads();
  stores.facts = {store->store_id(),
                  store->path(),
                  store->schema_version(),
                  [&store] { return store->corrupt_entries(); },
                  [&store] { return store->WriteProblem(); },
                  [&store] { return store->RecoverWrites(); }};
  options.descriptors = descriptors;
  NotifyState("loads tables");
  ASSIGN_OR_RETURN(const std::unique_ptr<Daemon> daemon,
                   Daemon::Start(stores, options));
  Log(LogLevel::kInfo, "daemon",
      absl::StrCat("version ", WAVETUNE_VERSION,
                   " serves on unix:", options.reader_socket,
                   daemon->tcp_address().empty() ? "" : " and, with TLS, on ",
                   daemon->tcp_address(), ", store ", arguments.store));
  ProcessSignals::Keep();
  NotifyReady("serves");
  while (ProcessSignals::Wait() == ProcessSignals::Asked::kReload) {
    Reload(*daemon, reloads);
  }
  Log(LogLevel::kInfo, "daemon", "stops on request");
  NotifyStopping();
  daemon->Stop();
  return absl::OkStatus();
}

// Returns the exit code for `status` and prints what went wrong.
int Exit(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  std::fprintf(stderr, "wavetuned: %s\n",
               std::string(status.message()).c_str());
  return kExitFailed;
}

// Errors: a folder that a daemon would not find or could not make.
absl::Status CheckFolder(const char* option, const std::string& path) {
  std::error_code ignored;
  std::filesystem::path folder =
      std::filesystem::absolute(path, ignored).lexically_normal();
  // "store/" is "store".
  if (!folder.has_filename()) folder = folder.parent_path();
  const std::filesystem::path checked =
      std::filesystem::exists(folder, ignored) ? folder : folder.parent_path();
  if (std::filesystem::is_directory(checked, ignored)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(option, " ", path, ": ", checked.string(),
                   std::filesystem::exists(checked, ignored)
                       ? " is no folder: choose another"
                       : " does not exist: make it, or choose another"));
}

absl::Status CheckFolders(const Arguments& arguments) {
  if (arguments.store.empty()) return absl::InvalidArgumentError(kNoStore);
  // The default's parent is made where it is missing.
  if (arguments.store != DefaultStore()) {
    RETURN_IF_ERROR(CheckFolder("--store", arguments.store));
  }
  if (arguments.backup_dir.empty()) return absl::OkStatus();
  return CheckFolder("--backup-dir", arguments.backup_dir);
}

// --print-config and --check-config.
absl::Status ShowConfig(const Invocation& invocation) {
  if (invocation.sources->check()) {
    ASSIGN_OR_RETURN(const DaemonOptions options,
                     OptionsOf(invocation.arguments));
    RETURN_IF_ERROR(CheckFolders(invocation.arguments));
    RETURN_IF_ERROR(CheckFleet(invocation.arguments.fleet));
    RETURN_IF_ERROR(Daemon::Check(options));
  }
  std::cout << (invocation.sources->print()
                    ? invocation.sources->Text()
                    : "the configuration can be used\n");
  return FinishOutput(std::cout);
}

int Main(int argc, char** argv) {
  // Writing to a socket or pipe whose reader is gone is an error, not the end.
  signal(SIGPIPE, SIG_IGN);
  // So is a file that may not grow further (ulimit -f).
  signal(SIGXFSZ, SIG_IGN);

  Invocation invocation;
  const Arguments& arguments = invocation.arguments;
  try {
    invocation.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // CLI11 has no other way.
    const bool wanted = invocation.app.exit(error) == 0;  // Help, or version.
    return wanted ? Exit(FinishOutput(std::cout)) : kExitUsage;
  }
  if (const absl::Status file = invocation.sources->ApplyFile(); !file.ok()) {
    Exit(file);
    return kExitUsage;
  }
  if (invocation.sources->print() || invocation.sources->check()) {
    return Exit(ShowConfig(invocation));
  }
  if (arguments.store.empty()) {
    std::fprintf(stderr, "wavetuned: %s\n", kNoStore);
    return kExitUsage;
  }
  invocation.UseLogOptions();
  RouteLibraryLogs();
  // As by default: an ending signal ends maintenance at once.
  if (invocation.maintenance) {
    absl::Status status = invocation.maintenance();
    status.Update(FinishStandardOutput());
    return Exit(status);
  }
  ProcessSignals::Block();
  if (arguments.end_with_stdin) EndWithStdin();
  const std::filesystem::path store(arguments.store);
  std::error_code error;
  if (arguments.store == DefaultStore() &&
      !std::filesystem::create_directories(store.parent_path(), error) &&
      error) {
    return Exit(absl::FailedPreconditionError(absl::StrCat(
        "cannot make the folder ", store.parent_path().string(),
        " for the store: ", error.message(),
        "; name another with --store, or its place in XDG_STATE_HOME")));
  }
  return Exit(Serve(arguments, Reloads(argc, argv, invocation)));
}

}  // namespace
}  // namespace wavetune

int main(int argc, char** argv) {
  wavetune::LeaveInitBehind();
  return wavetune::Main(argc, argv);
}
