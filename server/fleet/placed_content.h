// PlacedContent: messages in the fleet's registry that a node signed for one
// place: each says its key, fleet and node, so that it is worth nothing
// elsewhere.
//
//   registry.Commit({{.key = place, .value = SignPlaced(
//       "usage", {"prod", "node-1"}, place, key, std::move(content))}});
//   ASSIGN_OR_RETURN(auto read, ReadPlaced<v1::FleetDemandContent>(
//       "usage", "prod", entry, trust, silicon_key));
//
// `Content` is a message with `key`, `fleet` and `node`.
// Includes protobuf. Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_FLEET_PLACED_CONTENT_H_
#define WAVETUNE_SERVER_FLEET_PLACED_CONTENT_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/signing_key.h"
#include "base/status_macros.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/fleet_trust.h"
#include "server/fleet/registry_bounds.h"
#include "server/fleet/signed_content.h"

namespace wavetune {

// Who writes, in which fleet.
struct FleetParty {
  std::string fleet;
  std::string node;
};

template <typename Content>
struct PlacedContent {
  Content content;
  std::string public_key;  // The signer's.
};

// Returns the bytes to store at `place`; sets what the content says of itself.
// `purpose` as SignContent's. Cannot fail.
template <typename Content>
std::string SignPlaced(absl::string_view purpose, const FleetParty& party,
                       const std::string& place, const SigningKey& key,
                       Content content) {
  content.set_key(place);
  content.set_fleet(party.fleet);
  content.set_node(party.node);
  return SignContent(purpose, content.SerializeAsString(), key);
}

// Reads an entry. Errors: as ReadSignedContent; PERMISSION_DENIED where the
// signer may not for the silicon; DATA_LOSS for an entry of elsewhere.
template <typename Content>
absl::StatusOr<PlacedContent<Content>> ReadPlaced(
    absl::string_view purpose, const std::string& fleet,
    const FleetEntry& entry, const FleetTrust& trust,
    const std::string& silicon_key) {
  ASSIGN_OR_RETURN(SignedContent read,
                   ReadSignedContent(purpose, entry.key, entry.value));
  PlacedContent<Content> result{.content = {},
                                .public_key = std::move(read.public_key)};
  const absl::Status parsed = ParseEntry(
      entry.key, read.content, kMostParsedRecordBytes, &result.content);
  RETURN_IF_ERROR(
      trust.Check(result.public_key, result.content.node(), silicon_key)
          .status());
  if (!parsed.ok() || result.content.key() != entry.key ||
      result.content.fleet() != fleet) {
    return absl::DataLossError(
        absl::StrCat("what is at ", entry.key, " is no ", purpose, " of it"));
  }
  return result;
}

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_PLACED_CONTENT_H_
