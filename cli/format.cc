#include "cli/format.h"

#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "proto/wavetune/v1/types.pb.h"

namespace wavetune::cli {

std::string FormatMicroseconds(double us) {
  if (!std::isfinite(us)) return "-";
  if (us < 1000) return absl::StrFormat("%.*f us", us < 100 ? 2 : 1, us);
  if (us < 1e6) return absl::StrFormat("%.2f ms", us / 1e3);
  return absl::StrFormat("%.2f s", us / 1e6);
}

std::string FormatSeconds(double seconds) {
  // Above a century the number says nothing, and would not fit an integer.
  if (!(seconds >= 0 && seconds < 3e9)) return "unknown";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600)
    return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %02d min", whole / 3600, whole % 3600 / 60);
}

std::string FormatBytes(int64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  static constexpr std::array<const char*, 5> kUnits = {"KiB", "MiB", "GiB",
                                                        "TiB", "PiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string FormatPercent(double fraction) {
  return absl::StrFormat("%.1f%%", fraction * 100);
}

std::string FormatTime(int64_t microseconds_since_epoch) {
  if (microseconds_since_epoch <= 0) return "-";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S",
                          absl::FromUnixMicros(microseconds_since_epoch),
                          absl::LocalTimeZone());
}

std::string FormatProblem(const std::vector<Dimension>& dimensions,
                          const Problem& problem) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i].repeated) {
      parts.push_back(absl::StrCat(dimensions[i].name, "=",
                                   absl::StrJoin(problem.repeated, ",")));
    } else if (i < problem.extents.size()) {
      parts.push_back(
          absl::StrCat(dimensions[i].name, "=", problem.extents[i]));
    }
  }
  if (!problem.specialisation.empty())
    parts.push_back(absl::StrCat("specialisation=", problem.specialisation));
  return absl::StrJoin(parts, " ");
}

std::string FormatProblem(const v1::Problem& problem) {
  std::string text =
      absl::StrJoin(problem.extents(), " ",
                    [](std::string* out, const v1::Problem::Extents& extents) {
                      absl::StrAppend(out, extents.dimension(), "=",
                                      absl::StrJoin(extents.values(), ","));
                    });
  if (!problem.specialisation().empty())
    absl::StrAppend(&text, " specialisation=", problem.specialisation());
  return text;
}

std::string FormatRowRegime(const RowRegime& regime) {
  std::vector<std::string> parts;
  if (regime.max_rows != std::numeric_limits<int64_t>::max())
    parts.push_back(absl::StrCat("rows<=", regime.max_rows));
  if (regime.max_fill < 1)
    parts.push_back(absl::StrCat("fill<=", regime.max_fill));
  return parts.empty() ? "any rows" : absl::StrJoin(parts, " ");
}

}  // namespace wavetune::cli
