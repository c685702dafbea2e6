// LaneKernel: a decision's arithmetic over all macro groups of a sub-table, one
// per lane, once per SimdPath.
//
// Numbers are doubles: tile counts, waves and loops are whole numbers up to
// 2^51, which doubles hold exactly and divide exactly
// (model/decide/exact_quotient.h). A problem beyond that is answered by
// the default (docs/decisions/0029).
//
// Plain structs and pointers only: files that are compiled for more than the
// base architecture include this. An inline function of a library that such a
// file emits may be the one that the linker keeps for the whole program.
//
// Thread safety: the kernels are pure functions.
#ifndef WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_H_
#define WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "model/decide/group_answer.h"

namespace wavetune {

enum class SimdPath : uint8_t;

// Lanes are padded to whole blocks; the widest registers hold one block.
inline constexpr int kBlockLanes = 8;
// kMaxGroups (model/table/table_check.h).
inline constexpr int kMaxLanes = 128;
inline constexpr double kLaneLimit = 0x1p51;  // kExactQuotientLimit.

// One number of each lane of a block; what arrays of lanes are made of.
struct alignas(64) LaneBlock {
  double lane[kBlockLanes];
};

// What a segment of the coefficient table gives to a prediction. The names are
// those of WaveCoefficients and WaveSegment.
enum SegmentColumn : int {
  kDelta,
  kDeltaW,
  kGamma,
  kGammaW,
  kBeta,
  kAlpha,
  kFloor,                  // Infinite in lanes without a group.
  kInverseStep,            // InverseBelow(step_tiles)
  kSumColumns,             // WaveForm::kSum reads no more,
  kSumCold = kSumColumns,  // but where LaneLayout::cold is set.
  kColdSumColumns,
  kAlphaRow = kSumColumns,  // 0 where rows share nothing.
  // The larger of gamma and gamma_w * ceil(tiles_per_wave / step_tiles).
  kWaveGamma,
  kMinWave,
  kMaxWave,
  kMinIterations,
  kMaxIterations,
  kRankFactor,
  kOverlapColumns,
};

// A factor of a coordinate: ceil(number / divisor).
struct LaneFactor {
  bool from_lanes = false;  // The number is lane_values[source], one per lane;
                            // else values[source].
  int source = 0;
  const double* inverse = nullptr;  // InverseBelow(divisor) of each lane.
};

// constant * product of factors, or 1 if that is less.
struct LaneProduct {
  static constexpr int kMaxFactors = 8;

  const double* constants = nullptr;  // One for each lane.
  int factor_count = 0;
  LaneFactor factors[kMaxFactors];
};

// What does not depend on the problem. Pointers are to whole blocks.
struct LaneLayout {
  int lanes = 0;      // A multiple of kBlockLanes.
  LaneProduct tiles;  // G
  LaneProduct loop;   // L, or W where loop_is_total.
  LaneProduct longest;
  bool loop_is_total = false;
  bool has_longest = false;
  bool overlaps = false;  // WaveForm::kOverlap.
  bool cold = false;      // A sum's: it counts bytes read cold.
  const double* tiles_per_wave = nullptr;
  const double* inverse_tiles_per_wave = nullptr;
  const double* row_tile = nullptr;  // Along the rows' axis.
  const double* inverse_row_tile = nullptr;
  const double* max_waves = nullptr;  // In all wave regimes but the last.
  double tie_factor = 1;
  const double* anchors = nullptr;  // Filled up with infinities.
  int anchor_lanes = 0;
};

// What a problem gives.
struct LaneInputs {
  const double* values = nullptr;
  const double* lane_values = nullptr;  // [source][lane]
  double row_extent = 1;  // Along the rows' axis, in [1, kLaneLimit].
  double cold_mib = 0;    // Coordinates::cold_mib
};

// Segments of the lanes, [block][wave regime][column].
struct SegmentPlane {
  const LaneBlock* blocks = nullptr;
  int wave_regimes = 1;  // 1: each lane's own segment has been put there.
};

// The lane that won, and where the problem lies in it.
struct LaneChoice {
  int lane;    // -1: all lanes are excluded, and nothing else is set.
  int anchor;  // The first of those nearest to the iterations.
  double latency_us;
  double waves;
  double iterations;
};

struct FastPathLayout;  // model/decide/fast_path_layout.h

// An answer but for the latency. Fits two registers.
struct FastPathAnswer {
  GroupPick pick;
  double relative_bound = 0;
};

// As LaneKernel::choose, from a problem's extents to the answer, where each
// that the layout reads is in [1, kLaneLimit] and no number exceeds that. One
// for any number of lanes looks at `excluded` (two words); the others are for
// problems that exclude nothing, and have no loops.
using FastPathFunction = FastPathAnswer(const FastPathLayout& layout,
                                        const int64_t* extents,
                                        const uint64_t* excluded,
                                        double& latency_us) noexcept;

struct LaneKernel {
  // Finds the first lane near the best rank. Bit l of `excluded` (two words)
  // excludes lane l. Returns false, with a choice that means nothing, where a
  // number is above kLaneLimit.
  bool (*choose)(const LaneLayout& layout, const LaneInputs& inputs,
                 const SegmentPlane& plane, const uint64_t* excluded,
                 LaneChoice& choice) noexcept;

  // Return the function for layouts of so many lanes, one per wave form, and
  // one for overlaps whose segments are laid out as kSharedColumns.
  FastPathFunction* (*choose_fast_sum)(int lanes) noexcept;
  FastPathFunction* (*choose_fast_overlap)(int lanes) noexcept;
  FastPathFunction* (*choose_fast_shared)(int lanes) noexcept;

  // Returns what FastPathLayout::height_of says of lanes whose tiles have the
  // height of an index in [0, 16).
  int64_t (*height_place)(int index);

  // Writes the waves of each lane. Returns as `choose`.
  bool (*locate)(const LaneLayout& layout, const LaneInputs& inputs,
                 double* waves) noexcept;

  // Returns how many thresholds, a multiple of kBlockLanes, are below `value`.
  int (*count_below)(const double* thresholds, int count,
                     double value) noexcept;

  // Writes sums[i] = sum over elements of ceil(element / divisor i). Elements
  // in [0, kLaneLimit]. A sum above kLaneLimit may be rounded, but stays above.
  void (*sum_quotients)(const int64_t* elements, size_t element_count,
                        const double* inverses, int divisor_count,
                        double* sums) noexcept;

  // Returns whether all elements are in [min, max].
  bool (*all_in_range)(const int64_t* elements, size_t element_count,
                       int64_t min, int64_t max) noexcept;
};

// Returns the kernel of a path, or nullptr where this build has none; the CPU
// is not looked at (SupportedSimdPaths does).
const LaneKernel* FindLaneKernel(SimdPath path);

// In a file each. nullptr where the file was not compiled for the architecture.
extern const LaneKernel* const kNeonLaneKernel;
extern const LaneKernel* const kAvx2LaneKernel;
extern const LaneKernel* const kAvx512LaneKernel;

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_H_
