// LaneProgram: the coordinates of a problem in the lanes of a sub-table, in the
// form that LaneKernel evaluates. Each is a constant times a few factors, most
// of them ceil(extents / tile) with a tile per lane.
//
//   LaneProgram program(/*repeated_dimension=*/-1);
//   LaneProduct tiles = program.Add(tiles_of_each_row);
//   program.Seal();
//   LaneScratch scratch;
//   if (program.Run(problem, kernel, scratch)) kernel.locate(...);
//
// Why beside CoordinateProgram: the rows' expressions have one shape and
// differ in constants only, so that eight lanes are one multiplication. Other
// forms (causal blocks, sums of products) are evaluated there and put into
// lanes.
//
// A sum over a repeated dimension is taken apart: factors without that
// dimension go before it. As all of them are >= 0, both sides saturate alike:
// min(c * min(sum of a, limit), limit) is min(sum of min(c * a, limit), limit).
//
// What needs more than a coordinate may have (kMaxFactors, kMaxOwnValues, ...)
// is evaluated there as a whole.
//
// Thread safety: immutable after Seal.
#ifndef WAVETUNE_MODEL_DECIDE_LANE_PROGRAM_H_
#define WAVETUNE_MODEL_DECIDE_LANE_PROGRAM_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "model/decide/coordinate_program.h"
#include "model/decide/simd/lane_kernel.h"
#include "model/kernel/mapping.h"
#include "wavetune/problem.h"

namespace wavetune {

// Where Run writes. Not initialised: only what it has written is read.
struct LaneScratch {
  // A coordinate's: tiles, loop and longest loop are three.
  static constexpr int kMaxOwnValues = 5;
  static constexpr int kMaxOwnSources = 2;
  static constexpr int kMaxValues = 3 * kMaxOwnValues;
  static constexpr int kMaxSources = 3 * kMaxOwnSources;
  // For each source and for the rows, one for each lane.
  static constexpr int kMaxSums = (kMaxSources + 1) * kMaxLanes;

  double values[kMaxValues];
  double sums[kMaxSums];
  alignas(64) double lane_values[kMaxSources * kMaxLanes];
};

class LaneProgram {
 public:
  LaneProgram(int dimensions, int repeated_dimension)
      : dimensions_(dimensions),
        repeated_dimension_(repeated_dimension),
        coordinates_(dimensions, repeated_dimension) {}

  // Adds a coordinate, an expression per lane with its macro parameters put in
  // (model/kernel/fold.h); all have the same shape. Refers to memory of this.
  // At most three times.
  LaneProduct Add(const std::vector<Expression>& lanes);

  // Adds the sum of ceil(element / divisor) over the repeated dimension and
  // returns its index into LaneScratch::sums.
  int AddSum(int64_t divisor);

  // Call once, after the last Add.
  void Seal();

  // Returns the dimension whose extent a factor divides; -1: it is not one.
  // After Seal.
  int DimensionOf(const LaneFactor& factor) const {
    const auto source = static_cast<size_t>(factor.source);
    return factor.from_lanes || source >= plain_.size() ? -1 : plain_[source];
  }

  // Evaluates at a legal problem. Returns false where a number is above
  // kLaneLimit. No allocation, lock or system call.
  bool Run(const ProblemView& problem, const LaneKernel& kernel,
           LaneScratch& scratch) const noexcept {
    double largest = 0;
    const int64_t* const extents = problem.extents.data();
    for (size_t i = 0; i < plain_.size(); ++i) {
      const auto value = static_cast<double>(extents[plain_[i]]);
      scratch.values[i] = value;
      largest = value > largest ? value : largest;
    }
    if (all_plain_) return largest <= kLaneLimit;
    return RunOthers(problem, kernel, scratch) && largest <= kLaneLimit;
  }

 private:
  using Lanes = std::vector<const Expression*>;

  // factor * product of extents.
  struct Value {
    int64_t factor = 1;
    std::vector<int32_t> dimensions;

    friend bool operator==(const Value&, const Value&) = default;
  };
  // Numbers that differ per lane.
  struct LaneSource {
    bool from_sums = false;    // Else from the slots of coordinates_.
    std::vector<int> indices;  // One per lane.
  };
  // A product while it is taken apart.
  struct Parts {
    std::vector<int64_t> constants;  // One per lane.
    Value value;
    std::vector<LaneFactor> factors;
  };

  // Whether Collect finds no more than a coordinate may have.
  bool Fits(const Lanes& lanes) const;
  void Collect(const Lanes& lanes, Parts& parts);
  void CollectQuotient(const Lanes& lanes, Parts& parts);
  void CollectSum(const Lanes& lanes, Parts& parts);
  void CollectSlots(const Lanes& lanes, Parts& parts);
  void AddSource(LaneSource source, Parts& parts);
  int AddValue(const Value& value);
  bool MentionsRepeated(const Expression& expression) const;
  const double* Keep(const std::vector<double>& lanes);
  bool RunOthers(const ProblemView& problem, const LaneKernel& kernel,
                 LaneScratch& scratch) const noexcept;
  void RunSources(const ProblemView& problem,
                  LaneScratch& scratch) const noexcept;

  int dimensions_;
  int repeated_dimension_;
  CoordinateProgram coordinates_;
  std::vector<Value> values_;
  std::vector<int> plain_;         // The first values: their one dimension.
  bool all_plain_ = false;         // They are all that there is.
  std::vector<int64_t> divisors_;  // Those of sums.
  std::vector<double> inverses_;
  std::vector<LaneSource> sources_;
  bool any_slots_ = false;
  int lanes_ = 0;
  std::deque<std::vector<LaneBlock>> kept_;  // Never moves its elements.
};

// Returns the lanes as whole blocks; the rest of the last one repeats the first
// lane, which keeps its numbers as harmless as that one's.
std::vector<LaneBlock> ToLanes(const std::vector<double>& lanes);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_LANE_PROGRAM_H_
