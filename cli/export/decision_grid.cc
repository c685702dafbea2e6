#include "cli/export/decision_grid.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "cli/problem_arguments.h"

namespace wavetune::cli {
namespace {

using GivenExtents = std::map<std::string, std::string>;

// What each dimension is one after the other. What no dimension has stays as it
// is, for ParseProblem to tell.
std::vector<GivenExtents> Combinations(const Table& table,
                                       const GivenExtents& given) {
  std::vector<GivenExtents> all = {given};
  for (const Dimension& dimension : table.dimensions) {
    const auto text = given.find(dimension.name);
    if (dimension.repeated || text == given.end()) continue;
    const std::vector<std::string> extents = absl::StrSplit(text->second, ',');
    if (extents.size() > kMostGridProblems / all.size()) return {};
    std::vector<GivenExtents> next;
    for (const GivenExtents& values : all) {
      for (const std::string& extent : extents) {
        next.push_back(values);
        next.back()[dimension.name] = extent;
      }
    }
    all = std::move(next);
  }
  return all;
}

}  // namespace

absl::StatusOr<std::vector<int>> SubTablesOf(const Table& table,
                                             absl::string_view specialisation) {
  std::vector<int> indices;
  std::vector<std::string> names;
  for (size_t i = 0; i < table.sub_tables.size(); ++i) {
    names.push_back(table.sub_tables[i].specialisation);
    if (specialisation.empty() || specialisation == names.back())
      indices.push_back(static_cast<int>(i));
  }
  if (!indices.empty()) return indices;
  return absl::NotFoundError(
      absl::StrCat("the table has no specialisation \"", specialisation,
                   "\"; it has: ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::vector<Problem>> GridProblems(
    const Table& table, const std::vector<std::string>& arguments,
    absl::string_view specialisation) {
  ASSIGN_OR_RETURN(const ProblemArguments given,
                   SplitProblemArguments(arguments));
  const absl::string_view wanted =
      given.specialisation.empty() ? specialisation : given.specialisation;
  ASSIGN_OR_RETURN(const std::vector<int> sub_tables,
                   SubTablesOf(table, wanted));
  const std::vector<GivenExtents> all = Combinations(table, given.values);
  if (all.empty() || all.size() > kMostGridProblems / sub_tables.size()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "more than ", kMostGridProblems, " problems: name fewer extents"));
  }
  std::vector<Problem> problems;
  for (const int index : sub_tables) {
    const std::string& name =
        table.sub_tables[static_cast<size_t>(index)].specialisation;
    for (const GivenExtents& values : all) {
      ParsedProblem parsed = ParseProblem(
          table.dimensions, {.values = values, .specialisation = name});
      RETURN_IF_ERROR(parsed.status());
      problems.push_back(std::move(parsed.problem));
      problems.back().specialisation = name;
    }
  }
  return problems;
}

}  // namespace wavetune::cli
