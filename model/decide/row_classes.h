// RowClasses: in which row regime each macro group of a sub-table finds a
// problem. Groups with the same tile along the rows' axis are one class.
//
// Thread safety: immutable after the last Add.
#ifndef WAVETUNE_MODEL_DECIDE_ROW_CLASSES_H_
#define WAVETUNE_MODEL_DECIDE_ROW_CLASSES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/decide/constant_divider.h"
#include "model/table/table.h"
#include "wavetune/problem.h"

namespace wavetune {

// Returns the row regime of one extent in [0, kExpressionLimit] along the rows.
size_t RowRegimeOfExtent(const SubTable& sub, int64_t tile, int64_t extent);

class RowClasses {
 public:
  // `sub` keeps the rules of CheckTable and outlives this.
  RowClasses(const SubTable& sub, int repeated_dimension);

  // Adds a group with the configuration of its lead; returns its class.
  int Add(const Configuration& configuration);

  // Writes the regime of each class; `regimes` has room for kMaxGroups. The
  // same arithmetic as MapProblem's, on each distinct tile once.
  void FindRegimes(const ProblemView& problem, uint8_t* regimes) const noexcept;

  // Returns the regime of a class whose tiles over the repeated dimension are
  // `rows`: quicker than FindRegimes where the fill does not matter.
  uint8_t RegimeOfSum(int row_class, double rows,
                      const ProblemView& problem) const noexcept;

  // Returns whether so many rows are in the last regime whatever the fill.
  bool InLastRegime(double rows) const { return rows > most_bounded_rows_; }

  // Whether regimes depend on the problem at all.
  bool varies() const {
    return dimension_ >= 0 && source_->row_regimes.size() > 1;
  }
  // The rows' dimension, or -1; whether it is the repeated one.
  int dimension() const { return dimension_; }
  bool repeated() const { return repeated_; }
  // Whether rows share anything (Coordinates::row_share).
  bool share() const { return dimension_ >= 0 && !repeated_; }
  size_t size() const { return tiles_.size(); }
  int64_t tile(int row_class) const {
    return tiles_[static_cast<size_t>(row_class)].divisor();
  }

 private:
  size_t RegimeOfElements(const ConstantDivider& tile,
                          absl::Span<const int64_t> extents) const noexcept;

  const SubTable* source_;
  int dimension_ = -1;
  bool repeated_ = false;
  double most_bounded_rows_ = 1;  // In all regimes but the last.
  std::vector<ConstantDivider> tiles_;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_ROW_CLASSES_H_
