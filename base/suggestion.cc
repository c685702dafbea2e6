#include "base/suggestion.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace wavetune {
namespace {

// Letters changed, left out, added, or exchanged with their neighbour.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::vector<size_t> next(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({changed, row[j] + 1, next[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
    }
    before = std::exchange(row, next);
  }
  return row[b.size()];
}

// Returns the word of `known` that is nearest, up to a third of the letters; or
// an empty one.
std::string NearestWord(absl::string_view word,
                        const std::vector<std::string>& known) {
  const std::string lower = absl::AsciiStrToLower(word);
  // Of one or two letters every word is near.
  size_t most = word.size() < 3 ? 0 : (word.size() + 2) / 3;
  std::string nearest;
  for (const std::string& candidate : known) {
    if (candidate.size() > 2 * word.size()) continue;
    const size_t distance =
        EditDistance(lower, absl::AsciiStrToLower(candidate));
    if (distance > most) continue;
    nearest = candidate;
    if (distance == 0) break;
    most = distance - 1;
  }
  return nearest;
}

}  // namespace

std::string Suggestion(absl::string_view word,
                       const std::vector<std::string>& known) {
  const std::string nearest = NearestWord(word, known);
  if (!nearest.empty()) return absl::StrCat("; did you mean ", nearest, "?");
  if (known.empty()) return "";
  return absl::StrCat("; known are: ", absl::StrJoin(known, ", "));
}

}  // namespace wavetune
