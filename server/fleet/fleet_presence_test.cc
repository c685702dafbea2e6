#include "server/fleet/fleet_presence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "server/fleet/fake_fleet_registry.h"
#include "server/fleet/registry_bounds.h"

namespace wavetune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool Shows(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

class FleetPresenceTest : public ::testing::Test {
 protected:
  std::unique_ptr<FleetPresence> Start(FakeFleetRegistry& registry,
                                       const std::string& name) {
    auto presence = std::make_unique<FleetPresence>(FleetPresence::Options{
        .registry = &registry,
        .state =
            [this, name] {
              const std::lock_guard lock(mutex_);
              return FleetNode{.node = name,
                               .version = "1.0",
                               .measuring_classes = {"c1"},
                               .tables = {{.fleet_class = "c1",
                                           .kernel = "gemm",
                                           .digest = digest_,
                                           .epoch = 1,
                                           .behind = behind_}}};
            },
        .look_interval = std::chrono::milliseconds(5),
        .interval = std::chrono::milliseconds(10),
        .check_interval = std::chrono::milliseconds(20),
        .twin_patience = std::chrono::milliseconds(50),
        .most_age = std::chrono::milliseconds(1),
        .log =
            [this](bool, const std::string& text) {
              const std::lock_guard lock(mutex_);
              log_ += text + "\n";
            }});
    presence->Start();
    return presence;
  }
  void Serve(const std::string& digest, const std::string& behind) {
    const std::lock_guard lock(mutex_);
    digest_ = digest;
    behind_ = behind;
  }
  size_t Nodes(FleetPresence& presence) {
    const auto nodes = presence.Nodes();
    return nodes.ok() ? nodes->size() : 0;
  }

  FakeFleet fleet_;
  std::mutex mutex_;
  std::string digest_ = "d1";
  std::string behind_;
  std::string log_;
};

TEST_F(FleetPresenceTest, WhatSomebodyDeletesIsToldAgain) {
  FakeFleetRegistry registry(&fleet_);
  auto one = Start(registry, "node-1");
  EXPECT_TRUE(Shows([&] { return Nodes(*one) == 1; }));
  FakeFleetRegistry somebody(&fleet_);
  ASSERT_TRUE(somebody.Commit({{.key = NodePlace("node-1")}}).ok());
  EXPECT_TRUE(Shows([&] { return Nodes(*one) == 1; }));
}

TEST_F(FleetPresenceTest, SaysOnceHowTheRegistryAnswersAndThenThatItDoes) {
  FakeFleetRegistry registry(&fleet_);
  auto one = Start(registry, "node-1");
  EXPECT_TRUE(Shows([&] { return one->outage().why.empty(); }));
  EXPECT_TRUE(one->outage().reached);
  // It answers, and takes nothing.
  registry.Refuse(absl::ResourceExhaustedError("its space is exceeded"));
  Serve("d2", "");
  EXPECT_TRUE(Shows([&] { return !one->outage().why.empty(); }));
  EXPECT_FALSE(one->outage().silent);
  registry.Refuse(absl::OkStatus());
  EXPECT_TRUE(Shows([&] { return one->outage().why.empty(); }));
  registry.Disconnect();
  EXPECT_TRUE(Shows([&] { return one->outage().silent; }));
  one.reset();
  EXPECT_THAT(log_, HasSubstr("refuses this node, this node serves what it "
                              "has: its space is exceeded\n"
                              "the fleet's registry answers again\n"
                              "the fleet's registry is out of reach"));
}

TEST_F(FleetPresenceTest, ARegistryThatNeverAnsweredIsNotUp) {
  FakeFleetRegistry registry(&fleet_);
  registry.Disconnect();
  auto one = Start(registry, "node-1");
  EXPECT_TRUE(Shows([&] { return one->outage().silent; }));
  EXPECT_FALSE(one->outage().reached);
  EXPECT_THAT(one->outage().why, HasSubstr("does not answer"));
}

TEST_F(FleetPresenceTest, EntriesThatTakeTooMuchMemoryAreNoNodes) {
  FakeFleetRegistry registry(&fleet_);
  auto one = Start(registry, "node-1");
  FakeFleetRegistry somebody(&fleet_);
  std::string tables = EncodeFleetNode({.node = "evil"});
  for (int i = 0; i < 30000; ++i) tables += std::string("\x32\0", 2);
  ASSERT_TRUE(
      somebody.Commit({{.key = NodePlace("evil"), .value = tables}}).ok());
  EXPECT_TRUE(Shows([&] { return Nodes(*one) == 1; }));
  // Many that are no more than they may be.
  tables.resize(2 * 2000);
  for (int i = 0; i < 320; ++i) {
    const std::string name = "evil" + std::to_string(i);
    const std::string value =
        EncodeFleetNode({.node = name}) + tables.substr(8);
    ASSERT_TRUE(
        somebody.Commit({{.key = NodePlace(name), .value = value}}).ok());
  }
  EXPECT_TRUE(
      Shows([&] { return absl::IsResourceExhausted(one->Nodes().status()); }));
}

TEST_F(FleetPresenceTest, ShowsWhatNodesServeForAsLongAsTheyLive) {
  FakeFleetRegistry registry(&fleet_);
  auto one = Start(registry, "node-1");
  auto other_registry = std::make_unique<FakeFleetRegistry>(&fleet_);
  auto two = Start(*other_registry, "node-2");
  EXPECT_TRUE(Shows([&] { return Nodes(*one) == 2; }));
  Serve("d2", "the kernel is pinned");
  EXPECT_TRUE(Shows([&] {
    const FleetSummary summary = SummaryOf(*one->Nodes());
    return summary.spreads.size() == 1 && summary.spreads[0].behind == 2 &&
           summary.spreads[0].nodes.at("d2") == 2;
  }));
  const FleetSummary summary = SummaryOf(*one->Nodes());
  EXPECT_EQ(summary.versions.at("1.0"), 2);
  EXPECT_EQ(summary.spreads[0].measuring, 2);
  ASSERT_THAT(summary.spreads[0].examples, SizeIs(2));
  EXPECT_EQ(summary.spreads[0].examples[1].node, "node-2");
  EXPECT_THAT(summary.spreads[0].examples[1].why, HasSubstr("pinned"));

  // A session that ended is begun anew; a node that ends is gone.
  registry.EndSession();
  EXPECT_TRUE(Shows([&] { return Nodes(*two) == 2; }));
  two.reset();
  other_registry.reset();
  EXPECT_TRUE(Shows([&] { return Nodes(*one) == 1; }));
}

TEST_F(FleetPresenceTest, ASecondNodeOfOneNameSaysSoAndLeavesTheFirstAlone) {
  FakeFleetRegistry registry(&fleet_);
  auto one = Start(registry, "node-1");
  EXPECT_TRUE(Shows([&] { return Nodes(*one) == 1; }));
  const std::string instance = (*one->Nodes())[0].instance;
  FakeFleetRegistry other_registry(&fleet_);
  auto two = Start(other_registry, "node-1");
  EXPECT_TRUE(Shows([&] { return !two->problem().empty(); }));
  EXPECT_THAT(two->problem(), HasSubstr("--fleet-node"));
  EXPECT_EQ((*two->Nodes())[0].instance, instance);
  EXPECT_THAT(one->problem(), IsEmpty());
  // Once the other has gone it is its own name.
  one.reset();
  registry.EndSession();
  registry.Disconnect();
  EXPECT_TRUE(Shows([&] {
    const auto nodes = two->Nodes();
    return nodes.ok() && nodes->size() == 1 && (*nodes)[0].instance != instance;
  }));
  EXPECT_TRUE(Shows([&] { return two->problem().empty(); }));
}

TEST(RegistryBoundsTest, AValueThatIsCutTakesNoMemory) {
  FleetEntry entry{.key = "a", .value = std::string(100000, 'x')};
  CutEntry(100000, entry);
  EXPECT_FALSE(entry.cut);
  CutEntry(99999, entry);
  EXPECT_TRUE(entry.cut);
  EXPECT_LT(entry.value.capacity(), 100u);
}

TEST(FleetNodeTest, WhatIsNoNodeIsLeftOut) {
  const FleetNode node{.node = "n", .instance = "1"};
  EXPECT_EQ(*DecodeFleetNode("nodes/n", EncodeFleetNode(node)), node);
  EXPECT_FALSE(DecodeFleetNode("nodes/m", EncodeFleetNode(node)).ok());
  EXPECT_FALSE(DecodeFleetNode("nodes/n", "nothing").ok());
}

}  // namespace
}  // namespace wavetune::testing
