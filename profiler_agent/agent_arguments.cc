#include "profiler_agent/agent_arguments.h"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/option_checks.h"
#include "base/own_files.h"
#include "base/process_signals.h"
#include "base/status_macros.h"
#ifdef WAVETUNE_INJECTION
#include "profiler_agent/testing/injected_facts.h"
#endif

namespace wavetune {
namespace {

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

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// This binary, whatever the working directory and PATH are later.
std::string ThisProgram() {
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "wavetune-agent" : path.string();
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
  const std::vector<std::string> known =
      BackendsThat(&BackendAbilities::is_known);
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
                      absl::StrJoin(known, ", ")))
      ->delimiter(',')
      ->check(CLI::IsMember(known))
      ->capture_default_str();
  app.add_option("--cache-dir", arguments.backend.cache_dir,
                 "Folder for compiled programs")
      ->capture_default_str();
  app.add_option("--cache-limit-mib", arguments.cache_limit_mib,
                 "MiB that compiled programs may take there: from time to time "
                 "those that were used longest ago are removed, none that was "
                 "used within six hours; 0: no limit")
      ->check(NumberIn({0, 1e9}))
      ->capture_default_str();
  app.add_option("--memory-cap", arguments.backend.memory_cap,
                 "Device memory that the buffers of a CUDA worker may take "
                 "together: up to 1 a fraction of what is free without them, "
                 "above 1 MiB")
      ->check(NumberIn({1e-6, 1e9}))
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
  app.add_option("--replay-devices", arguments.backend.replay_devices,
                 "How many devices to pretend of each recorded device; their "
                 "UUIDs end in -b2, -b3, ...")
      ->check(NumberIn({1, 64}))
      ->capture_default_str();
  app.add_option("--replay-pace", arguments.backend.replay_pace,
                 "A replayed burst takes so many times the time that was "
                 "recorded; 0: it is answered at once")
      ->check(NumberIn({0, 1e6}))
      ->capture_default_str();
#ifdef WAVETUNE_INJECTION
  app.add_option("--inject", arguments.backend.inject,
                 "For drills and tests: a file that says what to pretend of "
                 "devices, as \"driver = 590.12\" (docs/testing.md)");
#endif
  app.add_option("--prepare-workers", arguments.prepare_workers,
                 "Processes that compile and check, per device. Default: one "
                 "a core that the agent may use (affinity, CPU quota of its "
                 "cgroup), at most 16, as far as 256 MiB of free memory each "
                 "(limit of its cgroup) go round")
      ->check(NumberIn({1, 256}));
  app.add_option("--nice", arguments.nice,
                 "How many steps of nice(2) workers that compile and check are "
                 "below the agent, so that they leave the cores to others; 0: "
                 "none. A worker that measures is not")
      ->check(NumberIn({0, 19}))
      ->capture_default_str();
  app.add_option("--prepare-timeout", arguments.prepare_timeout_s,
                 "Seconds to compile and check one candidate; time for which "
                 "its worker gets no core does not count, up to four times as "
                 "long")
      ->check(NumberIn({0.001, 86400}))
      ->capture_default_str();
  app.add_option("--measure-timeout", arguments.measure_timeout_s,
                 "Seconds for one burst of launches")
      ->check(NumberIn({0.001, 86400}))
      ->capture_default_str();
  app.add_flag(kEndWithStdin, arguments.end_with_stdin, kEndWithStdinHelp);
  DeclareLogOptions(app, &arguments.log_level, &arguments.log_format);

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
      ->check(NumberIn({1, 1e6}))
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
  worker->add_option("--replay-devices", arguments.backend.replay_devices);
  worker->add_option("--replay-pace", arguments.backend.replay_pace);
  worker->add_option("--memory-cap", arguments.backend.memory_cap);
  worker->add_option("--python", arguments.backend.python);
  worker->add_flag("--skip-nvidia-opencl",
                   arguments.backend.skip_nvidia_opencl);
  worker->add_flag("--guard-pages", arguments.backend.guard_pages);
#ifdef WAVETUNE_INJECTION
  worker->add_option("--inject", arguments.backend.inject);
#endif
  worker->add_option("--nice", arguments.worker_nice);
  worker->add_option("--arch", arguments.backend.compile_only_architecture);
}

// A worker's lines are relayed by the agent; other commands are for people.
LogFormat Format(const CLI::App& app, const Arguments& arguments) {
  const LogFormat asked = *ParseLogFormat(arguments.log_format);
  const bool attached = app.get_subcommands().empty();
  return asked == LogFormat::kText && !attached ? LogFormat::kPlain : asked;
}

}  // namespace

AgentDevicesOptions DevicesOptions(const Arguments& arguments) {
  return {.program = ThisProgram(),
          .backends = arguments.backends,
          .backend = arguments.backend,
          .prepare_workers = arguments.prepare_workers,
          .prepare_nice = arguments.nice,
          .prepare_timeout = Milliseconds(arguments.prepare_timeout_s),
          .measure_timeout = Milliseconds(arguments.measure_timeout_s)};
}

absl::Status CheckInject(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
#ifdef WAVETUNE_INJECTION
  RETURN_IF_ERROR(InjectedFacts::Read(path).status());
#endif
  Log(LogLevel::kWarning, "agent",
      absl::StrCat("what devices say is changed by ", path,
                   " (--inject): profiles are of no use but for drills"));
  return absl::OkStatus();
}

Invocation::Invocation()
    : cache(DefaultCacheDir()), app(kDescription, "wavetune-agent") {
  arguments.backend.cache_dir = cache.path;
  Declare(app, arguments);
  sources.emplace(app, "agent", "WAVETUNE_AGENT_",
                  std::vector<std::string>{"end-with-stdin"});
}

absl::Status Invocation::ApplyFile() {
  return app.got_subcommand("worker") ? absl::OkStatus() : sources->ApplyFile();
}

void Invocation::UseLogOptions() const {
  SetLogLevel(*ParseLogLevel(arguments.log_level));
  SetLogFormat(Format(app, arguments));
}

void Invocation::ChooseCacheDir() {
  std::string& dir = arguments.backend.cache_dir;
  KeepProgramsSomewhere(cache.problem, app.count("--cache-dir") > 0, dir);
  dir = OwnCacheDir(dir);
}

absl::StatusOr<Arguments> ReadArguments(int argc, char** argv) {
  Invocation invocation;
  invocation.app.parse(argc, argv);  // As it did at the start.
  RETURN_IF_ERROR(invocation.ApplyFile());
  RETURN_IF_ERROR(CheckInject(invocation.arguments.backend.inject));
  invocation.UseLogOptions();
  invocation.ChooseCacheDir();
  return invocation.arguments;
}

}  // namespace wavetune
