#include "server/fleet/fake_fleet_registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/fleet/fleet_registry_contract_test.h"

namespace wavetune::testing {
namespace {

class FakeFleetUnderTest : public FleetUnderTest {
 public:
  std::unique_ptr<FleetRegistry> Join() override {
    auto node = std::make_unique<FakeFleetRegistry>(&fleet_);
    nodes_.push_back(node.get());
    return node;
  }
  void Stop() override {
    for (FakeFleetRegistry* node : nodes_) node->Disconnect();
  }
  void Start() override {
    for (FakeFleetRegistry* node : nodes_) node->Connect();
  }

 private:
  FakeFleet fleet_;
  std::vector<FakeFleetRegistry*> nodes_;  // Those that live when it stops.
};

std::unique_ptr<FleetUnderTest> MakeFakeFleet() {
  return std::make_unique<FakeFleetUnderTest>();
}

INSTANTIATE_TEST_SUITE_P(Fake, FleetRegistryContractTest,
                         ::testing::Values(&MakeFakeFleet));

TEST(FakeFleetRegistryTest, AnotherSessionBeginsAndTheOldOnesEntriesAreGone) {
  FakeFleet fleet;
  FakeFleetRegistry node(&fleet);
  int sessions = 0;
  const auto handle = node.OnSession([&] { ++sessions; });
  EXPECT_EQ(sessions, 1);
  ASSERT_TRUE(
      node.Commit({{.key = "a", .value = "1", .of_session = true}}).ok());
  node.EndSession();
  EXPECT_EQ(sessions, 2);
  EXPECT_TRUE(absl::IsNotFound(node.Get("a").status()));
  node.Disconnect();
  node.EndSession();
  EXPECT_FALSE(node.Session().ok());
  EXPECT_EQ(sessions, 2);
  node.Connect();
  EXPECT_EQ(sessions, 3);
}

}  // namespace
}  // namespace wavetune::testing
