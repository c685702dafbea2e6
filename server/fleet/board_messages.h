// What goes through the fleet's registry while a node does a profile with
// boards that other nodes lend (fleet_borrower.h, fleet_lender.h).
//
// Beneath BoardsPrefix there are three entries for each board: the lender's
// offer, the last batch that the node that does the profile wants, and what has
// come of it since the report before. Each is signed, with its own key in it,
// so that it is worth nothing elsewhere.
//
// Includes protobuf. Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_FLEET_BOARD_MESSAGES_H_
#define WAVETUNE_SERVER_FLEET_BOARD_MESSAGES_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/signing_key.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/fleet_trust.h"
#include "server/store/records.h"

namespace wavetune {

// Boards that are lent to one profile, at most: each is some ten commits a
// second.
inline constexpr size_t kMostLentBoards = 7;

// Return keys in the registry: of all that is lent to a profile, and to all
// profiles of a class and kernel; beneath the first, of an offer, which has one
// of kMostLentBoards places, and of what goes with it. Cannot fail.
std::string BoardsPrefix(const ProfileKey& key, absl::string_view profile);
std::string AllBoardsPrefix(const ProfileKey& key);
std::string OffersPrefix(absl::string_view boards);
std::string OfferPlace(absl::string_view boards, size_t place);
std::string BatchPlace(absl::string_view boards, absl::string_view offer);
std::string ReportPlace(absl::string_view boards, absl::string_view offer);

// Who writes, or reads, in which fleet.
struct BoardParty {
  std::string fleet;
  std::string node;
};

// Returns the bytes to store at `place`; sets what the content says of itself.
// `Content` is one of the three. Cannot fail.
template <typename Content>
std::string SignBoardContent(const BoardParty& party, const std::string& place,
                             const SigningKey& key, Content content);

template <typename Content>
struct ReadBoardContent {
  Content content;
  std::string public_key;  // Of who signed.
};

// Reads an entry. Errors: as ReadSignedContent; PERMISSION_DENIED where who
// signed may not for the silicon; DATA_LOSS for what is of elsewhere.
template <typename Content>
absl::StatusOr<ReadBoardContent<Content>> CheckBoardContent(
    const BoardParty& party, const FleetEntry& entry, const FleetTrust& trust,
    const std::string& silicon_key);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_BOARD_MESSAGES_H_
