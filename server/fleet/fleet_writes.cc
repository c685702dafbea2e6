#include "server/fleet/fleet_writes.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace wavetune {

absl::Status CheckFleetWrites(const std::vector<FleetWrite>& writes) {
  if (writes.empty())
    return absl::InvalidArgumentError("a commit needs a write");
  if (writes.size() > FleetRegistry::kMaxWrites) {
    return absl::InvalidArgumentError(
        absl::StrCat("a commit of ", writes.size(), " writes: at most ",
                     FleetRegistry::kMaxWrites));
  }
  std::set<std::string> keys;
  for (const FleetWrite& write : writes) {
    if (write.key.empty() || !keys.insert(write.key).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("a commit with two writes of '", write.key,
                       "', or one without a key"));
    }
    if (write.value && write.value->size() > FleetRegistry::kMaxValueBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a value of ", write.value->size(), " bytes for ",
                       write.key, ": at most ", FleetRegistry::kMaxValueBytes));
    }
  }
  return absl::OkStatus();
}

absl::Status FleetEntryChanged(absl::string_view key) {
  return absl::AbortedError(
      absl::StrCat(key, " was changed by another node meanwhile"));
}

absl::StatusOr<FleetListing> FleetRegistry::List(absl::string_view prefix,
                                                 const FleetBounds& bounds) {
  FleetListing listing;
  ASSIGN_OR_RETURN(listing.revision,
                   Read(prefix, bounds, [&](FleetEntry entry) {
                     listing.entries.push_back(std::move(entry));
                   }));
  return listing;
}

}  // namespace wavetune
