// SegmentPlanes: the coefficient table of a sub-table, laid out so that
// LaneKernel reads the segments of all rows side by side.
//
// Which segments those are depends on each row's regime, and that on the extent
// along the rows' axis and the row's tile only. So the extents fall into a few
// intervals, in each of which every row has one regime. A *plane* is one such
// combination, with nothing of the other regimes in it. Where a table's regimes
// are of another kind, or rows are summed over a repeated dimension, a decision
// looks for the plane where all rows have the same regime. Where there is none
// it puts its segments together.
//
// Thread safety: immutable.
#ifndef WAVETUNE_MODEL_DECIDE_SEGMENT_PLANES_H_
#define WAVETUNE_MODEL_DECIDE_SEGMENT_PLANES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "model/decide/simd/lane_kernel.h"
#include "model/table/table.h"

namespace wavetune {

// A segment of the coefficient table as predictions read it.
struct SegmentRecord {
  double columns[kOverlapColumns];
  double bounds[2];  // Inside and outside of the measured range.
  const uint8_t* micro = nullptr;

  // Returns whether a problem lies outside of the measured range. As
  // IsExtrapolated; waves up to 2^51.
  bool IsOutside(double waves, double iterations) const {
    return waves < columns[kMinWave] || waves > columns[kMaxWave] ||
           iterations < columns[kMinIterations] ||
           iterations > columns[kMaxIterations];
  }
};

class SegmentPlanes {
 public:
  // `tiles` has the rows' tile of each group; empty where the mapping has no
  // rows, or a repeated dimension along them: then there are no intervals.
  // `sub` keeps the rules of CheckTable and outlives this.
  // `rows_share`: RowClasses::share.
  SegmentPlanes(const SubTable& sub, bool rows_share,
                const std::vector<int64_t>& tiles);

  // Whether PlaneAt may be asked.
  bool has_intervals() const { return !plane_of_interval_.empty(); }

  // Returns the plane of an extent in [0, kLaneLimit].
  int PlaneAt(const LaneKernel& kernel, double extent) const {
    return plane_of_interval_[static_cast<size_t>(kernel.count_below(
        thresholds_.data()->lane, threshold_lanes_, extent))];
  }

  // The plane of each interval; empty where there are none. IntervalEnd is the
  // last extent of one that is not the last.
  const std::vector<int>& plane_of_interval() const {
    return plane_of_interval_;
  }
  double IntervalEnd(size_t interval) const {
    return thresholds_[interval / kBlockLanes].lane[interval % kBlockLanes];
  }

  // Returns the plane of rows' regimes that are all alike, or -1.
  int UniformPlane(size_t regime) const {
    return regime < uniform_planes_ ? static_cast<int>(regime) : -1;
  }

  SegmentPlane Plane(int plane) const {
    return {planes_.data() + static_cast<size_t>(plane) * plane_blocks_,
            static_cast<int>(wave_regimes_)};
  }
  size_t RegimeOf(int plane, size_t group) const {
    return regimes_[static_cast<size_t>(plane) * groups_ + group];
  }

  // Puts the segments of regimes[group] at waves[group] together.
  // `blocks` has room for kMaxAssembled.
  static constexpr size_t kMaxAssembled =
      kMaxLanes / kBlockLanes * kOverlapColumns;
  SegmentPlane Assemble(const uint8_t* regimes, const double* waves,
                        LaneBlock* blocks) const noexcept;

  const SegmentRecord& Record(size_t group, size_t regime,
                              size_t wave_regime) const {
    return records_[(group * row_regimes_ + regime) * wave_regimes_ +
                    wave_regime];
  }

  // Returns the wave regime of a number of waves.
  size_t WaveRegimeOf(double waves) const {
    size_t regime = 0;
    for (const double bound : max_waves_) regime += waves > bound ? 1 : 0;
    return regime;
  }
  const std::vector<double>& max_waves() const { return max_waves_; }

 private:
  using Regimes = std::vector<uint8_t>;  // Each group's.

  void AddRecords(const SubTable& sub, bool rows_share);
  void AddIntervals(const SubTable& sub, const std::vector<int64_t>& tiles);
  int AddPlane(const Regimes& regimes);
  bool HasRoomFor(size_t planes) const;

  size_t groups_;
  size_t row_regimes_;
  size_t wave_regimes_;
  size_t columns_;
  size_t plane_blocks_;
  size_t uniform_planes_ = 0;
  std::vector<double> max_waves_;  // In all regimes but the last.
  std::vector<SegmentRecord> records_;
  std::map<Regimes, int> known_;
  std::vector<uint8_t> regimes_;       // [plane][group]
  std::vector<LaneBlock> planes_;      // [plane][block][wave regime][column]
  std::vector<LaneBlock> thresholds_;  // Upper ends of intervals, ascending.
  int threshold_lanes_ = 0;
  std::vector<int> plane_of_interval_;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_SEGMENT_PLANES_H_
