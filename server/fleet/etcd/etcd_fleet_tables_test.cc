// Nodes of a fleet, in one process, with a real etcd: partitions, backups, a
// leader that dies, and registries that are not what they should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/fleet/etcd/etcd_registry.h"
#include "server/fleet/etcd/test_etcd.h"
#include "server/fleet/fleet_test_node.h"
#include "server/test_folder.h"
#include "tests/lib/freezing_relay.h"
#include "tests/lib/test_authority.h"

namespace wavetune::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

struct EtcdNodeParts {
  explicit EtcdNodeParts(const EtcdOptions& options)
      : registry_(EtcdRegistry::Create(options).value()) {}
  const std::unique_ptr<EtcdRegistry> registry_;
};

class EtcdNode : public EtcdNodeParts, public FleetTestNode {
 public:
  EtcdNode(const EtcdOptions& etcd, Options options)
      : EtcdNodeParts(etcd), FleetTestNode([&] {
          options.registry = registry_.get();
          return options;
        }()) {
    Start();
  }

  FleetView View() { return fleet_->View(); }
  std::vector<std::string> Candidates() {
    std::vector<std::string> digests;
    const auto rejected = tables_.Rejected("copy", SiliconKey(options_.device));
    for (const RejectedTable& one : *rejected)
      digests.push_back(one.record.digest);
    return digests;
  }
};

class EtcdFleetTablesTest : public ::testing::Test {
 protected:
  EtcdFleetTablesTest() {
    folder_.WriteKernel("copy");
    kernels_.Reload();
  }

  static EtcdOptions OptionsOf(const std::string& url) {
    EtcdOptions options = ParseEtcdUrl(url).value();
    options.call_timeout = std::chrono::milliseconds(2000);
    return options;
  }
  std::unique_ptr<EtcdNode> Join(const EtcdOptions& etcd,
                                 const std::string& name, char key = 1) {
    return std::make_unique<EtcdNode>(
        etcd,
        FleetTestNode::Options{.kernels = &kernels_, .name = name, .key = key});
  }
  std::unique_ptr<EtcdNode> Join(const std::string& url,
                                 const std::string& name, char key = 1) {
    return Join(OptionsOf(url), name, key);
  }
  // The digest that the registry's head names.
  static std::string HeadOf(EtcdNode& node) {
    const std::string key = HeadKey(node.Key());
    const auto entry = node.registry_->Get(key);
    const auto head = ReadHead(key, entry.ok() ? entry->value : "");
    return head.ok() ? head->head.digest : "";
  }

  const TestFolder folder_;
  DiskKernelCatalog kernels_{{folder_ / "kernels"}};
};

TEST_F(EtcdFleetTablesTest, BothSidesOfAPartitionPromoteAndOneTableServes) {
  TestEtcd etcd;
  etcd.Start();
  auto relay =
      std::make_unique<FreezingRelay>(static_cast<uint16_t>(etcd.port()));
  const auto a = Join(etcd.url(), "a");
  const auto b = Join("etcd://" + relay->address(), "b", 2);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, a->Profile(10)));
  relay->Freeze();
  const std::string here = b->Profile(11);
  const std::string there = a->Profile(12);
  ASSERT_TRUE(Eventually([&] { return a->View().counts.published == 2; }));
  ASSERT_TRUE(Eventually([&] {
    return b->View().heads.at(0).behind.find("does not answer") !=
           std::string::npos;
  }));
  EXPECT_EQ(b->Serving(), here);
  EXPECT_EQ(a->Serving(), there);
  // What it sent before it gave up arrives now, too.
  relay->Thaw();
  EXPECT_TRUE(AllServe({a.get(), b.get()}, there));
  EXPECT_TRUE(Eventually([&] { return b->View().counts.lost == 1; }));
  EXPECT_THAT(b->Candidates(), Contains(here));
  EXPECT_EQ(HeadOf(*a), there);
}

TEST_F(EtcdFleetTablesTest, ARestoredBackupCostsNoNodeItsTable) {
  TestEtcd etcd;
  etcd.Start();
  const std::string empty = etcd.folder() + "/empty";
  etcd.Etcdctl({"snapshot", "save", empty});
  const auto a = Join(etcd.url(), "a");
  const auto b = Join(etcd.url(), "b", 2);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, a->Profile(10)));
  const std::string backup = etcd.folder() + "/backup";
  etcd.Etcdctl({"snapshot", "save", backup});
  const std::string second = b->Profile(11);
  ASSERT_TRUE(AllServe({a.get(), b.get()}, second));
  for (const std::string& from : {backup, empty}) {
    etcd.Kill();
    EXPECT_EQ(a->Serving(), second);
    etcd.Restore(from);
    ASSERT_TRUE(Eventually([&] { return HeadOf(*a) == second; })) << from;
    EXPECT_EQ(a->Serving(), second);
    EXPECT_EQ(b->Serving(), second);
    // With its payload: one that joins gets it.
    const auto c = Join(etcd.url(), "c", 0);
    EXPECT_TRUE(AllServe({c.get()}, second)) << from;
  }
}

TEST_F(EtcdFleetTablesTest, ALeaderThatDiesMidPromotionLeavesOneWinner) {
  const auto members = StartEtcdCluster(3);
  ASSERT_FALSE(HasFatalFailure());
  std::string url = "etcd://";
  for (const auto& member : members)
    url += (url.back() == '/' ? "" : ",") + member->endpoint();
  const auto a = Join(url, "a");
  const auto b = Join(url, "b", 2);
  const auto c = Join(url, "c", 0);
  const std::vector<FleetTestNode*> all = {a.get(), b.get(), c.get()};
  ASSERT_TRUE(AllServe(all, a->Profile(10)));
  for (int round = 0; round < 3; ++round) {
    TestEtcd* leader = nullptr;
    ASSERT_TRUE(Eventually([&] {
      for (const auto& member : members) {
        if (member->Leads()) leader = member.get();
      }
      return leader != nullptr;
    }));
    std::string mine;
    std::string other;
    std::thread promotes([&] {
      mine = a->Profile(20 + round);
      other = b->Profile(30 + round);
    });
    // Before, within and after the commits.
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * round));
    leader->Kill();
    promotes.join();
    std::string winner;
    ASSERT_TRUE(Eventually([&] {
      winner = HeadOf(*c);
      return (winner == mine || winner == other) &&
             std::all_of(all.begin(), all.end(), [&](FleetTestNode* node) {
               return node->Serves(winner);
             });
    })) << round;
    // The other one lost; or it was published, and much later came this one.
    const std::string loser = winner == mine ? other : mine;
    const auto kept = [&] {
      std::vector<std::string> digests = (winner == mine ? b : a)->Candidates();
      const std::string key = HeadKey(c->Key());
      const auto read = ReadHead(key, c->registry_->Get(key)->value);
      for (const FleetHead& earlier : read->head.before)
        digests.push_back(earlier.digest);
      return digests;
    };
    EXPECT_SOON(kept(), Contains(loser));

    leader->Start();
  }
  for (FleetTestNode* node : all) {
    EXPECT_EQ(node->fleet_->View().counts.refused_replayed, 0);
    EXPECT_EQ(node->fleet_->View().counts.refused_payload, 0);
  }
}

TEST_F(EtcdFleetTablesTest, WithoutAFleetThatAnswersANodeServesAndSaysWhy) {
  TestEtcd etcd;
  etcd.Start();
  TestEtcd asks;
  asks.Start();
  asks.AskForUsers("/others/");
  const TestAuthority authority("ours");
  const TestAuthority::Identity identity = authority.Issue({"IP:127.0.0.1"});
  std::ofstream(etcd.folder() + "/cert") << identity.cert;
  std::ofstream(etcd.folder() + "/key") << identity.key;
  TestEtcd secure({"--cert-file=" + etcd.folder() + "/cert",
                   "--key-file=" + etcd.folder() + "/key"},
                  "https");
  secure.Start();
  EtcdOptions stranger = OptionsOf(asks.url());
  stranger.user = "node";
  stranger.password = "wrong";
  EtcdOptions elsewhere = stranger;
  elsewhere.password = "open";
  const std::vector<std::pair<EtcdOptions, std::string>> cases = {
      {OptionsOf("etcd://127.0.0.1:" + std::to_string(FreePort())),
       "does not answer"},
      {OptionsOf("etcd://" + secure.endpoint()), "without TLS?"},
      {OptionsOf("etcds://" + etcd.endpoint()), "with TLS"},
      {OptionsOf(asks.url()), "asks for a user"},
      {stranger, "another user or password"},
      {elsewhere, "readwrite"}};
  for (const std::pair<EtcdOptions, std::string>& fault : cases) {
    const auto node = Join(fault.first, "a");
    const std::string& why = fault.second;
    const std::string mine = node->Profile(10);
    EXPECT_SOON(node->View().outage, HasSubstr(why));
    EXPECT_EQ(node->Serving(), mine) << why;
    EXPECT_EQ(node->View().counts.published, 0) << why;
  }
}

}  // namespace
}  // namespace wavetune::testing
