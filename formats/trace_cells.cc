#include "formats/trace_cells.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/kernel_validation.h"

namespace wavetune {

bool TraceCells::Next() {
  while (!left_.empty()) {
    const size_t end = std::min(left_.find('\n'), left_.size());
    const absl::string_view text =
        absl::StripAsciiWhitespace(left_.substr(0, end));
    left_.remove_prefix(std::min(end + 1, left_.size()));
    ++line_;
    if (text.empty()) continue;
    SplitCells(text, cells_);
    if (header_.empty()) header_ = cells_;
    return true;
  }
  return false;
}

int TraceCells::Find(absl::string_view name) const {
  for (size_t i = 0; i < header_.size(); ++i) {
    if (absl::EqualsIgnoreCase(header_[i], name)) return static_cast<int>(i);
  }
  return kAbsent;
}

absl::Status TraceCells::Require(absl::string_view name, int& column) const {
  column = Find(name);
  if (column != kAbsent) return absl::OkStatus();
  return Fault(absl::StrCat("column '", name, "' is missing; add it"));
}

absl::Status TraceCells::CheckNames() const {
  const absl::Status status = CheckColumnNames(header_);
  return status.ok() ? status : Fault(status.message());
}

absl::Status TraceCells::CheckWidth() const {
  if (cells_.size() == header_.size()) return absl::OkStatus();
  return Fault(
      absl::StrCat("has ", cells_.size(), " cells where the first line names ",
                   header_.size(), " columns; give one cell a column"));
}

absl::Status TraceCells::ReadInteger(int column, int64_t& value) const {
  if (absl::SimpleAtoi(cell(column), &value)) return absl::OkStatus();
  return CellFault(column, "is no whole number; correct it");
}

absl::Status TraceCells::ReadCount(int column, int64_t& value) const {
  value = 0;
  if (column == kAbsent) return absl::OkStatus();
  RETURN_IF_ERROR(ReadInteger(column, value));
  if (value >= 0 && value <= kDefaultMaxExtent) return absl::OkStatus();
  return CellFault(column, "is no count; give 0 to 2^31 - 1");
}

absl::Status TraceCells::ReadMicroseconds(int column, double& value) const {
  if (absl::SimpleAtod(cell(column), &value) && std::isfinite(value) &&
      value > 0) {
    return absl::OkStatus();
  }
  return CellFault(column, "is no latency; give microseconds above 0");
}

absl::Status TraceCells::ReadRatio(int column, double& value) const {
  if (absl::SimpleAtod(cell(column), &value) && std::isfinite(value) &&
      value >= 0) {
    return absl::OkStatus();
  }
  return CellFault(column, "is no ratio; give a number of at least 0");
}

absl::Status TraceCells::ReadFlag(int column, bool& value) const {
  if (cell(column) == "0" || cell(column) == "1") {
    value = cell(column) == "1";
    return absl::OkStatus();
  }
  return CellFault(column, "is neither 0 nor 1; give one of them");
}

absl::Status TraceCells::ReadConfiguration(const KernelSpec& spec,
                                           const std::vector<int>& columns,
                                           Configuration& configuration) const {
  std::vector<int64_t> values(columns.size());
  for (size_t i = 0; i < values.size(); ++i) {
    RETURN_IF_ERROR(ReadInteger(columns[i], values[i]));
  }
  configuration = Configuration(values);
  if (InSpace(spec, configuration)) return absl::OkStatus();
  return Fault(absl::StrCat(
      "configuration '", FormatConfiguration(spec, configuration),
      "' is outside of the space of kernel '", spec.name, "'; drop the line"));
}

absl::Status TraceCells::Fault(absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(what_, " line ", std::max<int64_t>(line_, 1), ": ", what));
}

absl::Status TraceCells::CellFault(int column, absl::string_view what) const {
  return Fault(absl::StrCat("column '", header_[static_cast<size_t>(column)],
                            "': '", cell(column), "' ", what));
}

}  // namespace wavetune
