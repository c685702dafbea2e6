// CompiledSubTable: one specialisation's dual tables laid out for deciding.
//
// Create computes all that it can once: expressions with macro parameters put
// in (LaneProgram), predicates (PredicateProgram), divisions as multiplications
// (model/decide/exact_quotient.h). It lays coefficients of all rows side by
// side, without row regimes that do not matter (SegmentPlanes).
//
// Thread safety: immutable.
#ifndef WAVETUNE_MODEL_DECIDE_COMPILED_SUB_TABLE_H_
#define WAVETUNE_MODEL_DECIDE_COMPILED_SUB_TABLE_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/attributes.h"
#include "model/decide/gemm_fast_path.h"
#include "model/decide/group_answer.h"
#include "model/decide/lane_program.h"
#include "model/decide/layer_index.h"
#include "model/decide/part_tiles.h"
#include "model/decide/predicate_program.h"
#include "model/decide/row_classes.h"
#include "model/decide/segment_planes.h"
#include "model/decide/simd/lane_kernel.h"
#include "model/decide/simd/simd_path.h"
#include "model/table/table.h"
#include "model/table/table_check.h"
#include "wavetune/problem.h"

namespace wavetune {

// What a group answers as if it were the only one.
struct GroupRow {
  GroupAnswer answer;
  double rank_us = 0;  // What it competes with, at the answers' clock.
};

class CompiledSubTable {
 public:
  // `table` and its sub-table number `index` keep the rules of CheckTable and
  // outlive this. The CPU runs `path`.
  CompiledSubTable(const Table& table, size_t index, SimdPath path);
  CompiledSubTable(const CompiledSubTable&) = delete;
  CompiledSubTable& operator=(const CompiledSubTable&) = delete;

  // Writes the best row's answer for a problem whose extents are in range; of
  // no group where none is legal, or a number of any is above kLaneLimit. A
  // wary sub-table keeps the default (CompiledTable::Resolve).
  // Cannot fail. Cost: O(groups), for a repeated dimension plus its elements
  // times distinct tiles; no lock, allocation or system call.
  void Choose(const ProblemView& problem, GroupAnswer& answer) const noexcept;

  // Writes the row of each legal group, in their order, for a problem whose
  // extents are in range; `rows` has room for kMaxGroups. Returns how many; 0
  // where Choose finds none. Layers are not looked at: they say which group is
  // best, not by how much. Cost: O(groups squared), tens of microseconds; no
  // lock, allocation or system call.
  size_t AnswerEach(const ProblemView& problem, GroupRow* rows) const noexcept;

  // The portfolio indices of a group's members: its lead, and all that its
  // micro tables name.
  using Members = std::bitset<kMaxPortfolio>;
  const Members& members(size_t group) const { return members_[group]; }

  // What answers a GEMM's problem without Choose, unless layers() has a group
  // for it.
  const GemmFastPath& fast_path() const { return *fast_path_; }
  const LayerIndex& layers() const { return layers_; }
  const PartTiles& part_tiles() const { return part_tiles_; }

 private:
  void AddCoordinates();
  void AddConstants(const Table& table);
  void AddMembers();

  // For a wary sub-table: answers with the default configuration instead, where
  // the answer is extrapolated and faster by no more than its bound.
  void KeepDefault(const ProblemView& problem, const uint64_t* excluded,
                   GroupAnswer& answer) const noexcept;
  // As Choose, of the groups that are not excluded. `of_layer`: the problem's
  // layer was measured, and so its tiles, however full. Returns false where a
  // number is above kLaneLimit.
  bool ChooseAmong(const ProblemView& problem, const uint64_t* excluded,
                   bool of_layer, GroupAnswer& answer) const noexcept;
  // The same without the fast path.
  bool ChooseInLanes(const ProblemView& problem, const uint64_t* excluded,
                     bool of_layer, GroupAnswer& answer) const noexcept;
  // The same where no interval of extents gives the rows' regimes.
  bool ChooseByRegimes(const ProblemView& problem, const LaneScratch& scratch,
                       const LaneInputs& inputs, const uint64_t* excluded,
                       bool of_layer, GroupAnswer& answer) const noexcept;
  // Writes what `scratch` and the problem give. Returns false as ChooseInLanes.
  bool FindInputs(const ProblemView& problem, LaneScratch& scratch,
                  LaneInputs& inputs) const noexcept;
  // Returns what a row of the group that won alone competes with.
  double RankOfRow(const LaneChoice& row, size_t row_regime,
                   double latency_us) const noexcept;
  // Writes the regime of each group; returns whether all are alike.
  bool FindRegimes(const ProblemView& problem, const LaneScratch& scratch,
                   uint8_t* regimes) const noexcept;
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Answer(const ProblemView& problem,
                                           const LaneChoice& row,
                                           size_t row_regime, bool of_layer,
                                           GroupAnswer& answer) const noexcept;

  const SubTable* source_;
  const LaneKernel* kernel_;
  LayerIndex layers_;
  PartTiles part_tiles_;
  PredicateProgram predicates_;
  RowClasses classes_;
  std::vector<int> class_of_group_;
  LaneProgram program_;
  LaneLayout layout_;
  std::vector<LaneBlock> tiles_per_wave_;
  std::vector<LaneBlock> inverse_tiles_per_wave_;
  std::vector<LaneBlock> row_tile_;
  std::vector<LaneBlock> inverse_row_tile_;
  std::vector<LaneBlock> loop_anchors_;
  std::vector<int> sum_of_class_;  // Rows over a repeated dimension.
  SegmentPlanes planes_;
  std::vector<Members> members_;
  std::unique_ptr<const GemmFastPath> fast_path_;
  int default_group_ = -1;  // A wary sub-table's.
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_COMPILED_SUB_TABLE_H_
