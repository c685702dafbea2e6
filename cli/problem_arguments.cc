#include "cli/problem_arguments.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/csv_text.h"

namespace wavetune::cli {
namespace {

bool IsWholeNumber(absl::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+'))
    text.remove_prefix(1);
  if (text.empty()) return false;
  for (char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

std::string Names(const std::vector<Dimension>& dimensions) {
  return absl::StrJoin(dimensions, ", ",
                       [](std::string* out, const Dimension& dimension) {
                         absl::StrAppend(out, dimension.name,
                                         dimension.repeated ? "=a,b,..." : "");
                       });
}

}  // namespace

absl::StatusOr<ProblemArguments> SplitProblemArguments(
    const std::vector<std::string>& arguments) {
  ProblemArguments result;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", argument, "\" is not of the form dimension=extent"));
    }
    const std::string name = argument.substr(0, equals);
    const std::string value = argument.substr(equals + 1);
    if (name == "specialisation" && result.specialisation.empty()) {
      result.specialisation = value;
    } else if (name == "specialisation" ||
               !result.values.emplace(name, value).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", name, "\" is given twice"));
    }
  }
  return result;
}

absl::Status ParsedProblem::status() const {
  if (faults.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
}

int64_t ParseExtent(const Dimension& dimension, absl::string_view text,
                    std::vector<std::string>& faults) {
  text = absl::StripAsciiWhitespace(text);
  const auto fault = [&](absl::string_view what) {
    faults.push_back(absl::StrCat("dimension \"", dimension.name, "\": \"",
                                  text, "\" ", what));
    return kNoExtent;
  };
  int64_t extent = 0;
  if (!IsWholeNumber(text)) return fault("is not a whole number");
  if (!absl::SimpleAtoi(text, &extent))
    return fault("overflows 64 bits; give a smaller extent");
  if (extent < 0)
    return fault(absl::StrCat("is negative; give at least ",
                              std::max<int64_t>(0, dimension.min)));
  if (extent == 0 && dimension.min > 0)
    return fault(absl::StrCat("is zero; give at least ", dimension.min));
  if (extent < dimension.min)
    return fault(absl::StrCat("is below the kernel's least, ", dimension.min));
  if (extent > dimension.max)
    return fault(
        absl::StrCat("is above the kernel's largest, ", dimension.max));
  return extent;
}

ParsedProblem ParseProblem(const std::vector<Dimension>& dimensions,
                           const ProblemArguments& arguments) {
  ParsedProblem result;
  result.problem.specialisation = arguments.specialisation;
  std::map<std::string, std::string> left = arguments.values;
  for (const Dimension& dimension : dimensions) {
    result.problem.extents.push_back(dimension.repeated ? 0 : kNoExtent);
    const auto it = left.find(dimension.name);
    if (it == left.end()) {
      result.wrong_dimensions = true;
      result.faults.push_back(absl::StrCat("dimension \"", dimension.name,
                                           "\" is missing; give ",
                                           dimension.name, "=EXTENT"));
      continue;
    }
    if (dimension.repeated) {
      for (const absl::string_view part : SplitExtents(it->second)) {
        result.problem.repeated.push_back(
            ParseExtent(dimension, part, result.faults));
      }
      if (result.problem.repeated.empty())
        result.faults.push_back(absl::StrCat("dimension \"", dimension.name,
                                             "\" has no elements; give ",
                                             dimension.name, "=5,0,7"));
    } else {
      result.problem.extents.back() =
          ParseExtent(dimension, it->second, result.faults);
    }
    left.erase(it);
  }
  for (const auto& [name, value] : left) {
    result.wrong_dimensions = true;
    result.faults.push_back(absl::StrCat("unknown dimension \"", name,
                                         "\"; the kernel's dimensions are ",
                                         Names(dimensions)));
  }
  TellFirstFaults(result.faults);
  return result;
}

}  // namespace wavetune::cli
