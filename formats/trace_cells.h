// TraceCells: a trace's lines and cells, and what is wrong with them
// (formats/trace.h, formats/trace_candidates.h).
//
//   TraceCells cells(csv);
//   if (!cells.Next()) return cells.Fault("there is no line ...");
//   const int latency = cells.Find("latency_us");
//   while (cells.Next()) RETURN_IF_ERROR(cells.ReadMicroseconds(latency, us));
//
// Thread safety: none. Refers to the text.
#ifndef WAVETUNE_FORMATS_TRACE_CELLS_H_
#define WAVETUNE_FORMATS_TRACE_CELLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/csv_text.h"
#include "wavetune/configuration.h"

namespace wavetune {

struct KernelSpec;

class TraceCells {
 public:
  static constexpr int kAbsent = -1;

  // `what` is what faults call the text; it must live as long as the cells do.
  explicit TraceCells(absl::string_view csv, absl::string_view what = "trace")
      : left_(WithoutByteOrderMark(csv)), what_(what) {}

  // Goes on to the next line that is not empty; the first one names the
  // columns. False at the end.
  bool Next();

  // Number of the line at hand, from 1; 0 before the first.
  int64_t line() const { return line_; }

  // Returns the index of a column, case ignored, or kAbsent.
  int Find(absl::string_view name) const;
  // As Find. Errors: the column is missing.
  absl::Status Require(absl::string_view name, int& column) const;

  // A cell of the line at hand. `column` is not kAbsent.
  absl::string_view cell(int column) const {
    return cells_[static_cast<size_t>(column)];
  }

  // Returns OK if no two columns have the same name, case ignored.
  absl::Status CheckNames() const;

  // Returns OK if the line has a cell for each column.
  absl::Status CheckWidth() const;

  // Read a cell of the line at hand; errors name line and column.
  absl::Status ReadInteger(int column, int64_t& value) const;
  // 0 where the column is absent.
  absl::Status ReadCount(int column, int64_t& value) const;
  absl::Status ReadMicroseconds(int column, double& value) const;
  // Not negative.
  absl::Status ReadRatio(int column, double& value) const;
  // 0 or 1.
  absl::Status ReadFlag(int column, bool& value) const;
  // The values of all parameters, whose columns are in their order. Errors:
  // also a configuration outside of the space.
  absl::Status ReadConfiguration(const KernelSpec& spec,
                                 const std::vector<int>& columns,
                                 Configuration& configuration) const;

  // INVALID_ARGUMENT about the line, or about a cell of it.
  absl::Status Fault(absl::string_view what) const;
  absl::Status CellFault(int column, absl::string_view what) const;

 private:
  absl::string_view left_;
  absl::string_view what_;
  int64_t line_ = 0;
  std::vector<absl::string_view> header_;
  std::vector<absl::string_view> cells_;
};

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_TRACE_CELLS_H_
