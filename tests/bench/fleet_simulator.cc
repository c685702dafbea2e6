// A fleet of simulated nodes with one real etcd: how fast a table reaches the
// last node, how large the database is, how long an outage lasts on, and what
// each node costs etcd.
//
//   build/ci/bin/fleet_simulator [--nodes=2000] [--classes=8] [--kernels=3]
//       [--promotions=1000] [--outage_s=35] [--write=FILE]
//
// Prints JSON (docs/fleet.md has what it means). Needs some threads and a
// socket for each node: see `ulimit -n` and kernel.pid_max.
#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tests/bench/fleet_simulation.h"

int main(int argc, char** argv) {
  wavetune::testing::FleetSimulationOptions options;
  std::string write;
  int outage_s = static_cast<int>(options.outage.count());
  const std::map<std::string, int*> numbers = {
      {"--nodes=", &options.nodes},
      {"--classes=", &options.classes},
      {"--kernels=", &options.kernels},
      {"--promotions=", &options.promotions},
      {"--outage_s=", &outage_s}};
  for (int i = 1; i < argc; ++i) {
    absl::string_view text = argv[i];
    if (absl::ConsumePrefix(&text, "--write=")) {
      write = std::string(text);
      continue;
    }
    bool known = false;
    for (const auto& [name, value] : numbers) {
      absl::string_view rest = argv[i];
      known = known || (absl::ConsumePrefix(&rest, name) &&
                        absl::SimpleAtoi(rest, value) && *value >= 1);
    }
    if (!known) {
      std::fprintf(stderr, "%s: no option, or not a number above 0\n", argv[i]);
      return 2;
    }
  }
  if (options.nodes < options.classes) {
    std::fprintf(stderr, "--nodes: at least one for each class\n");
    return 2;
  }
  options.outage = std::chrono::seconds(outage_s);
  options.note = [](const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
  };
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const nlohmann::json figures = wavetune::testing::SimulateFleet(options);
  std::printf("%s\n", figures.dump(1).c_str());
  if (!write.empty()) std::ofstream(write) << figures.dump(1) << "\n";
  return figures["complete"] ? 0 : 1;
}
