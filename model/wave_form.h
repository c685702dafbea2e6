// Wave forms: how a model's coefficients make a latency.
//
// A kernel declares its form (KernelSpec::wave_form), since it follows from how
// the kernel is written: with loads and arithmetic in warps of their own they
// overlap (gemm_bf16 on an H200: choices among random sets of 24 candidates are
// 98.8 % of the best as kOverlap, 98.0 % as kSum); where the same warps do both
// they add up (Triton's GEMM and causal attention there: 97.7 and 95.2 % as
// kOverlap, 98.5 and 98.8 % as kSum). Choosing by held-out errors was tried: it
// decides late in a profile, when the wrong form has asked for the samples, and
// two profiles of one kernel may differ.
#ifndef WAVETUNE_MODEL_WAVE_FORM_H_
#define WAVETUNE_MODEL_WAVE_FORM_H_

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
  //   F(x) = max(a, b, kOverlapShare * (a + b))
  //   a = max(gamma * Lx, (gamma_w * t(x)) * Lx)   a tile's own pace, or its
  //                                                multiprocessor's
  //   b = (beta + alpha * L) * x                   memory, which all share
  //
  // Why: at few tiles latency does not grow with G, then bandwidth is full and
  // it does (gemm_bf16 on an H200, 64 iterations of one row: 18.6, 18.8, 20.5,
  // 36.7 us for 16, 48, 66, 132 tiles, 2026-11). A sum is 20 % off in between.
  //
  // A row outside of its measured range competes kUnmeasuredMargin slower than
  // predicted: of many rows the one predicted too low wins.
  kOverlap = 2,
};

// Of a + b that F(x) takes at least: where both are about equal they do not
// overlap fully. 0.5 (never) chose at 98.5, 0.55 and 0.6 at 98.8, 0.65 at 98.7,
// 1 (a sum) at 98.3 % of the best of random sets of 24 candidates (gemm_bf16 on
// an H200, 2026-11). Part of the format: other values need another form.
inline constexpr double kOverlapShare = 0.55;

// With portfolios of 32 and 48 candidates choices were 96.7 and 97.5 % of the
// best without it, 97.3 and 97.9 % with it; 20 % gave the same (one replay of
// gemm_bf16 on an H200, 2026-11). Planning ranks by plain predictions: with the
// margin it explored less, and choices were 96.8 and 97.4 %. Part of the
// format, as kOverlapShare.
inline constexpr double kUnmeasuredMargin = 0.1;

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_WAVE_FORM_H_
