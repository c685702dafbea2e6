// Nodes of one fleet: real daemons, agents and etcd.
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/fleet/etcd/test_etcd.h"
#include "tests/component/fleet_node.h"
#include "tests/lib/program.h"

namespace wavetune::testing {
namespace {

using ::testing::HasSubstr;

TEST(FleetTest, FiveNodesServeWhatOneOfThemProfiled) {
  TestEtcd etcd;
  etcd.Start();
  ASSERT_FALSE(::testing::Test::HasFatalFailure());
  std::vector<std::unique_ptr<FleetNode>> nodes;
  for (int i = 0; i < 5; ++i) {
    nodes.push_back(std::make_unique<FleetNode>());
    nodes.back()->Start(etcd.url(), "node-" + std::to_string(i));
    if (::testing::Test::HasFatalFailure() || ::testing::Test::IsSkipped())
      return;
    // Two keep their agents; the others have been seen to have the device.
    if (i >= 2) nodes.back()->agent().Kill();
  }
  const auto profile = [](FleetNode& node, int samples) {
    const nlohmann::json job =
        node.WaitForJob(node.Reprofile("repeats", {"--fresh"}, samples));
    EXPECT_NE(job.value("digest", ""), "") << job.dump(2);
    return job.value("digest", "");
  };
  const std::string first = profile(*nodes[0], 8);
  const auto promoted = std::chrono::steady_clock::now();
  EXPECT_TRUE(AllServe(nodes, first));
  const std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - promoted;
  // Looked at by a command of each node in turn.
  ::testing::Test::RecordProperty("last_node_ms",
                                  static_cast<int>(took.count()));
  const nlohmann::json listed =
      nodes[4]->Cli({"tables", "history", "repeats", "--json"}).Json();
  EXPECT_THAT(listed.dump(), HasSubstr("node-0"));

  // Without etcd all serve on; what is promoted meanwhile is published later.
  etcd.Kill();
  ASSERT_EQ(nodes[1]
                ->Cli({"tables", "retire", first, "--although-it-serves"})
                .exit_code,
            0);
  const std::string second = profile(*nodes[1], 9);
  EXPECT_EQ(nodes[0]->Serving(), first);
  etcd.Start();
  EXPECT_TRUE(AllServe(nodes, second));
  EXPECT_THAT(nodes[0]->Log("daemon"),
              HasSubstr("this node serves what it has"));

  // An operator goes back, on a node that did not profile.
  const CliResult rolled_back =
      nodes[4]->Cli({"fleet", "rollback", "repeats", "--to",
                     first.substr(0, 16), "--reason", "slower in production"});
  EXPECT_EQ(rolled_back.exit_code, 0) << rolled_back.err;
  EXPECT_THAT(rolled_back.out, HasSubstr("it serves here"));
  EXPECT_TRUE(AllServe(nodes, first));
  EXPECT_THAT(nodes[0]->Cli({"fleet", "status"}).out,
              HasSubstr("slower in production; wavetune fleet unfreeze"));
  EXPECT_THAT(nodes[1]->Cli({"fleet", "publish", "repeats"}).err,
              HasSubstr("is frozen by user"));
  EXPECT_EQ(nodes[0]->Cli({"fleet", "unfreeze", "repeats"}).exit_code, 0);

  // The list of trusted keys is read again.
  nodes[3]->WriteFile(nodes[3]->Path("trust"), std::string(kSigningPublicKey) +
                                                   " *\nrevoked " +
                                                   kSigningPublicKey + "\n");
  ASSERT_EQ(::kill(nodes[3]->daemon().pid(), SIGHUP), 0);
  EXPECT_TRUE(FleetNode::WaitUntil([&] {
    return nodes[3]->Cli({"fleet", "status"}).out.find("is revoked") !=
           std::string::npos;
  }));
  EXPECT_EQ(nodes[3]->Serving(), first);
}

// The newest job of a kernel; an empty object where there is none.
nlohmann::json NewestJob(const FleetNode& node) {
  const nlohmann::json jobs = node.Cli({"jobs", "list", "--json"})
                                  .Json()
                                  .value("jobs", nlohmann::json::array());
  return jobs.empty() ? nlohmann::json::object() : jobs[0];
}

int64_t SamplesOf(const nlohmann::json& job) {
  return job.value("samples", int64_t{0});
}

TEST(FleetTest, AnotherNodeDoesTheProfileOfANodeThatDied) {
  TestEtcd etcd;
  etcd.Start();
  ASSERT_FALSE(::testing::Test::HasFatalFailure());
  FleetNode one;
  FleetNode two;
  one.Start(etcd.url(), "node-1", {"--fleet-session", "3"});
  two.Start(etcd.url(), "node-2", {"--fleet-session", "3"});
  if (::testing::Test::HasFatalFailure() || ::testing::Test::IsSkipped())
    return;
  const uint64_t job = one.Reprofile("repeats", {"--fresh"}, 400);
  // Midway, in the middle of a batch.
  nlohmann::json last;
  ASSERT_TRUE(FleetNode::WaitUntil([&] {
    last = one.Job(job);
    return SamplesOf(last) * 3 > last.value("total", int64_t{0}) &&
           SamplesOf(last) > 0;
  })) << last.dump(2);
  one.daemon().Kill();
  one.agent().Kill();
  nlohmann::json other;
  ASSERT_TRUE(FleetNode::WaitUntil([&] {
    other = NewestJob(two);
    return other.value("state", "") == "SUCCEEDED";
  })) << other.dump(2);
  EXPECT_NE(other.value("digest", ""), "") << other.dump(2);
  EXPECT_THAT(other.value("reason", ""), HasSubstr("node-1"));
}

TEST(FleetTest, AProfileThatTheFleetIsAskedForGoesToItsNodesInStages) {
  TestEtcd etcd;
  etcd.Start();
  ASSERT_FALSE(::testing::Test::HasFatalFailure());
  std::vector<std::unique_ptr<FleetNode>> nodes;
  for (int i = 0; i < 2; ++i) {
    nodes.push_back(std::make_unique<FleetNode>());
    nodes.back()->Start(etcd.url(), "node-" + std::to_string(i));
    if (::testing::Test::HasFatalFailure() || ::testing::Test::IsSkipped())
      return;
  }
  // Asked for where nothing can be measured any more.
  nodes[1]->agent().Kill();
  const CliResult asked =
      nodes[1]->Cli({"reprofile", "--kernel", "repeats", "--fleet", "--stages",
                     "50,100", "--hold", "1", "--samples-per-candidate", "8"});
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("asked for on node node-1"));
  ASSERT_TRUE(
      FleetNode::WaitUntil([&] { return !nodes[0]->Serving().empty(); }));
  const std::string table = nodes[0]->Serving();
  EXPECT_TRUE(AllServe(nodes, table));
  EXPECT_TRUE(FleetNode::WaitUntil([&] {
    return nodes[0]->Log("daemon").find("its rollout is done") !=
           std::string::npos;
  }));
  EXPECT_THAT(nodes[0]->Log("daemon"),
              HasSubstr("goes to 50 % of 1 other nodes"));
  EXPECT_TRUE(FleetNode::WaitUntil([&] {
    return nodes[1]->Cli({"fleet", "status", "--fail-behind"}).exit_code == 0;
  }));
  const CliResult all = nodes[0]->Cli({"fleet", "nodes", "--json"});
  EXPECT_EQ(all.Json().value("nodes", 0), 2) << all.out << all.err;
  EXPECT_NE(nodes[1]
                ->Cli({"reprofile", "--kernel", "repeats", "--fleet",
                       "--stages", "50"})
                .exit_code,
            0);
}

TEST(FleetTest, WhatCannotWorkIsRefusedAtTheStart) {
  const FleetNode node;
  const auto said = [&](const std::vector<std::string>& more) {
    const CliResult result = node.Refused(more);
    EXPECT_EQ(result.exit_code, 1) << result.err;
    return result.err;
  };
  const std::string trust = node.Path("trust");
  EXPECT_THAT(said({"--fleet", "10.0.0.1:2379"}), HasSubstr("etcd://"));
  EXPECT_THAT(said({"--fleet", "etcd://localhost:2379"}),
              HasSubstr("--fleet-trust"));
  const std::vector<std::string> good = {"--fleet", "etcd://localhost:2379",
                                         "--fleet-trust", trust};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), good.begin(), good.end());
    return said(more);
  };
  EXPECT_THAT(with({"--fleet-ca", trust}), HasSubstr("etcds://"));
  EXPECT_THAT(with({"--fleet-user", "me"}), HasSubstr("--fleet-password-file"));
  EXPECT_THAT(with({"--fleet-user", "me", "--fleet-password-file", trust}),
              HasSubstr("without TLS"));
  EXPECT_THAT(said({"--fleet-trust", trust}), HasSubstr("--fleet itself"));
  ASSERT_EQ(::chmod(trust.c_str(), 0600), 0);
  EXPECT_THAT(with({"--fleet-key", trust}), HasSubstr("private key"));
  ASSERT_EQ(::chmod(node.Path("key").c_str(), 0644), 0);
  EXPECT_THAT(with({"--fleet-key", node.Path("key")}), HasSubstr("chmod o-r"));
  ASSERT_EQ(::chmod(trust.c_str(), 0666), 0);
  EXPECT_THAT(with({}), HasSubstr("chmod"));
}

}  // namespace
}  // namespace wavetune::testing
