// A fleet whose network falls apart, with real daemons, agents, clients and
// etcd on hosts of their own.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/fleet/etcd/test_etcd.h"
#include "tests/component/fleet_node.h"

namespace wavetune::testing {
namespace {

using ::testing::HasSubstr;

// Longer in scripts/soak.sh: 60 s.
std::chrono::seconds PartitionTime() {
  const char* const given = std::getenv("WAVETUNE_PARTITION_SECONDS");
  return std::chrono::seconds(given == nullptr ? 20 : std::atoi(given));
}

TEST(FleetPartitionTest, APartitionedFleetServesItsClientsAndComesToOneTable) {
  NetworkHosts hosts(2);
  if (!hosts.why_not().empty()) GTEST_SKIP() << hosts.why_not();
  TestEtcd etcd;
  etcd.ListenEverywhere();
  etcd.Start();
  ASSERT_FALSE(::testing::Test::HasFatalFailure());
  const std::string url = std::string("etcd://") + NetworkHosts::kAddress +
                          ":" + std::to_string(etcd.port());
  std::vector<std::unique_ptr<FleetNode>> nodes;
  for (int i = 0; i < 2; ++i) {
    nodes.push_back(std::make_unique<FleetNode>());
    nodes[i]->RunOn(hosts, i);
    nodes[i]->Start(url, "node-" + std::to_string(i));
    if (::testing::Test::HasFatalFailure() || ::testing::Test::IsSkipped())
      return;
  }
  // Some profiles are no better than what serves, and end with that.
  std::set<std::string> seen = {""};
  const auto promoted = [&](FleetNode& node, uint64_t job, int samples) {
    for (int i = 0; i < 20; ++i) {
      std::string digest = node.WaitForJob(job).value("digest", "");
      if (seen.insert(digest).second) return digest;
      job = node.Reprofile("repeats", {"--fresh"}, samples + i);
    }
    ADD_FAILURE() << "nothing was promoted";
    return std::string();
  };
  const auto promote = [&](FleetNode& node, int samples) {
    return promoted(node, node.Reprofile("repeats", {"--fresh"}, samples),
                    samples);
  };
  ASSERT_TRUE(AllServe(nodes, promote(*nodes[0], 8)));
  std::vector<std::unique_ptr<Program>> clients;
  for (const auto& node : nodes) {
    clients.push_back(
        Program::Start({FleetNode::Binary("fetch_poller"),
                        "unix:" + node->Path("reader.sock"), "repeats"},
                       {.log_path = node->Path("client.err"),
                        .out_path = node->Path("client")}));
  }

  hosts.CutOff(1);
  const auto healed = std::chrono::steady_clock::now() + PartitionTime();
  const uint64_t job = nodes[1]->Reprofile("repeats", {"--fresh"}, 30);
  const std::string there = promote(*nodes[0], 8);
  const std::string here = promoted(*nodes[1], job, 30);
  std::this_thread::sleep_until(healed);
  EXPECT_TRUE(FleetNode::WaitUntil([&] {
    return nodes[1]->Log("daemon").find("this node serves what it has") !=
           std::string::npos;
  }));
  EXPECT_EQ(nodes[0]->Serving(), there);
  EXPECT_EQ(nodes[1]->Serving(), here);
  hosts.Reconnect(1);
  const auto reconnected = std::chrono::steady_clock::now();
  EXPECT_TRUE(AllServe(nodes, there));
  const std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - reconnected;
  ::testing::Test::RecordProperty("converged_ms",
                                  static_cast<int>(took.count()));
  EXPECT_THAT(nodes[1]->Cli({"tables", "rejected", "repeats", "--json"}).out,
              HasSubstr(here));
  for (size_t i = 0; i < nodes.size(); ++i) {
    clients[i]->Stop(std::chrono::seconds(20));
    const std::string told = ReadText(nodes[i]->Path("client"));
    EXPECT_THAT(told, HasSubstr("\"failed\":0")) << told;
  }
}

}  // namespace
}  // namespace wavetune::testing
