// FleetSimulation: nodes of a fleet in one process, and one real etcd.
//
//   const nlohmann::json figures = SimulateFleet({.nodes = 2000});
//
// Each node is what a daemon has of a fleet: a connection, a watch and a
// session of its own (EtcdRegistry), the rules (FleetTables) and a catalog. Its
// stores are in memory, and tables come from no job, but have the size of real
// ones.
#ifndef WAVETUNE_TESTS_BENCH_FLEET_SIMULATION_H_
#define WAVETUNE_TESTS_BENCH_FLEET_SIMULATION_H_

#include <chrono>
#include <functional>
#include <string>

#include "nlohmann/json.hpp"

namespace wavetune::testing {

struct FleetSimulationOptions {
  int nodes = 2000;  // Spread over the classes evenly.
  int classes = 8;
  int kernels = 3;
  int single_tables = 24;  // Promoted one after another, and timed.
  int promotions = 1000;   // After those: of every head in turn.
  std::chrono::seconds session_ttl{30};
  std::chrono::milliseconds jitter{1000};  // As the daemon's.
  std::chrono::seconds idle{30};           // In which etcd's work is measured.
  std::chrono::seconds outage{35};         // From etcd's kill to its start.
  // Hears how far it is.
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

// Returns the measurements: times in milliseconds or seconds, as the names say.
// "complete" is whether every table reached every node of its class, and every
// watch and session came back, each within minutes. Cannot fail otherwise, but
// for an etcd that does not start.
nlohmann::json SimulateFleet(const FleetSimulationOptions& options);

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_BENCH_FLEET_SIMULATION_H_
