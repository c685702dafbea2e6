#include "server/fleet/fleet_trust.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/input_file.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

constexpr size_t kMostBytes = 16 << 20;  // A hundred thousand nodes.
constexpr char kRevoked[] = "revoked";
constexpr char kMisused[] = "misused";

absl::Status WrongLine(size_t number, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", number, " of the list of trusted keys: ", why));
}

// A pattern ends with '*', or is the whole key.
bool Matches(absl::string_view pattern, absl::string_view silicon_key) {
  if (absl::ConsumeSuffix(&pattern, "*"))
    return absl::StartsWith(silicon_key, pattern);
  return pattern == silicon_key;
}

}  // namespace

absl::StatusOr<FleetTrust> FleetTrust::Parse(absl::string_view text) {
  List list;
  size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view code =
        line.substr(0, std::min(line.find('#'), line.size()));
    const std::vector<std::string> words =
        absl::StrSplit(code, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    const bool revokes = words[0] == kRevoked;
    if (words.size() < 2) {
      return WrongLine(number,
                       "write KEY CLASSES NAME, as in '<64 hex digits> * "
                       "node-1', or: revoked KEY");
    }
    if (revokes && words.size() > 2 &&
        (words.size() > 3 || words[2] != kMisused)) {
      return WrongLine(number,
                       "write revoked KEY, or of one that somebody else had: "
                       "revoked KEY misused");
    }
    const std::string& key = revokes ? words[1] : words[0];
    if (!IsSha256Hex(key)) {
      return WrongLine(number, absl::StrCat("'", key,
                                            "' is no public key of 64 "
                                            "lower-case hexadecimal digits"));
    }
    if (revokes) {
      bool& misused = list.revoked[key];
      misused = misused || words.size() > 2;
      continue;
    }
    Signer& signer = list.signers[key];
    signer.classes.push_back(words[1]);
    if (words.size() > 2) signer.name = words[2];
  }
  if (list.signers.empty()) {
    return absl::InvalidArgumentError(
        "the list of trusted keys believes nobody: add a line for each node "
        "that profiles (docs/fleet.md)");
  }
  FleetTrust trust;
  trust.shared_->list = std::make_shared<const List>(std::move(list));
  return trust;
}

std::shared_ptr<const FleetTrust::List> FleetTrust::list() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->list;
}

bool FleetTrust::Replace(const FleetTrust& other) {
  std::shared_ptr<const List> list = other.list();
  const std::lock_guard lock(shared_->mutex);
  if (*list == *shared_->list) return false;
  shared_->list = std::move(list);
  return true;
}

absl::StatusOr<FleetTrust> FleetTrust::Read(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadOwnInputFile(path, kMostBytes));
  auto trust = Parse(text);
  if (!trust.ok()) return AtPath(trust.status(), path);
  return trust;
}

absl::StatusOr<std::string> FleetTrust::Check(const SignedHead& head) const {
  return Check(head.public_key, head.head.node, head.head.key.silicon_key);
}

absl::StatusOr<std::string> FleetTrust::Check(
    absl::string_view public_key, absl::string_view node,
    absl::string_view silicon_key) const {
  const std::string key = absl::StrCat("key ", ShortDigest(public_key));
  const std::shared_ptr<const List> list = this->list();
  if (list->revoked.contains(public_key))
    return absl::PermissionDeniedError(absl::StrCat(key, " is revoked"));
  const auto signer = list->signers.find(public_key);
  if (signer == list->signers.end()) {
    return absl::PermissionDeniedError(
        absl::StrCat(key, ", which signs as node ", node,
                     ", is not in this node's list of trusted keys "
                     "(--fleet-trust)"));
  }
  const std::string& name = signer->second.name;
  for (const std::string& pattern : signer->second.classes) {
    if (Matches(pattern, silicon_key))
      return name.empty() ? std::string(node) : name;
  }
  return absl::PermissionDeniedError(absl::StrCat(
      key, " (", name, ") may not sign for ", silicon_key, " (--fleet-trust)"));
}

}  // namespace wavetune
