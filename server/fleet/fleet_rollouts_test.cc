// Rollouts of one table over nodes of a class.
#include "server/fleet/fleet_rollouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proto/wavetune/v1/fleet.pb.h"
#include "server/fleet/fake_fleet_registry.h"
#include "server/fleet/fleet_head.h"
#include "server/fleet/fleet_rollout.h"
#include "server/fleet/fleet_test_node.h"
#include "server/test_folder.h"

namespace wavetune::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

// A node with all of a fleet's parts but the jobs.
class RolloutNode {
 public:
  // `present`: others see it.
  RolloutNode(FakeFleet* fleet, DiskKernelCatalog* kernels,
              const std::string& name, char key, bool present = true)
      : present_(present),
        registry_(std::make_unique<FakeFleetRegistry>(fleet)),
        name_(name),
        node_({.registry = registry_.get(),
               .kernels = kernels,
               .name = name,
               .key = key,
               .trust = TrustIn({1, 2, 3, 4}),
               .rollout_of =
                   [this](const ProfileKey&, const std::string&) {
                     const std::lock_guard lock(mutex_);
                     return plan_;
                   },
               .trial_problem =
                   [this](const ProfileKey&, const std::string&) {
                     const std::lock_guard lock(mutex_);
                     return problem_;
                   }}) {
    Start();
  }
  ~RolloutNode() { Stop(); }

  void Start() {
    registry_->Connect();
    node_.Start();
    presence_ = std::make_unique<FleetPresence>(
        FleetPresence::Options{.registry = registry_.get(),
                               .state = [this] { return State(); },
                               .look_interval = milliseconds(5),
                               .interval = milliseconds(10),
                               .most_age = milliseconds(1)});
    if (present_) presence_->Start();
    rollouts_ = std::make_unique<FleetRollouts>(
        FleetRollouts::Options{.registry = registry_.get(),
                               .tables = node_.fleet_.get(),
                               .presence = presence_.get(),
                               .clock = &SystemClock(),
                               .node = name_,
                               .look_interval = milliseconds(10),
                               .patience = milliseconds(30),
                               .log = [this](bool, const std::string& line) {
                                 const std::lock_guard lock(mutex_);
                                 said_ += line + "\n";
                               }});
    rollouts_->Start();
  }
  // The process ends.
  void Stop() {
    registry_->Disconnect();
    rollouts_.reset();
    presence_.reset();
    node_.Stop();
    registry_->EndSession();
  }
  void SetPlan(RolloutPlan plan) {
    const std::lock_guard lock(mutex_);
    plan_ = std::move(plan);
  }
  void SetProblem(const std::string& problem) {
    const std::lock_guard lock(mutex_);
    problem_ = problem;
  }
  FleetTestNode& node() { return node_; }
  // What its driver says.
  std::string Said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

 private:
  FleetNode State() {
    const ProfileKey key = node_.Key();
    FleetNode state{.node = name_, .classes = {FleetClass(key)}};
    for (const FleetView::Standing& one : node_.fleet_->View().heads) {
      state.tables.push_back(
          {.fleet_class = one.fleet_class,
           .kernel = one.kernel,
           .digest = one.accepted ? one.accepted->digest : "",
           .behind = one.behind,
           .trial_digest = one.trial_digest,
           .trial_problem = one.trial_problem});
    }
    return state;
  }

  const bool present_;
  std::unique_ptr<FakeFleetRegistry> registry_;
  const std::string name_;
  std::mutex mutex_;
  std::string said_;
  RolloutPlan plan_;
  std::string problem_;
  FleetTestNode node_;
  std::unique_ptr<FleetPresence> presence_;
  std::unique_ptr<FleetRollouts> rollouts_;
};

class FleetRolloutsTest : public ::testing::Test {
 protected:
  FleetRolloutsTest() {
    folder_.WriteKernel("copy");
    kernels_ = std::make_unique<DiskKernelCatalog>(
        std::vector<std::string>{folder_ / "kernels"});
    kernels_->Reload();
    for (int i = 0; i < 4; ++i) {
      nodes_.push_back(std::make_unique<RolloutNode>(
          &fleet_, kernels_.get(), "node-" + std::to_string(i),
          static_cast<char>(i + 1)));
    }
    first_ = nodes_[0]->node().Profile(10);
  }
  int Serve(const std::string& digest) {
    int nodes = 0;
    for (const auto& node : nodes_)
      nodes += node->node().Serves(digest) ? 1 : 0;
    return nodes;
  }
  bool AllServe(const std::string& digest) {
    return Eventually([&] { return Serve(digest) == 4; });
  }
  // What is at a key of the registry.
  std::string Read(const std::string& key) {
    FakeFleetRegistry watcher(&fleet_);
    const auto entry = watcher.Get(key);
    return entry.ok() ? entry->value : "";
  }
  void Write(const std::string& key, const std::string& value) {
    FakeFleetRegistry somebody(&fleet_);
    ASSERT_TRUE(somebody.Commit({{.key = key, .value = value}}).ok());
  }
  std::string Place() { return RolloutPlace(nodes_[0]->node().Key()); }
  std::string HeadPlace() { return HeadKey(nodes_[0]->node().Key()); }
  std::string Head() {
    std::string digest;
    EXPECT_TRUE(Eventually([&] {
      FleetTestNode& node = nodes_[0]->node();
      const auto head = node.fleet_->HeadOf(node.Key());
      if (head.ok()) digest = *head;
      return head.ok();  // Else it is not known just now.
    }));
    return digest;
  }

  const TestFolder folder_;
  FakeFleet fleet_;
  std::unique_ptr<DiskKernelCatalog> kernels_;
  std::vector<std::unique_ptr<RolloutNode>> nodes_;
  std::string first_;
};

TEST_F(FleetRolloutsTest, ATableGoesToTheNodesStageByStage) {
  ASSERT_TRUE(AllServe(first_));
  nodes_[0]->SetPlan({{25, 100}, 1});
  const std::string second = nodes_[0]->node().Profile(11);
  ASSERT_TRUE(Eventually([&] { return Serve(second) >= 1; }));
  // The head stays while it is tried.
  EXPECT_EQ(Head(), first_);
  EXPECT_TRUE(AllServe(second));
  EXPECT_TRUE(Eventually([&] { return Head() == second; }));
  FakeFleetRegistry watcher(&fleet_);
  EXPECT_TRUE(
      Eventually([&] { return watcher.List("trials/")->entries.empty(); }));
  for (const auto& node : nodes_) {
    EXPECT_TRUE(Eventually([&] {
      const auto view = node->node().fleet_->View();
      return view.heads[0].accepted->digest == second &&
             view.heads[0].behind.empty();
    }));
  }
}

TEST_F(FleetRolloutsTest, ItIsHaltedWhereNodesAreNotWellAndAllGoBack) {
  ASSERT_TRUE(AllServe(first_));
  nodes_[0]->SetPlan({{50, 100}, 60});
  const std::string second = nodes_[0]->node().Profile(11);
  ASSERT_TRUE(Eventually([&] { return Serve(second) >= 2; }));
  for (const auto& node : nodes_) node->SetProblem("slower than the default");
  EXPECT_TRUE(AllServe(first_));
  EXPECT_EQ(Head(), first_);
  EXPECT_SOON(nodes_[1]->node().fleet_->View().rollouts,
              ElementsAre(Field(&FleetView::Rollout::halted,
                                HasSubstr("slower than the default"))));
  // It stays so over a restart, and the next table is another matter.
  nodes_[0]->Stop();
  nodes_[0]->Start();
  for (const auto& node : nodes_) node->SetProblem("");
  nodes_[0]->SetPlan({});
  const std::string third = nodes_[0]->node().Profile(12);
  EXPECT_TRUE(AllServe(third));
}

TEST_F(FleetRolloutsTest, ARestartPublishesNothingBesideTheRollout) {
  ASSERT_TRUE(AllServe(first_));
  nodes_[0]->SetPlan({{50, 100}, 60});
  const std::string second = nodes_[0]->node().Profile(11);
  ASSERT_TRUE(Eventually([&] { return Serve(second) >= 2; }));
  nodes_[0]->Stop();
  nodes_[0]->SetPlan({});  // Forgotten.
  nodes_[0]->Start();
  EXPECT_TRUE(Eventually([&] {
    const FleetView view = nodes_[0]->node().fleet_->View();
    return !view.heads.empty() && view.heads[0].trial_digest == second;
  }));
  // Nor once it is halted, whoever restarts then.
  for (const auto& node : nodes_) node->SetProblem("slower than the default");
  EXPECT_TRUE(AllServe(first_));
  nodes_[0]->Stop();
  nodes_[0]->Start();
  EXPECT_TRUE(Eventually([&] {
    const auto head = nodes_[0]->node().fleet_->HeadOf(nodes_[0]->node().Key());
    return head.ok() && *head == first_;
  }));
  EXPECT_EQ(nodes_[0]->node().fleet_->View().counts.published, 0);
  EXPECT_TRUE(AllServe(first_));
}

TEST_F(FleetRolloutsTest, AnotherNodeDrivesItWhereItsNodeDies) {
  ASSERT_TRUE(AllServe(first_));
  nodes_[0]->SetPlan({{25, 100}, 1});
  const std::string second = nodes_[0]->node().Profile(11);
  FakeFleetRegistry watcher(&fleet_);
  ASSERT_TRUE(
      Eventually([&] { return !watcher.List("trials/")->entries.empty(); }));
  nodes_[0]->Stop();
  EXPECT_TRUE(Eventually([&] { return Serve(second) == 4; }));
  EXPECT_TRUE(Eventually([&] {
    FleetTestNode& node = nodes_[1]->node();
    const auto head = node.fleet_->HeadOf(node.Key());
    return head.ok() && *head == second;
  }));
  // It has signed what its own key stands for, and says whose table it is.
  const auto head = ReadHead(HeadPlace(), Read(HeadPlace()));
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_NE(head->public_key, TestSigningKey(1).public_key());
  EXPECT_NE(head->head.node, "node-0");
  EXPECT_THAT(head->head.why, HasSubstr("measured by node node-0"));
  ASSERT_EQ(head->head.before.size(), 1u);
  EXPECT_EQ(head->head.before[0].digest, first_);
}

TEST_F(FleetRolloutsTest, WhatWasHaltedIsNeitherAHeadNorARolloutAgain) {
  ASSERT_TRUE(AllServe(first_));
  nodes_[0]->SetPlan({{50, 100}, 60});
  const std::string second = nodes_[0]->node().Profile(11);
  ASSERT_TRUE(Eventually([&] { return Serve(second) >= 2; }));
  // What somebody who may only write to the registry can copy.
  const std::string running = Read(Place());
  v1::FleetRollout copied;
  ASSERT_TRUE(copied.ParseFromString(running));
  for (const auto& node : nodes_) node->SetProblem("slower than the default");
  ASSERT_TRUE(AllServe(first_));
  for (const auto& node : nodes_) {
    EXPECT_TRUE(Eventually([&] { return node->node().Halted().size() == 1; }));
    node->SetProblem("");
  }
  // It is halted again, and nobody has served it meanwhile. (A node counts a
  // moment after it serves.)
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::vector<int64_t> adopted;
  for (const auto& node : nodes_)
    adopted.push_back(node->node().fleet_->View().counts.adopted);
  const std::string good = Read(HeadPlace());
  Write(HeadPlace(), copied.plan());
  EXPECT_TRUE(Eventually([&] { return Read(HeadPlace()) == good; }));
  Write(Place(), running);
  EXPECT_TRUE(Eventually([&] {
    const auto read = ReadRollout(Place(), Read(Place()));
    return read.ok() && !read->rollout.halted.empty();
  }));
  EXPECT_THAT(ReadRollout(Place(), Read(Place()))->rollout.halted,
              HasSubstr("slower than the default"));
  EXPECT_EQ(Serve(first_), 4);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    EXPECT_EQ(nodes_[i]->node().fleet_->View().counts.adopted, adopted[i]);
    EXPECT_EQ(nodes_[i]->node().Halted().size(), 1u);
  }
  // The next table has another epoch, and takes the entry away.
  nodes_[1]->SetPlan({});
  const std::string third = nodes_[1]->node().Profile(12);
  EXPECT_TRUE(AllServe(third));
  EXPECT_EQ(Read(Place()), "");
  EXPECT_EQ(ReadHead(HeadPlace(), Read(HeadPlace()))->head.epoch, 3u);
  EXPECT_TRUE(Eventually(
      [&] { return nodes_[2]->node().fleet_->View().rollouts.empty(); }));
}

TEST_F(FleetRolloutsTest, ADriverThatSeesNotEvenItselfWaits) {
  FakeFleet fleet;
  RolloutNode alone(&fleet, kernels_.get(), "alone", 1, /*present=*/false);
  alone.SetPlan({{100}, 0});
  alone.node().Profile(10);
  EXPECT_TRUE(Eventually([&] {
    return alone.Said().find("no node of its class shows itself") !=
           std::string::npos;
  }));
  FakeFleetRegistry watcher(&fleet);
  EXPECT_TRUE(watcher.List("heads/")->entries.empty());
}

}  // namespace
}  // namespace wavetune::testing
