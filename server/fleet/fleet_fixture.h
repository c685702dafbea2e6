// FleetFixture: nodes of one fleet in one test, each with stores, devices, a
// catalog and a registry of its own, which it can lose.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_FIXTURE_H_
#define WAVETUNE_SERVER_FLEET_FLEET_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/catalog/disk_kernel_catalog.h"
#include "server/fleet/fake_fleet_registry.h"
#include "server/fleet/fleet_test_node.h"
#include "server/test_folder.h"

namespace wavetune::testing {

struct NodeParts {
  NodeParts(FakeFleet* fleet, const std::string& kernels)
      : registry_(fleet), kernels_({kernels}) {
    kernels_.Reload();
  }
  FakeFleetRegistry registry_;
  DiskKernelCatalog kernels_;
};

// A node that can lose its network.
class Node : public NodeParts, public FleetTestNode {
 public:
  Node(FakeFleet* fleet, const std::string& kernels, const std::string& name,
       char key, const std::string& trust)
      : NodeParts(fleet, kernels),
        FleetTestNode({.registry = &registry_,
                       .kernels = &kernels_,
                       .name = name,
                       .key = key,
                       .trust = trust}) {
    Start();
  }

  void Start() {
    registry_.Connect();
    FleetTestNode::Start();
  }
};

class FleetFixture : public ::testing::Test {
 protected:
  FleetFixture() { folder_.WriteKernel("copy"); }

  std::unique_ptr<Node> Join(const std::string& name, char key,
                             const std::string& trust = TrustIn({1, 2})) {
    return std::make_unique<Node>(&fleet_, folder_ / "kernels", name, key,
                                  trust);
  }
  // Writes an entry as somebody who can write to the registry.
  void Write(const std::string& key, const std::string& value) {
    FakeFleetRegistry somebody(&fleet_);
    ASSERT_TRUE(somebody.Commit({{.key = key, .value = value}}).ok());
  }
  std::string Read(const std::string& key) {
    FakeFleetRegistry somebody(&fleet_);
    const auto entry = somebody.Get(key);
    return entry.ok() ? entry->value : "";
  }

  const TestFolder folder_;
  FakeFleet fleet_;
};

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_FLEET_FLEET_FIXTURE_H_
