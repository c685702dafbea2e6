#include "model/decide/exact_quotient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/lib/lcg.h"

namespace wavetune {
namespace {

int64_t CeilDiv(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// Small ones, powers of two and their neighbours, and some in between.
std::vector<int64_t> Divisors() {
  std::vector<int64_t> divisors;
  for (int64_t divisor = 1; divisor <= 1024; ++divisor) {
    divisors.push_back(divisor);
  }
  for (int shift = 10; shift <= 52; ++shift) {
    for (const int64_t offset : {-1, 0, 1}) {
      divisors.push_back(
          std::min((int64_t{1} << shift) + offset, int64_t{1} << 52));
    }
  }
  testing::Lcg random(1);
  for (int i = 0; i < 1000; ++i) {
    divisors.push_back(random.Between(1, int64_t{1} << random.Between(1, 52)));
  }
  return divisors;
}

// Where a quotient that is off by a rounding would show: next to multiples, at
// both ends of the range and at random.
std::vector<int64_t> Dividends(int64_t divisor, testing::Lcg& random) {
  std::vector<int64_t> values = {0, 1, kExactQuotientLimit};
  const int64_t last = kExactQuotientLimit / divisor;
  for (const int64_t multiple :
       {int64_t{1}, last / 2, last - 1, last, random.Below(last + 1),
        random.Below(last + 1), random.Below(last + 1)}) {
    for (const int64_t offset : {-1, 0, 1}) {
      values.push_back(std::clamp<int64_t>(multiple * divisor + offset, 0,
                                           kExactQuotientLimit));
    }
  }
  for (int shift = 1; shift <= 51; ++shift) {
    values.push_back(random.Below(int64_t{1} << shift));
    values.push_back((int64_t{1} << shift) - 1);
  }
  return values;
}

TEST(ExactQuotientTest, TheInverseIsTheLargestDoubleBelow) {
  for (const int64_t divisor : Divisors()) {
    const double inverse = InverseBelow(divisor);
    const auto d = static_cast<double>(divisor);
    // fma rounds inverse * d - 1 once: the sign is exact.
    EXPECT_LE(std::fma(inverse, d, -1.0), 0) << divisor;
    EXPECT_GT(std::fma(std::nextafter(inverse, 2.0), d, -1.0), 0) << divisor;
  }
}

TEST(ExactQuotientTest, TheRoundedUpProductIsTheQuotient) {
  testing::Lcg random(2);
  for (const int64_t divisor : Divisors()) {
    const double inverse = InverseBelow(divisor);
    for (const int64_t value : Dividends(divisor, random)) {
      ASSERT_EQ(std::ceil(static_cast<double>(value) * inverse),
                static_cast<double>(CeilDiv(value, divisor)))
          << value << " / " << divisor;
    }
  }
}

TEST(ExactQuotientTest, TheRoundedUpDivisionIsTheQuotient) {
  testing::Lcg random(3);
  for (const int64_t divisor : Divisors()) {
    for (const int64_t value : Dividends(divisor, random)) {
      for (const int64_t wide : {value, 2 * value, 2 * value - 1}) {
        if (wide < 0) continue;
        ASSERT_EQ(
            std::ceil(static_cast<double>(wide) / static_cast<double>(divisor)),
            static_cast<double>(CeilDiv(wide, divisor)))
            << wide << " / " << divisor;
      }
    }
  }
}

}  // namespace
}  // namespace wavetune
