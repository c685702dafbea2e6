#include "cli/commands/explanation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/format.h"

namespace wavetune::cli {
namespace {

// Where rows compete slower than predicted.
std::string MarginText(const std::vector<ExplainedGroup>& rows) {
  const bool any =
      std::any_of(rows.begin(), rows.end(), [](const ExplainedGroup& row) {
        return row.legal && row.rank_us != row.latency_us;
      });
  return any ? " (rows count slower than predicted where little or nothing was "
               "measured)"
             : "";
}

std::string ExcludedText(const std::vector<ExplainedGroup>& rows) {
  const auto excluded =
      std::count_if(rows.begin(), rows.end(),
                    [](const ExplainedGroup& row) { return !row.legal; });
  if (excluded == 0) return "";
  return absl::StrCat("; predicates exclude ", excluded, " of ", rows.size(),
                      " rows");
}

}  // namespace

std::string WhyItWon(const Tuner& tuner, const Decision& decision,
                     const std::vector<ExplainedGroup>& rows) {
  if (tuner.table() == nullptr)
    return "the daemon has no table of this kernel yet: the default";
  const auto winner =
      std::find_if(rows.begin(), rows.end(),
                   [](const ExplainedGroup& row) { return row.chosen; });
  if (decision.source == DecisionSource::kDefault || winner == rows.end())
    return absl::StrCat("no row can answer: the default", ExcludedText(rows));
  if (winner->of_layer)
    return absl::StrCat(
        "this layer was measured: from what rows took there, at this or other "
        "extents, this one is expected to be fastest, or as fast as the one "
        "that serves fewer rows (`wavetune tables show`)",
        ExcludedText(rows));
  const ExplainedGroup& fastest = rows[0];
  if (winner->kept_default)
    return absl::StrCat(
        "it is the default: beyond what was measured this table's predictions "
        "are uncertain, and no row is faster by more than its bound (the "
        "lowest prediction is ",
        FormatMicroseconds(fastest.latency_us), ", give or take ",
        FormatPercent(fastest.relative_bound), ")", ExcludedText(rows));
  if (winner == rows.begin()) {
    std::string text =
        absl::StrCat("it has the lowest prediction", MarginText(rows));
    if (rows.size() > 1 && rows[1].legal)
      absl::StrAppend(&text, ", ",
                      FormatPercent(rows[1].rank_us / fastest.rank_us - 1),
                      " below the next row");
    return absl::StrCat(text, ExcludedText(rows));
  }
  return absl::StrCat(
      "it is predicted within ", FormatPercent(tuner.table()->near_tie),
      " of the fastest row (", FormatMicroseconds(winner->rank_us), " against ",
      FormatMicroseconds(fastest.rank_us), MarginText(rows),
      ") and comes earlier in the table: near ties go to the earlier row, so "
      "that choices stay stable",
      ExcludedText(rows));
}

}  // namespace wavetune::cli
