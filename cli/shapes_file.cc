#include "cli/shapes_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/csv_text.h"
#include "base/status_macros.h"
#include "cli/problem_arguments.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

class Reader {
 public:
  Reader(const KernelSpec& spec, absl::string_view csv)
      : spec_(spec), csv_(csv, "shapes", /*has_comments=*/true) {}

  absl::Status ReadHeader() {
    RETURN_IF_ERROR(csv_.ReadHeader());
    std::vector<std::string> missing;
    std::set<int> used;
    for (const Dimension& dimension : spec_.dimensions) {
      columns_.push_back(csv_.Find(dimension.name));
      if (columns_.back() == CsvReader::kAbsent)
        missing.push_back(dimension.name);
      used.insert(columns_.back());
    }
    specialisation_ = csv_.Find("specialisation");
    used.insert(specialisation_);
    const int size = static_cast<int>(csv_.header().size());
    for (int i = 0; i < size && label_ == CsvReader::kAbsent; ++i) {
      if (used.count(i) == 0) label_ = i;
    }
    if (missing.empty()) return absl::OkStatus();
    return csv_.Fault(absl::StrCat("the first line names no column for ",
                                   absl::StrJoin(missing, ", "), "; it has ",
                                   absl::StrJoin(csv_.header(), ", ")));
  }

  bool Next() { return csv_.Next(); }
  int64_t line() const { return csv_.line(); }

  Shape ReadLine(std::vector<std::string>& faults) {
    Shape shape;
    if (std::string fault = csv_.WidthFault(); !fault.empty()) {
      faults.push_back(std::move(fault));
      return shape;
    }
    if (label_ != CsvReader::kAbsent)
      shape.label = std::string(csv_.cell(label_));
    for (size_t i = 0; i < spec_.dimensions.size(); ++i)
      ReadExtents(spec_.dimensions[i], csv_.cell(columns_[i]), &shape.problem,
                  faults);
    shape.problem.specialisation = SpecialisationOfLine();
    return shape;
  }

 private:
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
          const int column = csv_.Find(define.first);
          return column != CsvReader::kAbsent &&
                 csv_.cell(column) == define.second;
        });
  }

  std::string SpecialisationOfLine() const {
    if (specialisation_ != CsvReader::kAbsent)
      return std::string(csv_.cell(specialisation_));
    for (const Specialisation& specialisation : spec_.specialisations) {
      if (!specialisation.defines.empty() && Matches(specialisation))
        return specialisation.name;
    }
    return "";
  }

  const KernelSpec& spec_;
  CsvReader csv_;
  std::vector<int> columns_;
  int specialisation_ = CsvReader::kAbsent;
  int label_ = CsvReader::kAbsent;
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
  Reader reader(spec, csv);
  RETURN_IF_ERROR(reader.ReadHeader());
  std::vector<Shape> shapes;
  std::set<Problem> seen;
  std::vector<std::string> faults;
  while (reader.Next()) {
    std::vector<std::string> line_faults;
    Shape shape = reader.ReadLine(line_faults);
    std::string& own = shape.problem.specialisation;
    if (own.empty()) own = specialisation;
    if (line_faults.empty() && !is_known(own))
      line_faults.push_back(
          own.empty() ? absl::StrCat("names no specialisation; the kernel has ",
                                     Quoted(names), ": use --specialisation")
                      : absl::StrCat("names the specialisation \"", own,
                                     "\"; the kernel has ", Quoted(names)));
    for (const std::string& fault : line_faults)
      faults.push_back(absl::StrCat("line ", reader.line(), ": ", fault));
    if (!specialisation.empty() && own != specialisation) continue;
    if (line_faults.empty() && seen.insert(shape.problem).second)
      shapes.push_back(std::move(shape));
  }
  if (!faults.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("shapes:\n  ", JoinFaults(faults, "\n  ")));
  if (shapes.empty())
    return absl::InvalidArgumentError(
        "shapes: no problems; give a line per problem");
  return shapes;
}

}  // namespace wavetune::cli
