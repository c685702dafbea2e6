// The parts of LaneKernel that tests/component/decision_differential_test.cc
// does not reach at their limits, on every path that this CPU runs.
#include "model/decide/simd/lane_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "model/decide/exact_quotient.h"
#include "model/decide/simd/simd_path.h"
#include "tests/lib/lcg.h"

namespace wavetune {
namespace {

using testing::Lcg;

class LaneKernelTest : public ::testing::TestWithParam<SimdPath> {
 protected:
  const LaneKernel& kernel() const { return *FindLaneKernel(GetParam()); }
};

std::vector<int64_t> RandomElements(Lcg& random, size_t count, int64_t limit) {
  std::vector<int64_t> elements;
  for (size_t i = 0; i < count; ++i) {
    elements.push_back(random.OneIn(5) ? 0
                                       : random.Below(std::max<int64_t>(
                                             1, limit >> random.Below(40))));
  }
  return elements;
}

TEST_P(LaneKernelTest, SumsAreThoseOfIntegers) {
  Lcg random(1);
  const std::vector<int64_t> divisors = {1, 7, 16, 48, 64, 128, 256, 1000003};
  std::vector<double> inverses;
  for (const int64_t divisor : divisors) {
    inverses.push_back(InverseBelow(divisor));
  }
  // Around whole registers and whole chunks of elements, and none at all.
  for (const size_t count :
       {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 71, 128, 200}) {
    const std::vector<int64_t> elements =
        RandomElements(random, count, int64_t{1} << 42);
    std::vector<double> sums(divisors.size(), -1);
    kernel().sum_quotients(elements.data(), count, inverses.data(),
                           static_cast<int>(divisors.size()), sums.data());
    for (size_t i = 0; i < divisors.size(); ++i) {
      int64_t expected = 0;
      for (const int64_t element : elements) {
        expected += (element + divisors[i] - 1) / divisors[i];
      }
      EXPECT_EQ(sums[i], static_cast<double>(expected))
          << count << " elements / " << divisors[i];
    }
  }
}

TEST_P(LaneKernelTest, SumsTooLargeStayTooLarge) {
  const std::vector<int64_t> elements(1000, kExactQuotientLimit);
  const double inverse = InverseBelow(1);
  double sum = 0;
  kernel().sum_quotients(elements.data(), elements.size(), &inverse, 1, &sum);
  EXPECT_GT(sum, kLaneLimit);
}

TEST_P(LaneKernelTest, FindsTheElementThatIsOutOfRange) {
  for (const size_t count : {1, 3, 4, 8, 9, 30, 128}) {
    std::vector<int64_t> elements(count, 5);
    EXPECT_TRUE(kernel().all_in_range(elements.data(), count, 5, 5));
    for (size_t i = 0; i < count; ++i) {
      for (const int64_t outside :
           {int64_t{4}, int64_t{9}, std::numeric_limits<int64_t>::min(),
            std::numeric_limits<int64_t>::max()}) {
        elements[i] = outside;
        EXPECT_FALSE(kernel().all_in_range(elements.data(), count, 5, 8))
            << "element " << i << " of " << count;
        elements[i] = 8;
      }
      EXPECT_TRUE(kernel().all_in_range(elements.data(), count, 5, 8));
    }
  }
}

TEST_P(LaneKernelTest, CountsTheThresholdsBelow) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> thresholds = {0, 16, 64, 64, 128};
  thresholds.resize(16, kInfinity);
  const auto count = [&](double value) {
    return kernel().count_below(thresholds.data(), 16, value);
  };
  EXPECT_EQ(count(0), 0);
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(16), 1);
  EXPECT_EQ(count(17), 2);
  EXPECT_EQ(count(64), 2);
  EXPECT_EQ(count(65), 4);
  EXPECT_EQ(count(kLaneLimit), 5);
}

INSTANTIATE_TEST_SUITE_P(Paths, LaneKernelTest,
                         ::testing::ValuesIn(SupportedSimdPaths()),
                         [](const auto& test) {
                           return std::string(ToString(test.param));
                         });

}  // namespace
}  // namespace wavetune
