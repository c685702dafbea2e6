#include "wavetune/table_set.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/digest.h"

namespace wavetune {

absl::StatusOr<TableSet> TableSet::Parse(absl::string_view text) {
  Tables tables;
  for (absl::string_view entry : absl::StrSplit(text, ',')) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    if (parts.first.empty() || !IsSha256Hex(parts.second) ||
        !tables.insert(parts).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", entry,
          "\" is no entry of a table set: write kernel=digest, "
          "each kernel once, the digest as 64 lower-case hexadecimal digits"));
    }
  }
  return TableSet(std::move(tables));
}

std::string TableSet::ToString() const {
  return absl::StrJoin(tables_, ",", absl::PairFormatter("="));
}

std::string TableSet::Digest() const { return TableSetDigest(tables_); }

}  // namespace wavetune
