// FleetView: how a node stands to its fleet, for people and metrics.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_VIEW_H_
#define WAVETUNE_SERVER_FLEET_FLEET_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/fleet/fleet_head.h"
#include "server/fleet/fleet_profile.h"

namespace wavetune {

struct FleetView {
  // How the node stands to one head of its classes.
  struct Standing {
    std::string fleet_class;
    std::string kernel;
    std::optional<FleetHead> accepted;  // That it serves, or did last.
    std::string behind;  // Why it does not serve the fleet's; empty: it does.
    std::string frozen;  // By whom and why; empty: it is not.
    // No device of this node is of the class any more: `behind` is empty.
    bool followed_only = false;
    // What it serves for a rollout (fleet_rollout.h); empty: nothing.
    std::string trial_digest;
    std::string trial_problem;  // What speaks against that; empty: nothing.
  };
  // A profile of the fleet, as this node sees it.
  struct Profile {
    std::string fleet_class;
    FleetProfile profile;
    std::string holder;  // The node that does it; empty: nobody does.
  };
  // A table on its way to the nodes of a class.
  struct Rollout {
    std::string fleet_class;
    std::string kernel;
    std::string digest;
    std::vector<int32_t> stages;  // Percent of the nodes.
    int32_t stage = 0;            // That it is in.
    std::string driver;           // Node that drives it; empty: none does.
    std::string halted;           // Why; empty: it goes on.
  };
  // Since the start.
  struct Counts {
    int64_t adopted = 0;
    int64_t published = 0;
    int64_t lost = 0;      // Own tables that another node was ahead of.
    int64_t restored = 0;  // Heads that the registry had lost.
    int64_t refused_signature = 0;  // Forged, not trusted, or not readable.
    int64_t refused_replayed = 0;
    int64_t refused_payload = 0;
    int64_t withdrawn = 0;  // Tables that another node found wrong.
  };

  std::string node;        // Its name.
  bool publishes = false;  // Whether it has a key to sign with.
  std::string outage;      // Why the registry does not answer; empty: it does.
  bool never_reached = false;     // It has not answered since the start.
  std::string absent;             // Why others do not see it; empty: they do.
  std::vector<Profile> profiles;  // Sorted as the heads.
  // The same; none whose table a later head has overtaken.
  std::vector<Rollout> rollouts;
  std::vector<Standing> heads;  // Sorted by class, then kernel.
  Counts counts;
};

// How all nodes that live stand to the fleet's tables.
struct FleetSummary {
  struct Behind {
    std::string node;
    std::string why;
  };
  // To those of a class and kernel.
  struct Spread {
    // Nodes behind.
    static constexpr size_t kMostExamples = 20;

    std::string fleet_class;
    std::string kernel;
    std::map<std::string, int64_t> nodes;  // By digest of what they serve.
    int64_t behind = 0;
    std::vector<Behind> examples;
    int64_t measuring = 0;  // Nodes that can profile the class.
  };

  int64_t nodes = 0;
  std::map<std::string, int64_t> versions;  // Nodes of each.
  std::vector<Spread> spreads;              // Sorted by class, then kernel.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_VIEW_H_
