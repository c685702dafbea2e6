#include "fit/plan/drift_regimes.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

// The first that takes the launch; the last takes everything.
size_t RowRegimeOf(const SubTable& sub, const Coordinates& at) {
  for (size_t i = 0; i + 1 < sub.row_regimes.size(); ++i) {
    if (at.rows <= sub.row_regimes[i].max_rows &&
        at.row_fill <= sub.row_regimes[i].max_fill) {
      return i;
    }
  }
  return sub.row_regimes.empty() ? 0 : sub.row_regimes.size() - 1;
}

std::string RowName(const SubTable& sub, size_t regime) {
  if (sub.row_regimes.size() < 2) return "";
  if (regime + 1 == sub.row_regimes.size()) return "more rows of tiles";
  const RowRegime& limits = sub.row_regimes[regime];
  std::string name =
      limits.max_rows == 1
          ? "one row of tiles"
          : absl::StrCat("up to ", limits.max_rows, " rows of tiles");
  if (limits.max_fill < 1) {
    absl::StrAppendFormat(&name, " up to %.0f %% full", 100 * limits.max_fill);
  }
  return name;
}

std::string WaveName(const SubTable& sub, int64_t waves) {
  if (sub.max_waves.size() < 2) return "";
  for (size_t i = 0; i + 1 < sub.max_waves.size(); ++i) {
    if (waves > sub.max_waves[i]) continue;
    return sub.max_waves[i] == 1
               ? "one wave"
               : absl::StrCat("up to ", sub.max_waves[i], " waves");
  }
  return "more waves";
}

}  // namespace

std::string DriftRegimeName(const SubTable& sub, const Coordinates& at,
                            int64_t tiles_per_wave) {
  const std::string rows = RowName(sub, RowRegimeOf(sub, at));
  const std::string waves = WaveName(sub, Waves(at.tiles, tiles_per_wave));
  if (rows.empty() && waves.empty()) return "all problems";
  return absl::StrCat(rows, rows.empty() || waves.empty() ? "" : ", ", waves);
}

const SubTable* FindSubTable(const Table& table,
                             const std::string& specialisation) {
  for (const SubTable& sub : table.sub_tables) {
    if (sub.specialisation == specialisation) return &sub;
  }
  return nullptr;
}

}  // namespace wavetune
