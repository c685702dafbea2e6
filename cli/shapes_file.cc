#include "cli/shapes_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/csv_text.h"
#include "base/status_macros.h"
#include "cli/problem_arguments.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

constexpr size_t kNoColumn = static_cast<size_t>(-1);

class Reader {
 public:
  explicit Reader(const KernelSpec& spec) : spec_(spec) {}

  absl::Status ReadHeader(absl::string_view line) {
    SplitCells(line, header_);
    RETURN_IF_ERROR(CheckColumnNames(header_));
    std::vector<std::string> missing;
    std::set<size_t> used;
    for (const Dimension& dimension : spec_.dimensions) {
      columns_.push_back(Find(dimension.name));
      if (columns_.back() == kNoColumn) missing.push_back(dimension.name);
      used.insert(columns_.back());
    }
    specialisation_ = Find("specialisation");
    used.insert(specialisation_);
    for (size_t i = 0; i < header_.size() && label_ == kNoColumn; ++i) {
      if (used.count(i) == 0) label_ = i;
    }
    if (missing.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the first line names no column for ", absl::StrJoin(missing, ", "),
        "; it has ", absl::StrJoin(header_, ", ")));
  }

  Shape ReadLine(absl::string_view line, std::vector<std::string>& faults) {
    SplitCells(line, cells_);
    Shape shape;
    if (cells_.size() != header_.size()) {
      faults.push_back(
          absl::StrCat("has ", cells_.size(), " cells, not ", header_.size()));
      return shape;
    }
    if (label_ != kNoColumn) shape.label = std::string(cells_[label_]);
    for (size_t i = 0; i < spec_.dimensions.size(); ++i)
      ReadExtents(spec_.dimensions[i], cells_[columns_[i]], &shape.problem,
                  faults);
    shape.problem.specialisation = SpecialisationOfLine();
    return shape;
  }

 private:
  size_t Find(absl::string_view name) const {
    for (size_t i = 0; i < header_.size(); ++i) {
      if (absl::EqualsIgnoreCase(header_[i], name)) return i;
    }
    return kNoColumn;
  }

  static void ReadExtents(const Dimension& dimension, absl::string_view cell,
                          Problem* problem, std::vector<std::string>& faults) {
    if (!dimension.repeated) {
      problem->extents.push_back(ParseExtent(dimension, cell, faults));
      return;
    }
    problem->extents.push_back(0);
    for (const absl::string_view element : SplitExtents(cell))
      problem->repeated.push_back(ParseExtent(dimension, element, faults));
    if (problem->repeated.empty())
      faults.push_back(
          absl::StrCat("dimension \"", dimension.name, "\" has no elements"));
  }

  bool Matches(const Specialisation& specialisation) const {
    return std::all_of(
        specialisation.defines.begin(), specialisation.defines.end(),
        [this](const std::pair<const std::string, std::string>& define) {
          const size_t column = Find(define.first);
          return column != kNoColumn && cells_[column] == define.second;
        });
  }

  std::string SpecialisationOfLine() const {
    if (specialisation_ != kNoColumn)
      return std::string(cells_[specialisation_]);
    for (const Specialisation& specialisation : spec_.specialisations) {
      if (!specialisation.defines.empty() && Matches(specialisation))
        return specialisation.name;
    }
    return "";
  }

  const KernelSpec& spec_;
  std::vector<absl::string_view> header_;
  std::vector<absl::string_view> cells_;
  std::vector<size_t> columns_;
  size_t specialisation_ = kNoColumn;
  size_t label_ = kNoColumn;
};

std::string Quoted(const std::vector<std::string>& names) {
  return absl::StrJoin(names, ", ",
                       [](std::string* out, const std::string& name) {
                         absl::StrAppend(out, "\"", name, "\"");
                       });
}

}  // namespace

absl::StatusOr<std::vector<Shape>> ParseShapes(
    const KernelSpec& spec, absl::string_view csv,
    const std::string& specialisation) {
  const std::vector<std::string> names = spec.SpecialisationNames();
  const auto is_known = [&names](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!specialisation.empty() && !is_known(specialisation))
    return absl::InvalidArgumentError(
        absl::StrCat("kernel \"", spec.name, "\" has no specialisation \"",
                     specialisation, "\"; it has ", Quoted(names)));
  Reader reader(spec);
  std::vector<Shape> shapes;
  std::set<Problem> seen;
  std::vector<std::string> faults;
  int number = 0;
  bool has_header = false;
  for (absl::string_view line :
       absl::StrSplit(WithoutByteOrderMark(csv), '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    if (!has_header) {
      const absl::Status status = reader.ReadHeader(line);
      if (!status.ok())
        return absl::InvalidArgumentError(
            absl::StrCat("shapes: line ", number, ": ", status.message()));
      has_header = true;
      continue;
    }
    std::vector<std::string> line_faults;
    Shape shape = reader.ReadLine(line, line_faults);
    std::string& own = shape.problem.specialisation;
    if (own.empty()) own = specialisation;
    if (line_faults.empty() && !is_known(own))
      line_faults.push_back(
          own.empty() ? absl::StrCat("names no specialisation; the kernel has ",
                                     Quoted(names), ": use --specialisation")
                      : absl::StrCat("names the specialisation \"", own,
                                     "\"; the kernel has ", Quoted(names)));
    for (const std::string& fault : line_faults)
      faults.push_back(absl::StrCat("line ", number, ": ", fault));
    if (!specialisation.empty() && own != specialisation) continue;
    if (line_faults.empty() && seen.insert(shape.problem).second)
      shapes.push_back(std::move(shape));
  }
  if (!faults.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("shapes:\n  ", JoinFaults(faults, "\n  ")));
  if (shapes.empty())
    return absl::InvalidArgumentError(
        "shapes: no problems; give a first line with column names and a line "
        "per problem");
  return shapes;
}

}  // namespace wavetune::cli
