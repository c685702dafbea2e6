// wavetune-agent: see --help.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/init_process.h"
#include "base/library_log.h"
#include "base/log.h"
#include "base/process_signals.h"
#include "base/socket_paths.h"
#include "base/standard_output.h"
#include "base/status_macros.h"
#include "profiler_agent/agent_arguments.h"
#include "profiler_agent/agent_rounds.h"
#include "profiler_agent/commands/compile_command.h"
#include "profiler_agent/commands/export_command.h"
#include "profiler_agent/link/attach_client.h"
#include "profiler_agent/measure/environment_error.h"
#include "profiler_agent/worker/backends.h"
#include "profiler_agent/worker/worker_main.h"

namespace wavetune {
namespace {

// Returns the exit code for `status` and prints what went wrong, which may be
// that standard output could not be written.
int Exit(absl::Status status) {
  status.Update(FinishOutput(std::cout));
  if (status.ok()) return EXIT_SUCCESS;
  std::cerr << "wavetune-agent: " << status.message() << "\n";
  if (absl::IsInvalidArgument(status)) return kExitUsage;
  return absl::IsUnavailable(status) ? kExitNoDevice : EXIT_FAILURE;
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
  // No daemon will ever be there; files of TLS may come later.
  if (!IsEndpoint(GrpcTarget(arguments.endpoint)))
    return Exit(CheckEndpoint(arguments.endpoint));
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

int main(int argc, char** argv) {
  wavetune::LeaveInitBehind();
  return wavetune::Main(argc, argv);
}
