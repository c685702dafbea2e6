// CompiledSubTable: one specialisation's dual tables laid out for deciding.
//
// What Create can compute once is computed there: expressions with macro
// parameters put in and shared between rows (CoordinateProgram), predicates
// (PredicateProgram), divisions by capacities, coefficients side by side.
//
// Thread safety: immutable.
#ifndef WAVETUNE_MODEL_COMPILED_SUB_TABLE_H_
#define WAVETUNE_MODEL_COMPILED_SUB_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/attributes.h"
#include "model/constant_divider.h"
#include "model/coordinate_program.h"
#include "model/predicate_program.h"
#include "model/problem.h"
#include "model/table.h"
#include "model/wave_arithmetic.h"

namespace wavetune {

// What stages I and II found.
struct Choice {
  double latency_us = 0;
  double relative_bound = 0;
  int group = -1;  // -1: no row is legal for the problem.
  uint8_t candidate = 0xff;
  bool extrapolated = false;
};

class CompiledSubTable {
 public:
  // `table` and its sub-table number `index` keep the rules of CheckTable and
  // outlive this.
  CompiledSubTable(const Table& table, size_t index);

  // Returns the best row's choice for a problem whose extents are in range.
  // Cannot fail. Cost: O(distinct expressions + groups), for a repeated
  // dimension times its elements; no lock, allocation or system call.
  Choice Choose(const ProblemView& problem) const noexcept;

 private:
  // Coefficients of one segment and its floor, as a row's prediction reads
  // them.
  struct Segment {
    WaveCoefficients coefficients;
    double floor_us = 0;
    ConstantDivider step_tiles;
    StepTiles full_wave;
    // Measured range.
    int64_t min_wave = 1;
    int64_t max_wave = 1;
    double min_iterations = 0;
    double max_iterations = 0;
  };
  struct Group {
    ConstantDivider capacity;
    int tiles_slot = 0;
    int loop_slot = 0;     // L or W of the mapping.
    int longest_slot = 0;  // Lx, where the mapping gives it, else loop_slot.
    int row_class = 0;     // Index into row_tiles_.
    int predicates_begin = 0;
    int predicates_end = 0;
  };
  // Where a problem lies under one group's macro configuration.
  struct Place {
    int64_t tiles = 1;
    double iterations = 1;
    int64_t longest_loop = 1;
    int64_t waves = 1;
    size_t segment = 0;
  };

  int AddRowClass(const Configuration& configuration);
  void AddGroup(const Table& table, const MacroGroup& group);

  // Writes the index of the row regime for each distinct row tile.
  void FindRowRegimes(const ProblemView& problem, size_t* regimes) const;
  bool IsLegal(const Group& group, const uint8_t* holds) const;
  // Inline in stage I's loop: a call costs as much as the arithmetic.
  ABSL_ATTRIBUTE_ALWAYS_INLINE Place Locate(size_t group, const int64_t* slots,
                                            const size_t* regimes) const;
  ABSL_ATTRIBUTE_ALWAYS_INLINE double Predict(size_t group,
                                              const Place& place) const;
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool IsOutside(const Place& place) const;
  // What the row competes with.
  ABSL_ATTRIBUTE_ALWAYS_INLINE double Rank(size_t group,
                                           const Place& place) const;

  const SubTable* source_;
  int row_dimension_ = -1;
  bool rows_repeated_ = false;
  bool loop_is_total_ = false;
  bool has_longest_loop_ = false;
  size_t wave_regimes_ = 1;
  size_t row_regimes_ = 1;
  double tie_factor_ = 1;
  CoordinateProgram coordinates_;
  PredicateProgram predicates_;
  std::vector<ConstantDivider> row_tiles_;
  std::vector<int> group_predicates_;
  std::vector<Group> groups_;
  std::vector<Segment> segments_;  // [group][row regime][wave regime]
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_COMPILED_SUB_TABLE_H_
