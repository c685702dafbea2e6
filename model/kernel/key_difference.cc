#include "model/kernel/key_difference.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace wavetune {
namespace {

using Part = std::pair<absl::string_view, absl::string_view>;

std::vector<Part> PartsOf(absl::string_view key) {
  std::vector<Part> parts;
  for (const absl::string_view part : absl::StrSplit(key, ';')) {
    parts.push_back(absl::StrSplit(part, absl::MaxSplits('=', 1)));
  }
  return parts;
}

bool SameNames(const std::vector<Part>& a, const std::vector<Part>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first) return false;
  }
  return true;
}

std::string Change(absl::string_view name, absl::string_view then,
                   absl::string_view now) {
  if (name == "power_w") {
    return absl::StrCat("power limit ", then, " W, now ", now, " W");
  }
  return absl::StrCat(name, " \"", then, "\", now \"", now, "\"");
}

}  // namespace

std::string KeyDifference(absl::string_view then, absl::string_view now) {
  if (then == now) return "";
  const std::vector<Part> before = PartsOf(then);
  const std::vector<Part> after = PartsOf(now);
  if (!SameNames(before, after)) return Change("environment", then, now);
  std::vector<std::string> changes;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    changes.push_back(
        Change(before[i].first, before[i].second, after[i].second));
  }
  return absl::StrJoin(changes, ", ");
}

}  // namespace wavetune
