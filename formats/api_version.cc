#include "formats/api_version.h"

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

std::string Text(int32_t version) {
  return absl::StrCat(version / 1000, ".", version % 1000);
}

absl::Status Refusal(int32_t theirs, const char* peer, const char* own,
                     int32_t ours, const char* rule) {
  const char* const older = theirs < ours ? peer : own;
  return absl::FailedPreconditionError(absl::StrCat(
      "the ", peer, " speaks API ", Text(theirs), ", the ", own, " API ",
      Text(ours), ": upgrade the ", older, " (", rule, ")"));
}

}  // namespace

absl::Status CheckApiVersion(int32_t theirs, const char* peer, const char* own,
                             int32_t ours) {
  const bool same_major = theirs > 0 && theirs / 1000 == ours / 1000;
  if (same_major && std::abs(theirs % 1000 - ours % 1000) <= 1) {
    return absl::OkStatus();
  }
  return Refusal(theirs, peer, own, ours,
                 "majors must be equal, minors at most one apart");
}

absl::Status CheckClientApiVersion(int32_t theirs, const char* peer,
                                   const char* own, int32_t ours) {
  if (theirs == 0 || theirs / 1000 == ours / 1000) return absl::OkStatus();
  return Refusal(theirs, peer, own, ours, "majors must be equal");
}

}  // namespace wavetune
