#include "model/decide/segment_planes.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "model/decide/exact_quotient.h"
#include "model/decide/row_classes.h"
#include "model/kernel/mapping.h"
#include "model/table/wave_arithmetic.h"
#include "model/table/wave_model.h"

namespace wavetune {
namespace {

// A sub-table's planes stay in the second-level cache of a core; the usual 16
// rows with three regimes need about 40 KiB, 96 of gemm_bf16 with four about
// 800. Beyond (some 104 rows of that kernel) there are none, and the general
// path decides, which takes a few times as long. Overlaps are laid out once
// more, in two thirds of the room (model/decide/fast_path_layout.h).
constexpr size_t kMaxPlaneBytes = 1024 * 1024;

constexpr double kNever = std::numeric_limits<double>::infinity();

// Above what is compared with it, and exact.
double Limited(int64_t waves) {
  return static_cast<double>(std::min(waves, kExpressionLimit));
}

size_t ColumnsOf(const SubTable& sub) {
  if (sub.form == WaveForm::kOverlap) return kOverlapColumns;
  return sub.mapping.cold_bytes ? kColdSumColumns : kSumColumns;
}

SegmentRecord RecordOf(WaveForm form, const WaveSegment& segment,
                       int64_t tiles_per_wave, bool rows_share) {
  const WaveCoefficients& c = segment.coefficients;
  SegmentRecord record;
  record.bounds[0] = segment.relative_bound;
  record.bounds[1] = segment.extrapolated_bound;
  record.micro = segment.micro.data();
  record.columns[kDelta] = c.delta;
  record.columns[kDeltaW] = c.delta_w;
  record.columns[kGamma] = c.gamma;
  record.columns[kGammaW] = c.gamma_w;
  record.columns[kBeta] = c.beta;
  record.columns[kAlpha] = c.alpha;
  if (form == WaveForm::kOverlap) {
    record.columns[kAlphaRow] = rows_share ? c.alpha_row : 0;
  } else {
    record.columns[kSumCold] = c.cold;
  }
  record.columns[kFloor] = segment.floor_us;
  record.columns[kInverseStep] = InverseBelow(segment.step_tiles);
  record.columns[kWaveGamma] =
      std::max(c.gamma, c.gamma_w * static_cast<double>(Waves(
                                        tiles_per_wave, segment.step_tiles)));
  record.columns[kMinWave] = Limited(segment.min_wave);
  record.columns[kMaxWave] = Limited(segment.max_wave);
  record.columns[kMinIterations] = segment.min_iterations;
  record.columns[kMaxIterations] = segment.max_iterations;
  record.columns[kRankFactor] = RankFactorOf(segment);
  return record;
}

// Returns the largest extent in the regime where those before it are left out,
// or nothing where the extents of the regime are not all those up to one.
std::optional<int64_t> LastExtent(const RowRegime& regime, int64_t tile) {
  if (regime.max_fill >= 1) {
    return regime.max_rows > kExpressionLimit / tile ? kExpressionLimit
                                                     : regime.max_rows * tile;
  }
  if (regime.max_rows > 1) return std::nullopt;
  // One row is filled by the extent itself; quotients ascend with it.
  int64_t low = 0;
  int64_t high = tile;
  while (low < high) {
    const int64_t middle = high - (high - low) / 2;
    if (static_cast<double>(middle) / static_cast<double>(tile) <=
        regime.max_fill) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace

SegmentPlanes::SegmentPlanes(const SubTable& sub, bool rows_share,
                             const std::vector<int64_t>& tiles)
    : groups_(sub.groups.size()),
      row_regimes_(sub.row_regimes.size()),
      wave_regimes_(sub.max_waves.size()),
      columns_(ColumnsOf(sub)),
      plane_blocks_((groups_ + kBlockLanes - 1) / kBlockLanes * wave_regimes_ *
                    columns_) {
  for (size_t i = 0; i + 1 < wave_regimes_; ++i) {
    max_waves_.push_back(Limited(sub.max_waves[i]));
  }
  AddRecords(sub, rows_share);
  if (!HasRoomFor(row_regimes_)) return;
  for (size_t regime = 0; regime < row_regimes_; ++regime) {
    AddPlane(Regimes(groups_, static_cast<uint8_t>(regime)));
  }
  uniform_planes_ = row_regimes_;
  if (!tiles.empty()) AddIntervals(sub, tiles);
  known_.clear();
}

void SegmentPlanes::AddRecords(const SubTable& sub, bool rows_share) {
  for (const MacroGroup& group : sub.groups) {
    for (const GroupModel& model : group.models) {
      for (const WaveSegment& segment : model.segments) {
        records_.push_back(
            RecordOf(sub.form, segment, group.tiles_per_wave, rows_share));
      }
    }
  }
}

bool SegmentPlanes::HasRoomFor(size_t planes) const {
  return planes * plane_blocks_ * sizeof(LaneBlock) <= kMaxPlaneBytes;
}

int SegmentPlanes::AddPlane(const Regimes& regimes) {
  const auto [entry, added] =
      known_.try_emplace(regimes, static_cast<int>(known_.size()));
  if (!added) return entry->second;
  regimes_.insert(regimes_.end(), regimes.begin(), regimes.end());
  const size_t begin = planes_.size();
  planes_.resize(begin + plane_blocks_);
  for (size_t b = 0; b * kBlockLanes < groups_; ++b) {
    for (size_t lane = 0; lane < kBlockLanes; ++lane) {
      const bool used = b * kBlockLanes + lane < groups_;
      const size_t group = used ? b * kBlockLanes + lane : 0;
      for (size_t w = 0; w < wave_regimes_; ++w) {
        const SegmentRecord& record = Record(group, regimes[group], w);
        LaneBlock* const out =
            &planes_[begin + (b * wave_regimes_ + w) * columns_];
        for (size_t c = 0; c < columns_; ++c) {
          out[c].lane[lane] = record.columns[c];
        }
        if (!used) out[kFloor].lane[lane] = kNever;
      }
    }
  }
  return entry->second;
}

void SegmentPlanes::AddIntervals(const SubTable& sub,
                                 const std::vector<int64_t>& tiles) {
  std::set<int64_t> ends = {0};  // No rows at all are a regime of their own.
  for (const int64_t tile : tiles) {
    for (size_t i = 0; i + 1 < row_regimes_; ++i) {
      const std::optional<int64_t> last = LastExtent(sub.row_regimes[i], tile);
      if (!last.has_value()) return;
      if (*last < kExactQuotientLimit) ends.insert(*last);
    }
  }
  // As many planes as intervals at most; the last interval has no end.
  if (!HasRoomFor(row_regimes_ + ends.size() + 1)) return;
  ends.insert(kExactQuotientLimit);
  std::vector<double> thresholds;
  for (const int64_t end : ends) {
    Regimes regimes;
    for (const int64_t tile : tiles) {
      regimes.push_back(
          static_cast<uint8_t>(RowRegimeOfExtent(sub, tile, end)));
    }
    plane_of_interval_.push_back(AddPlane(regimes));
    thresholds.push_back(static_cast<double>(end));
  }
  thresholds.back() = kNever;
  thresholds.resize(
      (thresholds.size() + kBlockLanes - 1) / kBlockLanes * kBlockLanes,
      kNever);
  threshold_lanes_ = static_cast<int>(thresholds.size());
  thresholds_.resize(thresholds.size() / kBlockLanes);
  for (size_t i = 0; i < thresholds.size(); ++i) {
    thresholds_[i / kBlockLanes].lane[i % kBlockLanes] = thresholds[i];
  }
}

SegmentPlane SegmentPlanes::Assemble(const uint8_t* regimes,
                                     const double* waves,
                                     LaneBlock* blocks) const noexcept {
  for (size_t b = 0; b * kBlockLanes < groups_; ++b) {
    for (size_t lane = 0; lane < kBlockLanes; ++lane) {
      const bool used = b * kBlockLanes + lane < groups_;
      const size_t group = used ? b * kBlockLanes + lane : 0;
      const SegmentRecord& record =
          Record(group, regimes[group], WaveRegimeOf(waves[group]));
      for (size_t c = 0; c < columns_; ++c) {
        blocks[b * columns_ + c].lane[lane] = record.columns[c];
      }
      if (!used) blocks[b * columns_ + kFloor].lane[lane] = kNever;
    }
  }
  return {blocks, 1};
}

}  // namespace wavetune
