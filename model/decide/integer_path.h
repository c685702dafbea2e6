// IntegerPath: a sub-table's decision in saturating 64-bit integers, one row
// after the other, for every table and problem that CheckTable and the
// dimensions' ranges allow.
//
// What CompiledSubTable falls back to where a number exceeds what LaneKernel
// computes with, or a mapping has another form: nothing that is launched, but a
// decision answers it all the same. A row whose counts saturate says nothing
// and is never chosen.
//
// Thread safety: immutable.
#ifndef WAVETUNE_MODEL_DECIDE_INTEGER_PATH_H_
#define WAVETUNE_MODEL_DECIDE_INTEGER_PATH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/decide/constant_divider.h"
#include "model/decide/coordinate_program.h"
#include "model/decide/group_answer.h"
#include "model/decide/part_tiles.h"
#include "model/decide/row_classes.h"
#include "model/kernel/mapping.h"
#include "model/table/table.h"
#include "wavetune/problem.h"

namespace wavetune {

class IntegerPath {
 public:
  // `sub` is one of `table` and outlives this, as do its `part_tiles` and
  // `classes`, in which the groups were added in order.
  IntegerPath(const Table& table, const SubTable& sub,
              const RowClasses& classes, const PartTiles& part_tiles,
              std::vector<int> class_of_group, int repeated_dimension);

  // Returns the best row's answer for a problem whose extents are in range. Bit
  // g of `excluded` (two words) excludes group g. An answer of no group where
  // none is left. Cannot fail. No lock, allocation or system call.
  // `of_layer`: of a layer that was measured, and so were its tiles.
  GroupAnswer Choose(const ProblemView& problem, const uint64_t* excluded,
                     bool of_layer) const noexcept;

 private:
  struct Group {
    ConstantDivider tiles_per_wave;
    int tiles_slot = 0;
    int loop_slot = 0;     // L or W of the mapping.
    int longest_slot = 0;  // Lx, where the mapping gives it, else loop_slot.
  };
  // Where a problem lies under one group's macro configuration.
  struct Place {
    Coordinates at;  // Without rows and their fill.
    int64_t waves = 1;
    const WaveSegment* segment = nullptr;
  };

  Place Locate(size_t group, const ProblemView& problem, const int64_t* slots,
               const uint8_t* regimes) const noexcept;
  double Predict(size_t group, const Place& place) const noexcept;

  const SubTable* source_;
  const RowClasses* classes_;
  const PartTiles* part_tiles_;
  std::vector<int> class_of_group_;
  double tie_factor_;
  CoordinateProgram coordinates_;
  std::vector<Group> groups_;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_INTEGER_PATH_H_
