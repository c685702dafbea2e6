// What the agent's program was asked for: options of the command line, of the
// environment, and of the configuration file as it is now.
//
//   Invocation invocation;
//   invocation.app.parse(argc, argv);
//   RETURN_IF_ERROR(invocation.ApplyFile());
//   ... invocation.arguments ...
//
// Thread safety: none.
#ifndef WAVETUNE_PROFILER_AGENT_AGENT_ARGUMENTS_H_
#define WAVETUNE_PROFILER_AGENT_AGENT_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/cache_paths.h"
#include "base/option_sources.h"
#include "base/socket_paths.h"
#include "profiler_agent/commands/compile_command.h"
#include "profiler_agent/commands/export_command.h"
#include "profiler_agent/link/agent_devices.h"
#include "profiler_agent/worker/backends.h"

namespace wavetune {

// As --help has them.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNoDevice = 3;

struct Arguments {
  std::string endpoint = "unix://" + DefaultSocketPath("agent");
  std::vector<std::string> backends =
      BackendsThat(&BackendAbilities::drives_hardware);
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

// Returns how devices are looked for, and their workers started.
AgentDevicesOptions DevicesOptions(const Arguments& arguments);

// Whether the file of --inject can be used, where one is named; the log says
// that it is. Errors: as InjectedFacts.
absl::Status CheckInject(const std::string& path);

// Declares the program's options.
struct Invocation {
  Invocation();

  // A worker has its options from the agent alone. Errors: as OptionSources.
  absl::Status ApplyFile();
  void UseLogOptions() const;
  // Where the usual folder for compiled programs cannot be used another one is
  // taken, or none; the log says so.
  void ChooseCacheDir();

  const CacheDir cache;
  Arguments arguments;
  CLI::App app;
  std::optional<OptionSources> sources;
};

// Returns what a reload runs with: the same command line, and the file as it is
// now. Errors: as ApplyFile and CheckInject.
absl::StatusOr<Arguments> ReadArguments(int argc, char** argv);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_AGENT_ARGUMENTS_H_
