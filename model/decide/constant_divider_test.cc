#include "model/decide/constant_divider.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace wavetune {
namespace {

constexpr int64_t kLimit = int64_t{1} << 52;

void ExpectExact(int64_t value, int64_t divisor) {
  const ConstantDivider divider(divisor);
  ASSERT_EQ(divider.FloorDiv(value), value / divisor)
      << value << " / " << divisor;
  ASSERT_EQ(divider.CeilDiv(value), (value + divisor - 1) / divisor)
      << value << " / " << divisor;
  ASSERT_EQ(divider.Divides(value), value % divisor == 0)
      << value << " % " << divisor;
}

TEST(ConstantDividerTest, IsExactForSmallNumbers) {
  for (int64_t divisor = 1; divisor <= 300; ++divisor) {
    for (int64_t value = 0; value <= 1000; ++value) {
      ExpectExact(value, divisor);
    }
  }
}

TEST(ConstantDividerTest, IsExactAtTheEndsOfTheRange) {
  for (const int64_t divisor :
       {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{128},
        (int64_t{1} << 31) - 1, (int64_t{1} << 51) + 1, kLimit - 1, kLimit}) {
    for (int64_t i = 0; i < 100; ++i) {
      ExpectExact(kLimit - i, divisor);
      ExpectExact(std::clamp<int64_t>(divisor + i - 50, 0, kLimit), divisor);
      ExpectExact(std::max<int64_t>(0, kLimit / divisor * divisor - i),
                  divisor);
    }
  }
}

TEST(ConstantDividerTest, IsExactForRandomNumbersOfEverySize) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const auto divisor = static_cast<int64_t>(
        std::max<uint64_t>(1, (random() >> 12) >> (random() % 52)));
    const auto value =
        static_cast<int64_t>((random() >> 12) >> (random() % 52));
    ExpectExact(value, divisor);
    // Next to a multiple, where a wrong magic number shows first.
    const int64_t multiple = value / divisor * divisor;
    ExpectExact(std::max<int64_t>(0, multiple - 1), divisor);
    ExpectExact(multiple, divisor);
  }
}

}  // namespace
}  // namespace wavetune
