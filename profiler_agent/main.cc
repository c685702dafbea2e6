// wavetune-agent: see --help.
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "profiler_agent/worker/backends.h"
#include "profiler_agent/worker/worker_main.h"

namespace wavetune {
namespace {

int Main(int argc, char** argv) {
  CLI::App app("measures kernels");
  CLI::App* worker = app.add_subcommand("worker", "one worker")->group("");
  std::string backend;
  BackendOptions options;
  worker->add_option("--backend", backend)->required();
  worker->add_option("--cache-dir", options.cache_dir);
  worker->add_option("--replay-trace", options.replay_traces);
  CLI11_PARSE(app, argc, argv);
  return RunWorker([&] { return CreateBackend(backend, options); });
}

}  // namespace
}  // namespace wavetune

int main(int argc, char** argv) { return wavetune::Main(argc, argv); }
