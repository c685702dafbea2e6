// GemmFastPath: decides the problems of a GEMM's sub-tables,
// in one call of LaneKernel, without the programs that CompiledSubTable runs
// for the others.
//
//   GemmFastPath path(parts);
//   if (!path.Choose(extents, answer)) ...  // CompiledSubTable::Choose does.
//
// It leaves to those: other mappings and regimes
// (model/decide/fast_path_layout.h), overlaps of more than 16 heights of tiles,
// illegal problems, and those that fill less than half of a tile. So it does
// with extents whose numbers might exceed the lanes' (tens of millions where
// dimensions have no closer limit). Where a predicate excludes lanes,
// CompiledSubTable says which (ChooseAmong). Both give the same answers.
//
// Thread safety: immutable.
#ifndef WAVETUNE_MODEL_DECIDE_GEMM_FAST_PATH_H_
#define WAVETUNE_MODEL_DECIDE_GEMM_FAST_PATH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/decide/fast_path_layout.h"
#include "model/decide/group_answer.h"
#include "model/decide/lane_program.h"
#include "model/decide/part_tiles.h"
#include "model/decide/predicate_program.h"
#include "model/decide/row_classes.h"
#include "model/decide/segment_planes.h"
#include "model/decide/simd/lane_kernel.h"
#include "model/table/table.h"
#include "wavetune/problem.h"

namespace wavetune {

class GemmFastPath {
 public:
  static constexpr size_t kExtents = 3;  // m, n and k.

  // What it is made from: a table, one of its sub-tables, and how that one's
  // decisions are compiled. All outlive this.
  struct Parts {
    const Table& table;
    const SubTable& sub;
    const PredicateProgram& predicates;
    const RowClasses& classes;
    const LaneProgram& program;
    const PartTiles& part_tiles;
    const LaneLayout& layout;
    const SegmentPlanes& planes;
    const LaneKernel& kernel;
  };
  explicit GemmFastPath(const Parts& parts);
  GemmFastPath(const GemmFastPath&) = delete;
  GemmFastPath& operator=(const GemmFastPath&) = delete;

  // Returns the answer to a problem without a repeated dimension and writes its
  // latency; or returns that of no lane, and has written nothing. `extents` are
  // as many as the kernel's dimensions, any numbers. No lock, allocation or
  // system call.
  FastPathAnswer Choose(const int64_t* extents,
                        double& latency_us) const noexcept {
    // Not a loop, which GCC 12 would not unroll. Sub-tables with fewer or more
    // dimensions have no function.
    if (choose_ == nullptr || ranges_[0].Lacks(extents[0]) ||
        ranges_[1].Lacks(extents[1]) || ranges_[2].Lacks(extents[2])) {
      return {};
    }
    const uint64_t low_bits = ranges_[0].LowBits(extents[0]) |
                              ranges_[1].LowBits(extents[1]) |
                              ranges_[2].LowBits(extents[2]);
    if (low_bits != 0) return {};
    return choose_(layout_, extents, kNoneExcluded, latency_us);
  }

  // Writes the answer to a problem that may exclude lanes, as
  // LaneKernel::choose, and returns true; or returns false.
  bool ChooseAmong(const ProblemView& problem, const uint64_t* excluded,
                   GroupAnswer& answer) const noexcept;

 private:
  // What Choose takes of a dimension.
  struct Range {
    uint64_t min = 0;
    uint64_t span = ~uint64_t{0};
    // Those that must be zero for all lanes to be legal.
    uint64_t low_bits = 0;

    bool Lacks(int64_t extent) const {
      // An extent below the minimum wraps around to above the span.
      return static_cast<uint64_t>(extent) - min > span;
    }
    uint64_t LowBits(int64_t extent) const {
      return static_cast<uint64_t>(extent) & low_bits;
    }
  };

  bool SetAxes(const Parts& parts);
  bool SetRanges(const Parts& parts);
  bool SetIntervals(const Parts& parts);
  bool SetAnchors(const SubTable& sub);
  bool SetHeights(const Parts& parts);
  bool SetLoopClasses(const Parts& parts);
  void LayOutSharedColumns(const SubTable& sub);
  void SetSharedMaxWaves(const SubTable& sub,
                         const FastPathRecord* const* records,
                         LaneBlock* segments);
  void SetConstants(const Parts& parts);
  void SetRecords(const SubTable& sub);

  static constexpr uint64_t kNoneExcluded[2] = {0, 0};

  FastPathFunction* choose_ = nullptr;  // Null: Choose never does.
  Range ranges_[kExtents];
  FastPathFunction* choose_among_ = nullptr;
  FastPathLayout layout_;
  std::vector<LaneBlock> constants_;
  std::vector<LaneBlock> shared_columns_;  // [plane][block][kSharedColumns]
  std::vector<FastPathLanes> unmeasured_;  // [plane][loop class]
  std::vector<FastPathRecord> records_;
  std::vector<const FastPathRecord*>
      record_of_lane_;  // [plane][lane][wave regime]
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_GEMM_FAST_PATH_H_
