// FleetNode: what a node tells the fleet of itself, at NodePlace(name), for as
// long as its session lives; and what all nodes together say.
//
// Not signed: it is for people and for how far a rollout is; which table that
// is of, and its stages, are signed elsewhere.
//
// Includes protobuf. Thread safety: plain values and pure functions.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_NODE_H_
#define WAVETUNE_SERVER_FLEET_FLEET_NODE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/fleet/fleet_view.h"

namespace wavetune {

inline constexpr char kNodesPrefix[] = "nodes/";
// A node's entry, with some hundred tables.
inline constexpr size_t kMostNodeBytes = size_t{256} << 10;

struct FleetNode {
  // What it serves for a class and kernel.
  struct Table {
    std::string fleet_class;
    std::string kernel;
    std::string digest;  // The head's that it has accepted; empty: none.
    uint64_t epoch = 0;
    std::string behind;         // As FleetView::Standing::behind.
    std::string trial_digest;   // As FleetView::Standing.
    std::string trial_problem;  // The same.

    friend bool operator==(const Table&, const Table&) = default;
  };

  std::string node;
  std::string instance;  // 16 hexadecimal digits, another one for each start.
  std::string version;   // The program's.
  std::vector<std::string> classes;            // Classes of its devices, also
                                               // former ones: it follows their
                                               // heads.
  std::vector<std::string> measuring_classes;  // Classes that can measure now.
  std::vector<Table> tables;

  friend bool operator==(const FleetNode&, const FleetNode&) = default;
};

std::string NodePlace(absl::string_view node);
std::string EncodeFleetNode(const FleetNode& node);
// Sets `parsed_bytes`, where given, to the memory that it takes. Errors:
// DATA_LOSS for bytes that are none, or do not belong at `place`;
// FAILED_PRECONDITION for a later format.
absl::StatusOr<FleetNode> DecodeFleetNode(absl::string_view place,
                                          absl::string_view bytes,
                                          size_t* parsed_bytes = nullptr);

// Returns what they say together. Cannot fail.
FleetSummary SummaryOf(absl::Span<const FleetNode> nodes);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_NODE_H_
