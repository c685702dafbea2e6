#include "server/catalog/rollback.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"

namespace wavetune {
namespace {

// Why a table was withdrawn, under whatever driver it was found wrong; empty:
// it was not.
std::string WhyFoundWrong(const std::vector<TableRecord>& history,
                          const TableRecord& table) {
  for (const TableRecord& entry : history) {
    if (!entry.withdrawn.empty() && entry.digest == table.digest)
      return entry.withdrawn;
  }
  return "";
}

// What served on trial alone is nothing to go back to.
bool IsOwnPromotion(const TableRecord& entry) {
  return entry.withdrawn.empty() && entry.how != PromotionKind::kRolledBack &&
         entry.how != PromotionKind::kTrial;
}

// When what serves was promoted in its own right, before it was rolled back to.
uint64_t OwnEpoch(const std::vector<TableRecord>& history,
                  const TableRecord& current) {
  if (current.how != PromotionKind::kRolledBack) return current.epoch;
  for (const TableRecord& entry : history) {
    if (IsOwnPromotion(entry) && entry.epoch < current.epoch &&
        entry.digest == current.digest && entry.key == current.key) {
      return entry.epoch;
    }
  }
  return current.epoch;
}

std::string WhyHaltedIf(const WhyHalted& why_halted, const TableRecord& entry) {
  return why_halted ? why_halted(entry) : "";
}

absl::StatusOr<TableRecord> Before(const std::vector<TableRecord>& history,
                                   const std::vector<TableRecord>& serving,
                                   const WhyHalted& why_halted) {
  const auto current =
      std::max_element(serving.begin(), serving.end(),
                       [](const TableRecord& a, const TableRecord& b) {
                         return a.epoch < b.epoch;
                       });
  // Where all were withdrawn the last good one is wanted.
  const uint64_t before = current == serving.end()
                              ? std::numeric_limits<uint64_t>::max()
                              : OwnEpoch(history, *current);
  const std::string digest = current == serving.end() ? "" : current->digest;
  for (const TableRecord& entry : history) {
    if (IsOwnPromotion(entry) && entry.epoch < before &&
        entry.digest != digest && WhyFoundWrong(history, entry).empty() &&
        WhyHaltedIf(why_halted, entry).empty()) {
      return entry;
    }
  }
  return absl::NotFoundError(
      "no other table served before for this kernel and silicon: see wavetune "
      "tables history");
}

}  // namespace

absl::StatusOr<TableRecord> RollbackTarget(
    const std::vector<TableRecord>& history,
    const std::vector<TableRecord>& serving, absl::string_view digest,
    const WhyHalted& why_halted) {
  if (digest.empty()) return Before(history, serving, why_halted);
  if (digest.size() < kMinDigestPrefix) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", digest, "\" is too short for a digest: give at least ",
        kMinDigestPrefix, " digits"));
  }
  const TableRecord* found = nullptr;
  std::set<std::string> digests;
  for (const TableRecord& entry : history) {
    if (!entry.withdrawn.empty() || !absl::StartsWith(entry.digest, digest))
      continue;
    // The newest in its own right, else the newest.
    if (found == nullptr || (!IsOwnPromotion(*found) && IsOwnPromotion(entry)))
      found = &entry;
    digests.insert(entry.digest);
  }
  if (digests.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no table ", digest,
        " has served for this kernel and silicon: wavetune tables history "
        "lists those that have"));
  }
  if (digests.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("several tables begin with ", digest, ": ",
                     absl::StrJoin(digests, ", ")));
  }
  if (const std::string wrong = WhyFoundWrong(history, *found);
      !wrong.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("table ", ShortDigest(found->digest),
                     " was withdrawn and cannot serve again: ", wrong));
  }
  if (const std::string halted = WhyHaltedIf(why_halted, *found);
      !halted.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", ShortDigest(found->digest),
        " was never the fleet's: its rollout was halted (", halted, ")"));
  }
  return *found;
}

}  // namespace wavetune
