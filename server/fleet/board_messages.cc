#include "server/fleet/board_messages.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/fleet/fleet_head.h"
#include "server/fleet/signed_content.h"

namespace wavetune {
namespace {

template <typename Content>
constexpr const char* kPurpose = nullptr;
template <>
constexpr const char* kPurpose<v1::FleetOfferContent> = "offer";
template <>
constexpr const char* kPurpose<v1::FleetBatchContent> = "batch";
template <>
constexpr const char* kPurpose<v1::FleetReportContent> = "report";

}  // namespace

std::string AllBoardsPrefix(const ProfileKey& key) {
  return absl::StrCat("boards/", FleetClass(key), "/", key.kernel, "/");
}

std::string BoardsPrefix(const ProfileKey& key, absl::string_view profile) {
  return absl::StrCat(AllBoardsPrefix(key), profile, "/");
}

std::string OffersPrefix(absl::string_view boards) {
  return absl::StrCat(boards, "offers/");
}

std::string OfferPlace(absl::string_view boards, size_t place) {
  return absl::StrCat(OffersPrefix(boards), place);
}

std::string BatchPlace(absl::string_view boards, absl::string_view offer) {
  return absl::StrCat(boards, "batches/", offer);
}

std::string ReportPlace(absl::string_view boards, absl::string_view offer) {
  return absl::StrCat(boards, "reports/", offer);
}

template <typename Content>
std::string SignBoardContent(const BoardParty& party, const std::string& place,
                             const SigningKey& key, Content content) {
  content.set_key(place);
  content.set_fleet(party.fleet);
  content.set_node(party.node);
  return SignContent(kPurpose<Content>, content.SerializeAsString(), key);
}

template <typename Content>
absl::StatusOr<ReadBoardContent<Content>> CheckBoardContent(
    const BoardParty& party, const FleetEntry& entry, const FleetTrust& trust,
    const std::string& silicon_key) {
  ASSIGN_OR_RETURN(
      SignedContent read,
      ReadSignedContent(kPurpose<Content>, entry.key, entry.value));
  ReadBoardContent<Content> result{.public_key = std::move(read.public_key)};
  const bool parsed = result.content.ParseFromString(read.content);
  RETURN_IF_ERROR(
      trust.Check(result.public_key, result.content.node(), silicon_key)
          .status());
  if (!parsed || result.content.key() != entry.key ||
      result.content.fleet() != party.fleet) {
    return absl::DataLossError(absl::StrCat("what is at ", entry.key,
                                            " was not written for that place"));
  }
  return result;
}

#define WAVETUNE_BOARD_CONTENT(Content)                                        \
  template std::string SignBoardContent(const BoardParty&, const std::string&, \
                                        const SigningKey&, v1::Content);       \
  template absl::StatusOr<ReadBoardContent<v1::Content>> CheckBoardContent(    \
      const BoardParty&, const FleetEntry&, const FleetTrust&,                 \
      const std::string&);
WAVETUNE_BOARD_CONTENT(FleetOfferContent)
WAVETUNE_BOARD_CONTENT(FleetBatchContent)
WAVETUNE_BOARD_CONTENT(FleetReportContent)
#undef WAVETUNE_BOARD_CONTENT

}  // namespace wavetune
