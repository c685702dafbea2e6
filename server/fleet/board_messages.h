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
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/signing_key.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/fleet_trust.h"
#include "server/fleet/placed_content.h"
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

// What each of them is signed for.
template <typename Content>
inline constexpr const char* kBoardPurpose = nullptr;
template <>
inline constexpr const char* kBoardPurpose<v1::FleetOfferContent> = "offer";
template <>
inline constexpr const char* kBoardPurpose<v1::FleetBatchContent> = "batch";
template <>
inline constexpr const char* kBoardPurpose<v1::FleetReportContent> = "report";

// As SignPlaced and ReadPlaced; `Content` is one of the three.
template <typename Content>
std::string SignBoardContent(const FleetParty& party, const std::string& place,
                             const SigningKey& key, Content content) {
  return SignPlaced(kBoardPurpose<Content>, party, place, key,
                    std::move(content));
}
template <typename Content>
absl::StatusOr<PlacedContent<Content>> CheckBoardContent(
    const FleetParty& party, const FleetEntry& entry, const FleetTrust& trust,
    const std::string& silicon_key) {
  return ReadPlaced<Content>(kBoardPurpose<Content>, party.fleet, entry, trust,
                             silicon_key);
}

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_BOARD_MESSAGES_H_
