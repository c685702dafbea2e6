// What every FleetRegistry says of the writes that it is given.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_WRITES_H_
#define WAVETUNE_SERVER_FLEET_FLEET_WRITES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/fleet/fleet_registry.h"

namespace wavetune {

// Errors: those of FleetRegistry::Commit that are the caller's.
absl::Status CheckFleetWrites(const std::vector<FleetWrite>& writes);

// Returns the revision that a write expects of an entry; 0: there is none.
// Cannot fail.
inline int64_t RevisionOf(const std::optional<FleetEntry>& entry) {
  return entry ? entry->revision : 0;
}

// Returns ABORTED: an entry does not have the expected revision.
absl::Status FleetEntryChanged(absl::string_view key);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_WRITES_H_
