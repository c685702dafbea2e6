#include "server/fleet/board_messages.h"

#include "absl/strings/str_cat.h"
#include "server/fleet/fleet_head.h"

namespace wavetune {
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

}  // namespace wavetune
