// FleetView: how a node stands to its fleet, for people and metrics.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_VIEW_H_
#define WAVETUNE_SERVER_FLEET_FLEET_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/fleet/fleet_head.h"

namespace wavetune {

struct FleetView {
  // How the node stands to one head of its classes.
  struct Standing {
    std::string fleet_class;
    std::string kernel;
    std::optional<FleetHead> accepted;  // That it serves, or did last.
    std::string behind;  // Why it does not serve the fleet's; empty: it does.
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
  };

  std::string node;        // Its name.
  bool publishes = false;  // Whether it has a key to sign with.
  std::string outage;  // Why the registry is out of reach; empty: it is not.
  std::vector<Standing> heads;  // Sorted by class, then kernel.
  Counts counts;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_VIEW_H_
