// A driver upgrade that rolls through a fleet: real daemons, agents, clients
// and etcd; the driver is pretended.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/fleet/etcd/test_etcd.h"
#include "tests/component/fleet_node.h"
#include "tests/lib/program.h"

namespace wavetune::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// More in scripts/soak.sh: 20.
int NodeCount() {
  const char* const given = std::getenv("WAVETUNE_FLEET_NODES");
  return given == nullptr ? 3 : std::atoi(given);
}

json JobsOf(const FleetNode& node) {
  return node.Cli({"jobs", "list", "--json"})
      .Json()
      .value("jobs", json::array());
}

// Jobs that measured for a table, rather than for a look at another node's.
int ProfilesOf(const FleetNode& node) {
  int profiles = 0;
  for (const json& job : JobsOf(node)) {
    const bool looks = job.value("reason", "").starts_with("spot check");
    const bool measured = job.value("samples", int64_t{0}) > 0 ||
                          (job.contains("drift") && !job["drift"].is_null());
    profiles += measured && !looks ? 1 : 0;
  }
  return profiles;
}

// Whether the node serves the fleet's table for the class of a driver.
bool ServesFor(const FleetNode& node, const std::string& driver) {
  const json fleet = node.Cli({"fleet", "status", "--json"}).Json();
  for (const json& head : fleet.value("heads", json::array())) {
    if (head.value("environment_key", "").find("driver=" + driver) !=
            std::string::npos &&
        !head.value("digest", "").empty() && head.value("behind", "").empty())
      return true;
  }
  return false;
}

TEST(FleetUpgradeTest, EachClassIsProfiledOnceAndNoFetchFails) {
  TestEtcd etcd;
  etcd.Start();
  ASSERT_FALSE(::testing::Test::HasFatalFailure());
  std::vector<std::unique_ptr<FleetNode>> nodes;
  std::vector<std::unique_ptr<Program>> clients;
  for (int i = 0; i < NodeCount(); ++i) {
    nodes.push_back(std::make_unique<FleetNode>());
    FleetNode& node = *nodes.back();
    node.Pretend("driver = 1.0\n");
    node.Start(etcd.url(), "node-" + std::to_string(i), {},
               {"--inject", node.Path("inject")});
    if (::testing::Test::HasFatalFailure() || ::testing::Test::IsSkipped())
      return;
  }
  nodes[0]->WaitForJob(nodes[0]->Reprofile("repeats", {}, 16));
  for (const auto& node : nodes) {
    ASSERT_TRUE(FleetNode::WaitUntil([&] { return ServesFor(*node, "1.0"); }));
    clients.push_back(
        Program::Start({FleetNode::Binary("fetch_poller"),
                        "unix:" + node->Path("reader.sock"), "repeats"},
                       {.log_path = node->Path("client.err"),
                        .out_path = node->Path("client")}));
  }
  const auto profiles = [&] {
    int all = 0;
    for (const auto& node : nodes) all += ProfilesOf(*node);
    return all;
  };
  EXPECT_EQ(profiles(), 1);

  // One after the other, as an upgrade goes; the first one's drift probe
  // decides.
  const auto begun = std::chrono::steady_clock::now();
  for (const auto& node : nodes) {
    node->Pretend("driver = 2.0\n");
    EXPECT_TRUE(FleetNode::WaitUntil([&] { return ServesFor(*node, "2.0"); }))
        << JobsOf(*node).dump(2) << node->Cli({"fleet", "status"}).out;
  }
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(profiles(), 2);
  ::testing::Test::RecordProperty("seconds", static_cast<int>(took.count()));
  int64_t fetches = 0;
  for (size_t i = 0; i < clients.size(); ++i) {
    clients[i]->Stop(std::chrono::seconds(20));
    std::istringstream text(ReadText(nodes[i]->Path("client")));
    json last;
    for (std::string line; std::getline(text, line);) last = json::parse(line);
    EXPECT_EQ(last.value("failed", -1), 0) << last.dump();
    fetches += last.value("fetches", int64_t{0});
  }
  ::testing::Test::RecordProperty("fetches", std::to_string(fetches));
  EXPECT_GT(fetches, 0);
}

}  // namespace
}  // namespace wavetune::testing
