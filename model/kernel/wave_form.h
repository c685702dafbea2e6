// Wave forms: how a model's coefficients make a latency.
//
// A kernel declares its form (KernelSpec::WaveFormOf), since it follows from
// how the kernel is written. Loads and arithmetic in warps of their own
// overlap; where the same warps do both they add up. The form is not chosen by
// held-out errors, as these come late in a profile and two profiles of one
// kernel may differ (docs/decisions/0002).
#ifndef WAVETUNE_MODEL_KERNEL_WAVE_FORM_H_
#define WAVETUNE_MODEL_KERNEL_WAVE_FORM_H_

#include <cstdint>

namespace wavetune {

// How a launch's time follows from G tiles, their mean loop L and their longest
// loop Lx, with the coefficients below.
enum class WaveForm : uint8_t {
  // What a tile takes and what all share add up. At s = ceil(G / step_tiles):
  //
  //   (delta + delta_w * s) + (gamma + gamma_w * s) * Lx
  //       + beta * G + alpha * G * L + cold * B
  //
  // B is MiB that the problem reads cold (Mapping::cold_bytes). 64 rows of one
  // expert and 8 of each of eight have the same tiles and iterations, but read
  // one matrix of weights or eight (docs/decisions/0032).
  //
  // Per step this is the paper's bilinear form; gamma and delta linear in s
  // are the tail law. Deviation: a launch ends with its longest tile, so the
  // terms that do not grow with G take the longest loop, not the mean.
  kSum = 1,
  // They overlap: loads run while the multiprocessors compute, and the slower
  // of both decides, wave by wave. Let there be w = ceil(G / C) waves of C
  // tiles, and r = G - (w - 1) * C tiles in the last. With t(x) = ceil(x /
  // step_tiles) tiles of the busiest multiprocessor:
  //
  //   delta + (w - 1) * (delta_w + F(C)) + F(r)
  //   F(x) = max(l, kOverlapLonger * l + kOverlapShorter * s)
  //   l, s = the longer of a and b, the shorter
  //   a = max(gamma * Lx, (gamma_w * t(x)) * Lx)   a tile's own pace, or its
  //                                                multiprocessor's
  //   b = (beta + (alpha + alpha_row * u) * L) * x memory, which all share
  //   u = RowShare (model/kernel/mapping.h)
  //
  // Why: at few tiles latency does not grow with G; once bandwidth is full it
  // does. A sum is wrong in between (docs/decisions/0002).
  //
  // Why u: a full row and an empty one of the same tiles differ in their loads
  // (docs/decisions/0002).
  //
  // Among many candidates one that is predicted too low wins. So each competes
  // slower than predicted by its segment's rank margin
  // (fit/models/uncertainty.h), and outside of its measured range by
  // kUnmeasuredMargin.
  kOverlap = 3,  // 2 was another form of version 1.1 of the table format.
};

// What F(x) takes at least of the longer and the shorter time: where both are
// about equal they do not overlap fully (docs/decisions/0002). Part of the
// format: other values need another form.
inline constexpr double kOverlapLonger = 0.8;
inline constexpr double kOverlapShorter = 0.38;

// The unit of WaveSegment::rank_margin. Exact in binary64, as is one plus any
// number of them. Part of the format, as kOverlapLonger.
inline constexpr double kRankMarginUnit = 0x1p-10;

// How much slower than predicted a candidate competes outside of its measured
// range. Planning leaves this one out (RankUs), as it would explore less with
// it (docs/decisions/0008). Part of the format, as kOverlapLonger.
inline constexpr double kUnmeasuredMargin = 0.1;

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_WAVE_FORM_H_
