// Nodes of one fleet: real daemons, agents and etcd.
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/fleet/etcd/test_etcd.h"
#include "tests/component/fleet_node.h"
#include "tests/lib/program.h"
#include "tests/lib/source_paths.h"

namespace wavetune::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

const char kTrace[] = WAVETUNE_SOURCE_DIR "/tests/data/h200/gemm_bf16";

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
  ASSERT_EQ(nodes[1]->Cli({"tables", "retire", first}).exit_code, 0);
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

TEST(FleetTest, AnotherNodeGoesOnWithAProfileWhoseNodeDied) {
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
  // What is handed on a moment later is no part of a profile of minutes; it is
  // of this one, which takes two seconds.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  one.daemon().Kill();
  one.agent().Kill();
  nlohmann::json other;
  ASSERT_TRUE(FleetNode::WaitUntil([&] {
    other = NewestJob(two);
    return other.value("state", "") == "SUCCEEDED";
  })) << other.dump(2);
  EXPECT_NE(other.value("digest", ""), "") << other.dump(2);
  EXPECT_THAT(other.value("reason", ""), HasSubstr("node-1"));
  // What was measured twice: what had not been handed on yet.
  const std::string log = two.Log("daemon");
  const std::string before = "goes on with ";
  ASSERT_THAT(log, HasSubstr(before));
  const int64_t handed_on =
      std::stoll(log.substr(log.find(before) + before.size()));
  ::testing::Test::RecordProperty("measured", std::to_string(SamplesOf(last)));
  ::testing::Test::RecordProperty("handed_on", std::to_string(handed_on));
  EXPECT_GE(static_cast<double>(handed_on),
            0.9 * static_cast<double>(SamplesOf(last)));
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
  EXPECT_NE(nodes[1]->Cli({"reprofile", "--fleet", "--stages", "50"}).exit_code,
            0);
}

// A device that was recorded, with a name of its own on each node.
void StartReplay(FleetNode& node, const std::string& url,
                 const std::string& name, const std::string& pace,
                 const std::vector<std::string>& more) {
  const std::string trace = node.Path("trace");
  fs::copy(kTrace, trace);
  std::string device = ReadText(trace + "/device.textproto");
  const std::string uuid = "uuid: \"";
  device.insert(device.find(uuid) + uuid.size(), name + "-");
  node.WriteFile(trace + "/device.textproto", device);
  node.Start(url, name, more, {"--replay-trace", trace, "--replay-pace", pace},
             "replay");
}

// Devices of other nodes that measured for a job.
size_t LentTo(const nlohmann::json& job) {
  return job.value("lent_by", nlohmann::json::object()).size();
}

TEST(FleetTest, NodesOfAClassShareAProfile) {
  TestEtcd etcd;
  etcd.Start();
  ASSERT_FALSE(::testing::Test::HasFatalFailure());
  // To see what they gain: so many nodes, of which none dies, that measure for
  // minutes.
  const char* const sharing = std::getenv("WAVETUNE_SHARING_NODES");
  const size_t count = sharing == nullptr ? 3 : std::stoul(sharing);
  std::vector<std::unique_ptr<FleetNode>> nodes;
  for (size_t i = 0; i < count; ++i) {
    nodes.push_back(std::make_unique<FleetNode>(kTrace));
    StartReplay(*nodes.back(), etcd.url(), "node-" + std::to_string(i),
                sharing == nullptr ? "10" : "40",
                {"--fleet-lend", "--fleet-session", "3"});
    if (::testing::Test::HasFatalFailure()) return;
  }
  const auto begun = std::chrono::steady_clock::now();
  const uint64_t id = nodes[0]->Reprofile("gemm_bf16", {}, 6);
  nlohmann::json job;
  ASSERT_TRUE(FleetNode::WaitUntil([&] {
    job = nodes[0]->Job(id);
    return LentTo(job) == count - 1;
  })) << job.dump(2);
  if (sharing != nullptr) {
    job = nodes[0]->WaitForJob(id);
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begun;
    ::testing::Test::RecordProperty("profile_s", std::to_string(took.count()));
    EXPECT_EQ(job.value("state", ""), "SUCCEEDED") << job.dump(2);
    return;
  }
  EXPECT_THAT(nodes[0]->Cli({"jobs", "show", std::to_string(id)}).out,
              HasSubstr(" of node-1"));
  // It dies. One of the others goes on, with what all have measured, and the
  // third lends its device to that one.
  nodes[0]->daemon().Kill();
  nodes[0]->agent().Kill();
  ASSERT_TRUE(FleetNode::WaitUntil([&] {
    job = NewestJob(*nodes[1]);
    if (job.empty()) job = NewestJob(*nodes[2]);
    return job.value("state", "") == "SUCCEEDED";
  })) << job.dump(2);
  EXPECT_EQ(LentTo(job), 1) << job.dump(2);
  EXPECT_THAT(
      nodes[1]->Log("daemon") + nodes[2]->Log("daemon"),
      AllOf(HasSubstr("is lent to node node-0"), HasSubstr("goes on with ")));
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
  EXPECT_THAT(with({"--fleet-lend"}), HasSubstr("--fleet-key"));
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
