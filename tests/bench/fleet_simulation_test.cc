// What the simulation of a fleet shows of a small one. How fast it is, is
// judged by a person (fleet_simulator).
#include "tests/bench/fleet_simulation.h"

#include <gtest/gtest.h>

namespace wavetune::testing {
namespace {

TEST(FleetSimulationTest, EveryNodeFollowsAndTheRegistryStaysSmall) {
  const nlohmann::json figures =
      SimulateFleet({.nodes = 48,
                     .classes = 4,
                     .kernels = 2,
                     .single_tables = 4,
                     .promotions = 300,
                     .session_ttl = std::chrono::seconds(3),
                     .jitter = std::chrono::milliseconds(50),
                     .idle = std::chrono::seconds(1),
                     .outage = std::chrono::seconds(5)});
  EXPECT_TRUE(figures["complete"]) << figures.dump(2);
  EXPECT_EQ(figures["refused"], 0);
  EXPECT_EQ(figures["database"]["heads"], 8);
  EXPECT_EQ(figures["database"]["payloads"], 8 * 3);
  // What was compacted is used again.
  const nlohmann::json& sizes = figures["database"]["sizes"];
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_LT(sizes[2]["file_bytes"], 1.5 * sizes[0]["file_bytes"].get<double>())
      << figures.dump(2);
}

}  // namespace
}  // namespace wavetune::testing
