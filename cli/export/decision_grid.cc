#include "cli/export/decision_grid.h"

#include <algorithm>
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

absl::StatusOr<std::vector<std::string>> Specialisations(
    const Table& table, const std::string& wanted) {
  std::vector<std::string> names;
  for (const SubTable& sub : table.sub_tables)
    names.push_back(sub.specialisation);
  if (wanted.empty()) return names;
  if (std::find(names.begin(), names.end(), wanted) != names.end())
    return std::vector<std::string>{wanted};
  return absl::NotFoundError(
      absl::StrCat("the table has no specialisation \"", wanted,
                   "\"; it has: ", absl::StrJoin(names, ", ")));
}

}  // namespace

absl::StatusOr<std::vector<Problem>> GridProblems(
    const Table& table, const std::vector<std::string>& arguments,
    const std::string& specialisation) {
  ASSIGN_OR_RETURN(const ProblemArguments given,
                   SplitProblemArguments(arguments));
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   Specialisations(table, given.specialisation.empty()
                                              ? specialisation
                                              : given.specialisation));
  const std::vector<GivenExtents> all = Combinations(table, given.values);
  if (all.empty() || all.size() > kMostGridProblems / names.size()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "more than ", kMostGridProblems, " problems: name fewer extents"));
  }
  std::vector<Problem> problems;
  for (const std::string& name : names) {
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
