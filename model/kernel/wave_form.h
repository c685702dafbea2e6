// Wave forms: how a model's coefficients make a latency.
//
// A kernel declares its form (KernelSpec::wave_form), since it follows from how
// the kernel is written: with loads and arithmetic in warps of their own they
// overlap (gemm_bf16 on an H200: choices among random sets of 24 candidates are
// 98.8 % of the best as an overlap, 98.0 % as kSum); where the same warps do
// both they add up (Triton's GEMM and causal attention there: 97.7 and 95.2 %
// as kOverlap, 98.5 and 98.8 % as kSum). Choosing by held-out errors was tried:
// it decides late in a profile, when the wrong form has asked for the samples,
// and two profiles of one kernel may differ.
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
  //       + beta * G + alpha * G * L
  //
  // Per step this is the paper's bilinear form; gamma and delta linear in s
  // are the tail law. Deviation: a launch ends with its longest tile, so the
  // terms that do not grow with G take the longest loop, not the mean.
  kSum = 1,
  // They overlap: loads run while the multiprocessors compute, and the slower
  // of both decides, wave by wave. With w = ceil(G / C) waves of capacity C,
  // r = G - (w - 1) * C tiles in the last and t(x) = ceil(x / step_tiles) tiles
  // of the busiest multiprocessor:
  //
  //   delta + (w - 1) * (delta_w + F(C)) + F(r)
  //   F(x) = max(l, kOverlapLonger * l + kOverlapShorter * s)
  //   l, s = the longer of a and b, the shorter
  //   a = max(gamma * Lx, (gamma_w * t(x)) * Lx)   a tile's own pace, or its
  //                                                multiprocessor's
  //   b = (beta + (alpha + alpha_row * u) * L) * x memory, which all share
  //   u = RowShare (model/kernel/mapping.h)
  //
  // Why: at few tiles latency does not grow with G, then bandwidth is full and
  // it does (gemm_bf16 on an H200, 64 iterations of one row: 18.6, 18.8, 20.5,
  // 36.7 us for 16, 48, 66, 132 tiles, 2026-11). A sum is 20 % off in between.
  //
  // Why u: gemm_bf16's tiles of 208 to 256 rows, in a single row that was full,
  // were predicted 32-37 % too slow where an empty row counted as a full one,
  // and choices of random sets of 24 candidates were 98.7 instead of 99.0 % of
  // the best.
  //
  // Of many rows the one predicted too low wins. So each competes slower than
  // predicted by its segment's rank margin (fit/models/rank_margins.h), and
  // outside of its measured range by kUnmeasuredMargin.
  kOverlap = 3,  // 2 was another form of version 1.1 of the table format.
};

// What F(x) takes at least of the longer and the shorter time: where both are
// about equal they do not overlap fully. Random sets of 24 candidates, fitted
// to a profile's 25 samples each: 0.8 and 0.38 chose at 99.0 % of the best,
// 0.55 and 0.6 of both at 98.8 and 99.0 %, 0.65 at 99.0 %; the mean error of
// the fit on its own samples was least with 0.65 and with these (gemm_bf16 on
// an H200, 2026-11). Smoother maxima (powers of 4, quotients) gained nothing
// over them. Part of the format: other values need another form.
inline constexpr double kOverlapLonger = 0.8;
inline constexpr double kOverlapShorter = 0.38;

// The unit of WaveSegment::rank_margin. Exact in binary64, as is one plus any
// number of them. Part of the format, as kOverlapLonger.
inline constexpr double kRankMarginUnit = 0x1p-10;

// With portfolios of 32 and 48 candidates choices were 96.7 and 97.5 % of the
// best without it, 97.3 and 97.9 % with it; 20 % gave the same (one replay of
// gemm_bf16 on an H200, 2026-11). Planning leaves this one out (RankUs):
// with it, it explored less, and choices were 96.8 and 97.4 %. Part of the
// format, as kOverlapLonger.
inline constexpr double kUnmeasuredMargin = 0.1;

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_WAVE_FORM_H_
