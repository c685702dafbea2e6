// Lcg: pseudo-random integers that are the same on every machine, compiler and
// library, for golden tests and reproducible failures.
//
//   Lcg random(/*seed=*/1);
//   int64_t extent = random.Between(1, 4096);
//
// Integers only: the distributions of <random> may differ between libraries.
#ifndef WAVETUNE_TESTS_LIB_LCG_H_
#define WAVETUNE_TESTS_LIB_LCG_H_

#include <cstdint>

namespace wavetune::testing {

class Lcg {
 public:
  explicit Lcg(uint64_t seed) : state_(seed * 2 + 1) {}

  // 32 bits. Constants: Knuth's MMIX, of which the high half is used.
  uint32_t Next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<uint32_t>(state_ >> 32);
  }
  // In [0, bound), bound >= 1. The bias of the remainder does not matter here.
  int64_t Below(int64_t bound) {
    // In two statements: the operands of | have no order.
    const uint64_t high = Next();
    const uint64_t wide = high << 32 | Next();
    return static_cast<int64_t>((wide >> 1) % static_cast<uint64_t>(bound));
  }
  int64_t Between(int64_t low, int64_t high) {
    return low + Below(high - low + 1);
  }
  bool OneIn(int64_t n) { return Below(n) == 0; }
  // A multiple of 1/1024 in [low, high]: exact in binary64.
  double Fraction(int64_t low, int64_t high) {
    return static_cast<double>(Between(low * 1024, high * 1024)) / 1024.0;
  }

 private:
  uint64_t state_;
};

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_LCG_H_
