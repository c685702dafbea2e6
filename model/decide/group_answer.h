// GroupAnswer: what the two stages of a decision found in a sub-table: the row
// that won, and its candidate.
//
// Plain structs of their own: files that are compiled for more than the base
// architecture include this (model/decide/simd/lane_kernel.h), and functions
// here are always inline. Laid out for processors, which do not forward to a
// wide load the parts that were just stored. So the pick is one number, and the
// two doubles are apart, for no compiler to read them as a vector.
//
// Thread safety: values.
#ifndef WAVETUNE_MODEL_DECIDE_GROUP_ANSWER_H_
#define WAVETUNE_MODEL_DECIDE_GROUP_ANSWER_H_

#include <cstdint>

#define WAVETUNE_ANSWER_INLINE inline __attribute__((always_inline))

namespace wavetune {

// Which row and candidate won.
struct GroupPick {
  // From the lowest bit: 8 bits of candidate, 1 of extrapolated, 1 of
  // kept_default, from bit 16 on the row's group and 1. 0: no row is legal for
  // the problem.
  uint32_t bits = 0;

  // `extrapolated` is 0 or 1.
  static WAVETUNE_ANSWER_INLINE GroupPick Of(unsigned group, unsigned candidate,
                                             unsigned extrapolated) {
    return {(group + 1) << 16 | extrapolated << 8 | candidate};
  }
  // The default configuration of that group, instead of a faster one.
  static GroupPick KeptDefault(unsigned group, unsigned candidate,
                               unsigned extrapolated) {
    return {Of(group, candidate, extrapolated).bits | 1u << 9};
  }
  WAVETUNE_ANSWER_INLINE bool none() const { return bits == 0; }
  WAVETUNE_ANSWER_INLINE int group() const {
    return static_cast<int>(bits >> 16) - 1;
  }
  WAVETUNE_ANSWER_INLINE unsigned candidate() const { return bits & 0xff; }
  bool kept_default() const { return (bits >> 9 & 1) != 0; }
  // 1: the problem lies outside of the row's measured range; else 0.
  WAVETUNE_ANSWER_INLINE unsigned extrapolated() const { return bits >> 8 & 1; }
};

struct GroupAnswer {
  double latency_us = 0;
  GroupPick pick;
  double relative_bound = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_GROUP_ANSWER_H_
