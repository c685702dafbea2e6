// wavetune-agent: see --help.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cache_paths.h"
#include "base/clock.h"
#include "base/descriptor_limit.h"
#include "base/library_log.h"
#include "base/log.h"
#include "base/number_range.h"
#include "base/option_sources.h"
#include "base/own_files.h"
#include "base/periodic_task.h"
#include "base/process_signals.h"
#include "base/service_notify.h"
#include "base/socket_paths.h"
#include "base/standard_output.h"
#include "base/status_macros.h"
#include "profiler_agent/commands/compile_command.h"
#include "profiler_agent/commands/export_command.h"
#include "profiler_agent/link/agent_devices.h"
#include "profiler_agent/link/attach_client.h"
#include "profiler_agent/link/driver_mark.h"
#include "profiler_agent/link/driver_watch.h"
#include "profiler_agent/measure/environment_error.h"
#include "profiler_agent/measure/program_trim.h"
#include "profiler_agent/measure/stop_wait.h"
#include "profiler_agent/worker/backends.h"
#include "profiler_agent/worker/injected_facts.h"
#include "profiler_agent/worker/worker_main.h"

namespace wavetune {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitNoDevice = 3;

constexpr char kDescription[] =
    "wavetune-agent: compiles, checks and measures kernels for wavetuned.\n"
    "\n"
    "It attaches to the daemon's agent socket and stays attached: a daemon "
    "that\n"
    "restarts finds it again. Each device is used by worker processes only, so "
    "a\n"
    "kernel that crashes or hangs costs a worker and excludes one candidate.";

constexpr char kFooter[] =
    "Examples:\n"
    "  wavetune-agent\n"
    "      every device of this machine, default socket\n"
    "  wavetune-agent --backends opencl --cache-dir /var/cache/wavetune\n"
    "  wavetune-agent --backends replay --replay-trace "
    "tests/data/h200_triton_gemm\n"
    "      a recorded GPU instead of a real one\n"
    "\n"
    "An option that is not on the command line is the environment's\n"
    "WAVETUNE_AGENT_<OPTION>, else that of the file of --config. The units "
    "use\n"
    "/etc/wavetune/wavetune.conf.\n"
    "\n"
    "Signals: TERM and INT end it, while it starts at once, else in order; "
    "HUP\n"
    "reads the configuration again, cancels what runs, looks for devices anew "
    "and\n"
    "attaches again: jobs go on from what is stored. Another driver, runtime "
    "or compiler, or a new "
    "device,\n"
    "is noticed within seconds, and does the same.\n"
    "\n"
    "Exit codes: 0 ended by SIGTERM or SIGINT; 1 failed; 2 wrong usage; 3 no\n"
    "usable device at its start (the log says why for each backend).";

struct Arguments {
  std::string endpoint = "unix://" + DefaultSocketPath("agent");
  std::vector<std::string> backends = DefaultBackends();
  BackendOptions backend;
  std::string log_level = "info";
  std::string log_format = "text";
  int prepare_workers = 0;  // As many as cores and memory allow.
  int nice = 10;
  int64_t cache_limit_mib = 4096;
  double prepare_timeout_s = 120;
  double measure_timeout_s = 60;
  std::string worker_backend;
  int worker_nice = 0;
  CompileCommandOptions compile;
  ExportCommandOptions exporting;
  bool end_with_stdin = false;
};

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// A system service without a home has a folder that its unit made.
CacheDir DefaultCacheDir() {
  constexpr char kOfTheSystem[] = "/var/cache/wavetune";
  CacheDir cache = DefaultCache();
  if (!cache.problem.empty() && access(kOfTheSystem, W_OK | X_OK) == 0)
    cache = {.path = kOfTheSystem};
  return cache;
}

// Says where programs are kept where nobody said where and the usual place
// cannot be written. A folder that somebody named needs no other: programs are
// compiled without it (program_cache.h, worker/program_folder.h).
void KeepProgramsSomewhere(const std::string& default_problem, bool chosen,
                           std::string& cache_dir) {
  if (chosen) return;
  if (!default_problem.empty())
    Log(LogLevel::kWarning, "agent", default_problem);
  if (cache_dir.empty()) return;
  CacheDir usable = UsableCache(cache_dir);
  if (!usable.problem.empty()) Log(LogLevel::kWarning, "agent", usable.problem);
  cache_dir = std::move(usable.path);
}

using Hosts = std::vector<std::unique_ptr<DeviceHost>>;

// This binary, whatever the working directory and PATH are later.
std::string ThisProgram() {
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "wavetune-agent" : path.string();
}

std::string AgentName() {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(host, ":", getpid());
}

// What keeps telling the service manager that the agent lives: its threads run,
// and no device's lock is held for ever.
class Heart {
 public:
  void Start() {
    beats_.Start(kBeat, [this] { Beat(); });
  }
  // Looks at these while it lives.
  class Round {
   public:
    Round(Heart& heart, const Hosts& hosts) : heart_(heart) {
      heart_.Watch(&hosts);
    }
    ~Round() { heart_.Watch(nullptr); }
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;

   private:
    Heart& heart_;
  };

 private:
  static constexpr std::chrono::seconds kBeat{5};

  void Watch(const Hosts* hosts) {
    std::lock_guard lock(mutex_);
    hosts_ = hosts;
  }
  void Beat() {
    std::lock_guard lock(mutex_);
    if (hosts_ != nullptr) {
      for (const auto& host : *hosts_) host->problem();
    }
    NotifyAlive();
  }

  std::mutex mutex_;
  const Hosts* hosts_ = nullptr;  // Guarded by mutex_.
  PeriodicTask beats_;
};

// What signals, and other drivers, ask of an attached agent. Each time that it
// is attached is a round: a reload ends one, and another begins.
class Rounds {
 public:
  // Waits for signals from now on; until the first call they are those of a
  // start. An end that takes too long ends the process: workers end with it.
  std::stop_token Begin() {
    std::lock_guard lock(mutex_);
    if (ending_) return round_.get_token();
    round_ = std::stop_source();
    if (asked_) round_.request_stop();  // While devices were looked for.
    if (!std::exchange(listening_, true)) {
      ProcessSignals::Keep();
      std::thread([this] { Listen(); }).detach();
    }
    return round_.get_token();
  }
  // Ends this round, and so what runs; the next one looks for devices.
  void Reload() {
    std::lock_guard lock(mutex_);
    round_.request_stop();
  }
  bool ending() {
    std::lock_guard lock(mutex_);
    return ending_;
  }
  // Whether somebody asked for a reload since the last time.
  bool TakeAsked() {
    std::lock_guard lock(mutex_);
    return std::exchange(asked_, false);
  }

 private:
  void Listen() {
    while (ProcessSignals::Wait() == ProcessSignals::Asked::kReload) {
      Log(LogLevel::kInfo, "agent",
          "reloading; cancelling what runs, then looking for devices");
      NotifyReloading();
      Ask();
    }
    NotifyStopping();
    Log(LogLevel::kInfo, "agent", "ending; cancelling what runs");
    // Nothing is to be ended in order while devices are looked for.
    if (!EndAll()) End();
    SystemClock().Sleep(std::chrono::seconds(8));
    Log(LogLevel::kWarning, "agent", "a burst did not end in time; leaving");
    End();
  }
  [[noreturn]] static void End() {
    FlushLog();
    _exit(0);
  }
  void Ask() {
    std::lock_guard lock(mutex_);
    asked_ = true;
    round_.request_stop();
  }
  // Returns whether there was a round to end.
  bool EndAll() {
    std::lock_guard lock(mutex_);
    ending_ = true;
    return round_.request_stop();
  }

  std::mutex mutex_;
  // Guarded by mutex_.
  std::stop_source round_;
  bool listening_ = false;
  bool asked_ = false;
  bool ending_ = false;
};

AgentDevicesOptions DevicesOptions(const Arguments& arguments) {
  return {.program = ThisProgram(),
          .backends = arguments.backends,
          .backend = arguments.backend,
          .prepare_workers = arguments.prepare_workers,
          .prepare_nice = arguments.nice,
          .prepare_timeout = Milliseconds(arguments.prepare_timeout_s),
          .measure_timeout = Milliseconds(arguments.measure_timeout_s)};
}

// Returns the exit code for `status` and prints what went wrong, which may be
// that standard output could not be written.
int Exit(absl::Status status) {
  status.Update(FinishOutput(std::cout));
  if (status.ok()) return EXIT_SUCCESS;
  std::cerr << "wavetune-agent: " << status.message() << "\n";
  if (absl::IsInvalidArgument(status)) return kExitUsage;
  return absl::IsUnavailable(status) ? kExitNoDevice : EXIT_FAILURE;
}

// Returns the folder for compiled programs; none where others could put theirs
// there, which would run with our rights.
std::string OwnCacheDir(const std::string& dir) {
  if (dir.empty()) return dir;
  const absl::Status own = MakeOwnFolder(dir);
  if (!absl::IsPermissionDenied(own) && !absl::IsInvalidArgument(own)) {
    return dir;
  }
  Log(LogLevel::kWarning, "agent",
      absl::StrCat("compiled programs are not kept: ", own.message(),
                   "; or name another --cache-dir"));
  return "";
}

int RunCompile(const Arguments& arguments) {
  if (arguments.end_with_stdin) EndWithStdin();
  CompileCommandOptions options = arguments.compile;
  options.devices = DevicesOptions(arguments);
  const absl::StatusOr<int> refused = RunCompileCommand(options, std::cout);
  const int code = Exit(refused.status());
  return refused.ok() && *refused > 0 ? EXIT_FAILURE : code;
}

int RunExport(const Arguments& arguments) {
  if (arguments.end_with_stdin) EndWithStdin();
  ExportCommandOptions options = arguments.exporting;
  options.cache_dir = arguments.backend.cache_dir;
  options.python = arguments.backend.python;
  options.threads = PrepareWorkers(arguments.prepare_workers, 1);
  return Exit(RunExportCommand(options, std::cout));
}

// Why there is no device, and what to do about it.
std::string NoDevice(const Arguments& arguments) {
  return arguments.backend.cache_dir.empty()
             ? "no usable device; there is no folder for programs, without "
               "which PoCL finds none: give a --cache-dir that this user "
               "can write"
             : "no usable device; install a driver (on a CPU: "
               "pocl-opencl-icd), or name other --backends";
}

DriverPlaces Places(const Arguments& arguments) {
  DriverPlaces places = DriverPlaces::OfThisProcess();
  if (!arguments.backend.inject.empty()) {
    places.files.push_back(arguments.backend.inject);
  }
  return places;
}

DriverWatch WatchOf(const Arguments& arguments, const DriverPlaces& places,
                    std::string mark, const Hosts& hosts) {
  std::vector<DeviceFacts> listed;
  for (const auto& host : hosts) listed.push_back(host->facts());
  return DriverWatch(
      {.mark = [places] { return DriverMark(places); },
       .list = [options =
                    DevicesOptions(arguments)] { return ListDevices(options); },
       .any_lost =
           [&hosts] {
             return std::any_of(
                 hosts.begin(), hosts.end(),
                 [](const auto& host) { return !host->problem().empty(); });
           },
       .let_go =
           [&hosts] {
             for (const auto& host : hosts) host->LetGo();
           }},
      std::move(listed), std::move(mark), SystemClock());
}

// Ends the round as soon as a device is another one.
void WatchDrivers(DriverWatch watch, Rounds& rounds,
                  const std::stop_token& stop) {
  while (!SleepOrStop(DriverWatch::kInterval, stop)) {
    const std::string change = watch.Look();
    if (change.empty() || stop.stop_requested()) continue;
    Log(LogLevel::kWarning, "agent",
        absl::StrCat(change,
                     ": cancelling what runs, then attaching with the devices "
                     "as they are now"));
    return rounds.Reload();
  }
}

void TrimCache(const Arguments& arguments, const std::stop_token& stop) {
  const TrimmedPrograms trimmed =
      TrimPrograms(arguments.backend.cache_dir, arguments.cache_limit_mib << 20,
                   SystemClock().NowUs(), stop);
  if (trimmed.removed == 0) return;
  Log(LogLevel::kInfo, "programs",
      absl::StrCat("removed the ", trimmed.removed,
                   " compiled programs that were used longest ago, ",
                   trimmed.removed_bytes >> 20, " of ", trimmed.bytes >> 20,
                   " MiB, to keep to --cache-limit-mib ",
                   arguments.cache_limit_mib));
}

// Trims the programs now, and each ten minutes in which there was work.
void KeepCacheSmall(const Arguments& arguments, const Hosts& hosts,
                    const std::stop_token& stop) {
  if (arguments.cache_limit_mib == 0 || arguments.backend.cache_dir.empty()) {
    return;
  }
  int64_t before = -1;
  do {
    int64_t batches = 0;
    for (const auto& host : hosts) batches += host->batches();
    if (std::exchange(before, batches) != batches) TrimCache(arguments, stop);
  } while (!SleepOrStop(std::chrono::minutes(10), stop));
}

// Waits until a driver changes, but half a minute at most.
void AwaitDevices(const DriverPlaces& places, const std::string& mark,
                  const std::stop_token& stop) {
  LogOfKind(LogLevel::kWarning, "agent", "no device any more",
            "no usable device any more; waiting for one");
  for (int looks = 0; looks < 15 && DriverMark(places) == mark; ++looks) {
    if (SleepOrStop(DriverWatch::kInterval, stop)) return;
  }
}

// Looks for devices and stays attached with them until a signal comes or a
// driver changes. Without devices the agent's first round fails, later ones
// wait: in the middle of an upgrade there are none.
int RunRound(const Arguments& arguments, bool first, Rounds& rounds,
             Heart& heart) {
  ReportRelay relay;
  const DriverPlaces places = Places(arguments);
  const std::string mark = DriverMark(places);
  const Hosts hosts = FindDevices(
      DevicesOptions(arguments),
      [&relay](const v1::AttachRequest& message) { relay.Report(message); });
  if (hosts.empty() && first) {
    Log(LogLevel::kError, "agent", NoDevice(arguments));
    return kExitNoDevice;
  }
  const std::stop_token stop = rounds.Begin();
  const Heart::Round beating(heart, hosts);
  NotifyReady(hosts.empty()
                  ? "waits for a device"
                  : absl::StrCat("has ", hosts.size(),
                                 hosts.size() == 1 ? " device" : " devices"));
  if (hosts.empty()) {
    AwaitDevices(places, mark, stop);
    return EXIT_SUCCESS;
  }
  const std::jthread watching(
      [&, watch = WatchOf(arguments, places, mark, hosts)](
          const std::stop_token& ended) {
        WatchDrivers(watch, rounds, ended);
      });
  const std::jthread trimming([&](const std::stop_token& ended) {
    KeepCacheSmall(arguments, hosts, ended);
  });
  StayAttached({.endpoint = arguments.endpoint,
                .stream = {.agent_name = AgentName(),
                           .program_version = WAVETUNE_VERSION}},
               relay, hosts, stop);
  return EXIT_SUCCESS;
}

absl::Status CheckInject(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(InjectedFacts::CheckAllowed(
      geteuid(), std::getenv("WAVETUNE_ALLOW_INJECT")));
  RETURN_IF_ERROR(InjectedFacts::Read(path).status());
  Log(LogLevel::kWarning, "agent",
      absl::StrCat("what devices say is changed by ", path,
                   " (--inject): profiles are of no use but for drills"));
  return absl::OkStatus();
}

// What a round after a reload runs with: the configuration as it is now, or as
// it was where it cannot be used.
using ReadAgain = std::function<absl::StatusOr<Arguments>()>;

void TakeConfigAgain(const ReadAgain& read_again, Arguments& arguments) {
  const absl::StatusOr<Arguments> now = read_again();
  if (now.ok()) {
    arguments = *now;
    return;
  }
  Log(LogLevel::kError, "agent",
      absl::StrCat("the configuration stays as it was: ",
                   now.status().message()));
}

int RunAgent(Arguments arguments, const ReadAgain& read_again) {
  // Pipes to every worker: 256 workers a device pass 1,024 files.
  const absl::Status enough = CheckDescriptorLimit(RaiseDescriptorLimit());
  if (!enough.ok()) {
    std::fprintf(stderr, "wavetune-agent: %s\n",
                 std::string(enough.message()).c_str());
    return EXIT_FAILURE;
  }
  ProcessSignals::Block();
  if (arguments.end_with_stdin) EndWithStdin();
  static Rounds rounds;  // Its thread may outlive this frame.
  Heart heart;
  heart.Start();
  for (bool first = true;; first = false) {
    if (rounds.TakeAsked()) TakeConfigAgain(read_again, arguments);
    const int code = RunRound(arguments, first, rounds, heart);
    if (code != EXIT_SUCCESS || rounds.ending()) return code;
  }
}

int RunWorkerOf(const Arguments& arguments) {
  if (!IsBuiltIn(arguments.worker_backend)) {
    std::fprintf(stderr, "%s: not built in\n",
                 arguments.worker_backend.c_str());
    return kExitUsage;
  }
  BeNice(arguments.worker_nice);
  return RunWorker([&arguments] {
    return CreateBackend(arguments.worker_backend, arguments.backend);
  });
}

CLI::Validator NumberIn(double low, double high) {
  const NumberRange range{low, high};
  return CLI::Validator(range, range.Text());
}

void DeclareExport(CLI::App& app, ExportCommandOptions& options) {
  CLI::App* exporting = app.add_subcommand(
      "export",
      "Writes the cubins of a table's portfolio and how to launch them "
      "(docs/export.md); needs no daemon and no GPU");
  exporting
      ->add_option("--kernel-dir", options.kernel_dir,
                   "Folder with manifest.textproto")
      ->required();
  exporting->add_option("--table", options.table_path, "Payload of a table")
      ->required();
  exporting
      ->add_option("--out", options.out_dir, "Folder to write; must not exist")
      ->required();
  exporting->add_option("--arch", options.architecture,
                        "GPU architecture like sm_90a; default: the table's");
  exporting->add_option("--specialisation", options.specialisation,
                        "Only this one; default: all that the table has");
  exporting->add_flag("--force", options.force,
                      "Replace an export that is there");
  exporting->add_flag("--ignore-fingerprint", options.ignore_fingerprint,
                      "Export although sources or compiler are not those that "
                      "the table was measured with");
  exporting->add_flag("--json", options.json, "Print JSON");
}

void Declare(CLI::App& app, Arguments& arguments) {
  app.footer(kFooter);
  app.set_version_flag("--version", WAVETUNE_VERSION);
  app.add_option(
         "--endpoint", arguments.endpoint,
         "The daemon's agent socket: unix:///path, a path, or host:port "
         "with WAVETUNE_TLS_CERT, WAVETUNE_TLS_KEY, WAVETUNE_TLS_CA")
      ->capture_default_str();
  app.add_option(
         "--backends", arguments.backends,
         absl::StrCat("Backends to look for devices with, comma-separated: ",
                      absl::StrJoin(KnownBackends(), ", ")))
      ->delimiter(',')
      ->check(CLI::IsMember(KnownBackends()))
      ->capture_default_str();
  app.add_option("--cache-dir", arguments.backend.cache_dir,
                 "Folder for compiled programs")
      ->capture_default_str();
  app.add_option("--cache-limit-mib", arguments.cache_limit_mib,
                 "MiB that compiled programs may take there: from time to time "
                 "those that were used longest ago are removed, none that was "
                 "used within six hours; 0: no limit")
      ->check(NumberIn(0, 1e9))
      ->capture_default_str();
  app.add_option("--memory-cap", arguments.backend.memory_cap,
                 "Device memory that the buffers of a CUDA worker may take "
                 "together: up to 1 a fraction of what is free without them, "
                 "above 1 MiB")
      ->check(NumberIn(1e-6, 1e9))
      ->capture_default_str();
  app.add_option("--python", arguments.backend.python,
                 "Python interpreter with Triton, which compiles Triton "
                 "kernels: a path, or a name on PATH")
      ->envname("WAVETUNE_PYTHON")
      ->capture_default_str();
  app.add_option("--replay-trace", arguments.backend.replay_traces,
                 "Folder with a recorded trace (backend replay); repeatable");
  app.add_flag("--replay-judged", arguments.backend.replay_judged,
               "Answer at the problems that quality is judged on, too; for "
               "`wavetune bench`, never for profiling");
  app.add_option("--replay-boards", arguments.backend.replay_boards,
                 "How many boards to pretend of each recorded device; their "
                 "UUIDs end in -b2, -b3, ...")
      ->check(NumberIn(1, 64))
      ->capture_default_str();
  app.add_option("--replay-pace", arguments.backend.replay_pace,
                 "A replayed burst takes so many times the time that was "
                 "recorded; 0: it is answered at once")
      ->check(NumberIn(0, 1e6))
      ->capture_default_str();
  app.add_option("--inject", arguments.backend.inject,
                 "For drills and tests: a file that says what to pretend of "
                 "devices, as \"driver = 590.12\" (docs/testing.md); refused "
                 "for users that services run as, unless "
                 "WAVETUNE_ALLOW_INJECT=1 is set");
  app.add_option("--prepare-workers", arguments.prepare_workers,
                 "Processes that compile and check, per device. Default: one "
                 "a core that the agent may use (affinity, CPU quota of its "
                 "cgroup), at most 16, as far as 256 MiB of free memory each "
                 "(limit of its cgroup) go round")
      ->check(NumberIn(1, 256));
  app.add_option("--nice", arguments.nice,
                 "How many steps of nice(2) workers that compile and check are "
                 "below the agent, so that they leave the cores to others; 0: "
                 "none. A worker that measures is not")
      ->check(NumberIn(0, 19))
      ->capture_default_str();
  app.add_option("--prepare-timeout", arguments.prepare_timeout_s,
                 "Seconds to compile and check one candidate; time for which "
                 "its worker gets no core does not count, up to four times as "
                 "long")
      ->check(NumberIn(0.001, 86400))
      ->capture_default_str();
  app.add_option("--measure-timeout", arguments.measure_timeout_s,
                 "Seconds for one burst of launches")
      ->check(NumberIn(0.001, 86400))
      ->capture_default_str();
  app.add_flag(kEndWithStdin, arguments.end_with_stdin, kEndWithStdinHelp);
  app.add_option("--log-level", arguments.log_level,
                 "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.add_option("--log-format", arguments.log_format,
                 "text, or json: an object a line with time, level, component "
                 "and message")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();

  CLI::App* compile = app.add_subcommand(
      "compile",
      "Compiles candidates of a kernel folder and compares their results with "
      "the reference; needs no daemon");
  compile
      ->add_option("--kernel-dir", arguments.compile.kernel_dir,
                   "Folder with manifest.textproto")
      ->required();
  compile->add_option("--device", arguments.compile.device_uuid,
                      "Device UUID; default: the first that runs the kernel");
  CLI::Option* const guard_pages = compile->add_flag(
      "--guard-pages", arguments.compile.guard_pages,
      "Check on a CPU (OpenCL) with arguments that end, and begin, at a page "
      "that nobody may touch");
  compile
      ->add_option("--arch", arguments.compile.architecture,
                   "Only compile, for a GPU architecture like sm_90a (CUDA "
                   "kernels; needs no GPU)")
      ->excludes("--device")
      ->excludes(guard_pages);
  compile
      ->add_option("--sample", arguments.compile.sample,
                   "Candidates, spread over the space")
      ->check(NumberIn(1, 1e6))
      ->capture_default_str();
  compile->add_flag("--all", arguments.compile.all, "Every candidate");
  compile->add_flag("--json", arguments.compile.json, "Print JSON");

  DeclareExport(app, arguments.exporting);

  // Started by the agent itself, so not in --help.
  CLI::App* worker = app.add_subcommand("worker")->group("");
  worker->add_option("--backend", arguments.worker_backend)->required();
  worker->add_option("--cache-dir", arguments.backend.cache_dir);
  worker->add_option("--replay-trace", arguments.backend.replay_traces);
  worker->add_flag("--replay-judged", arguments.backend.replay_judged);
  worker->add_option("--replay-boards", arguments.backend.replay_boards);
  worker->add_option("--replay-pace", arguments.backend.replay_pace);
  worker->add_option("--memory-cap", arguments.backend.memory_cap);
  worker->add_option("--python", arguments.backend.python);
  worker->add_flag("--skip-nvidia-opencl",
                   arguments.backend.skip_nvidia_opencl);
  worker->add_flag("--guard-pages", arguments.backend.guard_pages);
  worker->add_option("--inject", arguments.backend.inject);
  worker->add_option("--nice", arguments.worker_nice);
  worker->add_option("--arch", arguments.backend.compile_only_architecture);
}

// A worker's lines are relayed by the agent; other commands are for people.
LogFormat Format(const CLI::App& app, const Arguments& arguments) {
  const LogFormat asked = *ParseLogFormat(arguments.log_format);
  const bool attached = app.get_subcommands().empty();
  return asked == LogFormat::kText && !attached ? LogFormat::kPlain : asked;
}

// What was asked for: by the command line, the environment, and the file of
// --config as it is now.
struct Invocation {
  Invocation() {
    arguments.backend.cache_dir = cache.path;
    Declare(app, arguments);
    sources.emplace(app, "agent", "WAVETUNE_AGENT_",
                    std::vector<std::string>{"end-with-stdin"});
  }

  // A worker has its options from the agent alone.
  absl::Status ApplyFile() {
    return app.got_subcommand("worker") ? absl::OkStatus()
                                        : sources->ApplyFile();
  }
  void UseLogOptions() const {
    SetLogLevel(*ParseLogLevel(arguments.log_level));
    SetLogFormat(Format(app, arguments));
  }
  void ChooseCacheDir() {
    std::string& dir = arguments.backend.cache_dir;
    KeepProgramsSomewhere(cache.problem, app.count("--cache-dir") > 0, dir);
    dir = OwnCacheDir(dir);
  }

  const CacheDir cache = DefaultCacheDir();
  Arguments arguments;
  CLI::App app{kDescription, "wavetune-agent"};
  std::optional<OptionSources> sources;
};

absl::StatusOr<Arguments> ReadArguments(int argc, char** argv) {
  Invocation invocation;
  invocation.app.parse(argc, argv);  // As it did at the start.
  RETURN_IF_ERROR(invocation.ApplyFile());
  RETURN_IF_ERROR(CheckInject(invocation.arguments.backend.inject));
  invocation.UseLogOptions();
  invocation.ChooseCacheDir();
  return invocation.arguments;
}

// --print-config and --check-config.
absl::Status ShowConfig(const Invocation& invocation) {
  const Arguments& arguments = invocation.arguments;
  if (invocation.sources->check()) {
    RETURN_IF_ERROR(CheckInject(arguments.backend.inject));
    RETURN_IF_ERROR(CheckEndpoint(arguments.endpoint));
    for (const std::string& trace : arguments.backend.replay_traces) {
      std::error_code ignored;
      if (std::filesystem::is_directory(trace, ignored)) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("--replay-trace ", trace,
                       " is no folder: name that of a recorded trace"));
    }
  }
  std::cout << (invocation.sources->print()
                    ? invocation.sources->Text()
                    : "the configuration can be used\n");
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Invocation invocation;
  const CLI::App& app = invocation.app;
  const Arguments& arguments = invocation.arguments;
  try {
    invocation.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // CLI11 has no other way.
    // Zero: help, or the version.
    const bool wanted = app.exit(error) == 0;
    return wanted ? Exit(absl::OkStatus()) : kExitUsage;
  }
  if (const absl::Status file = invocation.ApplyFile(); !file.ok()) {
    Exit(file);
    return kExitUsage;
  }
  if (invocation.sources->print() || invocation.sources->check()) {
    return Exit(ShowConfig(invocation));
  }
  invocation.UseLogOptions();
  RouteLibraryLogs();
  if (app.got_subcommand("worker")) return RunWorkerOf(arguments);
  invocation.ChooseCacheDir();
  if (app.got_subcommand("compile")) return RunCompile(arguments);
  if (app.got_subcommand("export")) return RunExport(arguments);
  const absl::Status injected = CheckInject(arguments.backend.inject);
  if (!injected.ok()) return Exit(injected);
  try {
    return RunAgent(arguments,
                    [argc, argv] { return ReadArguments(argc, argv); });
  } catch (const std::system_error& error) {  // std::thread has no other way.
    Log(LogLevel::kError, "agent",
        absl::StrCat("the agent cannot start a thread (", error.what(),
                     "): ", ExhaustedAdvice(Resource::kProcesses)));
    return EXIT_FAILURE;
  }
}

}  // namespace
}  // namespace wavetune

int main(int argc, char** argv) { return wavetune::Main(argc, argv); }
