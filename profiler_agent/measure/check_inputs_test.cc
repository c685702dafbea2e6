#include "profiler_agent/measure/check_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

std::vector<float> Elements(const std::string& bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// a[m, k], b[n, k].
class CancellingInputsTest : public ::testing::Test {
 protected:
  std::vector<float> Input(size_t argument, size_t elements) {
    return Elements(CheckInput(spec_, argument, problem_, {}, elements,
                               CheckData::kCancelling, argument + 1));
  }

  // The sum of terms [begin, end) of row i times column j.
  double Sum(const std::vector<float>& a, const std::vector<float>& b, int i,
             int j, int begin, int end) const {
    const auto k = static_cast<int>(problem_.extents[2]);
    double sum = 0;
    for (int p = begin; p < end; ++p) sum += a[i * k + p] * b[j * k + p];
    return sum;
  }

  KernelSpec spec_ = testing::GemmSpec();
  Problem problem_ = {.extents = {3, 5, 200}};
};

TEST_F(CancellingInputsTest, HalvesAreLargeAndTheirSumIsTheMiddleAlone) {
  for (const int k : {199, 200}) {
    problem_.extents[2] = k;
    const auto a = Input(0, static_cast<size_t>(3 * k));
    const auto b = Input(1, static_cast<size_t>(5 * k));
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 5; ++j) {
        EXPECT_GT(Sum(a, b, i, j, 0, k / 2), 20);
        EXPECT_LT(Sum(a, b, i, j, k - k / 2, k), -20 + 1);
        const double all = Sum(a, b, i, j, 0, k);
        EXPECT_GT(all, 0);
        EXPECT_LE(all, 2);
      }
    }
  }
}

TEST_F(CancellingInputsTest, AreMultiplesOfAnEighthAndNeverZero) {
  for (const float value : Input(0, 600)) {
    EXPECT_EQ(value * 8, std::round(value * 8));
    EXPECT_NE(value, 0);
    EXPECT_LE(std::abs(value), 1);
  }
}

TEST_F(CancellingInputsTest, AlsoWhereNoInputHasTheLoopsDimension) {
  for (Argument& argument : spec_.arguments) {
    argument.size = Expression::CeilDiv({Expression::OfDimension(2)},
                                        {Expression::Constant(2)});
  }
  const auto a = Input(0, 100);
  double sum = 0;
  for (const float value : a) sum += value;
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, 2);
}

TEST_F(CancellingInputsTest, RandomOnesAndIntegersAreAsEver) {
  EXPECT_EQ(CheckInput(spec_, 0, problem_, {}, 8, CheckData::kRandom, 1).size(),
            32u);
  spec_.arguments[0].type = ElementType::kInt32;
  EXPECT_EQ(CheckInput(spec_, 0, problem_, {}, 8, CheckData::kRandom, 1),
            CheckInput(spec_, 0, problem_, {}, 8, CheckData::kCancelling, 1));
}

// Whoever says what an input holds says so of all data.
TEST_F(CancellingInputsTest, FloatsOfDeclaredValuesAreTheSameOnAllData) {
  const auto input = [&](CheckData data) {
    return Elements(CheckInput(spec_, 0, problem_, {}, 600, data, 1));
  };
  const std::vector<float> random = input(CheckData::kRandom);
  std::vector<float> large = input(CheckData::kLarge);
  for (float& value : large) value /= 128;
  EXPECT_EQ(large, random);
  EXPECT_TRUE(HasDataOf(spec_, CheckData::kLarge));
  for (Argument& argument : spec_.arguments) {
    argument.values = FloatValues{.first = 2, .second = 3};
  }
  EXPECT_EQ(input(CheckData::kLarge), input(CheckData::kRandom));
  EXPECT_EQ(input(CheckData::kCancelling), input(CheckData::kRandom));
  EXPECT_FALSE(HasDataOf(spec_, CheckData::kLarge));
  EXPECT_FALSE(HasDataOf(spec_, CheckData::kCancelling));
  EXPECT_TRUE(HasDataOf(spec_, CheckData::kRandom));
}

TEST(NudgedTest, MovesEveryFloatByAShareOfItselfAtMost) {
  const std::vector<float> values(1000, -8.0f);
  std::string bytes(values.size() * 4, '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  double furthest = 0;
  for (const float value :
       Elements(Nudged(ElementType::kFloat32, bytes, 1e-3, 7))) {
    EXPECT_NE(value, -8);
    furthest = std::max<double>(furthest, std::abs(value + 8));
  }
  EXPECT_LE(furthest, 8e-3 + 1e-6);
  EXPECT_GT(furthest, 6e-3);
  EXPECT_EQ(Nudged(ElementType::kInt32, bytes, 1e-3, 7), bytes);
  // Of a bfloat16 the next one, or none.
  std::string halves(2000, '\0');
  for (size_t i = 0; i < halves.size(); i += 2) {
    const uint16_t eight = ToBfloat16(8);
    std::memcpy(halves.data() + i, &eight, 2);
  }
  EXPECT_NE(Nudged(ElementType::kBfloat16, halves, 1e-5, 7), halves);
}

TEST(MagnitudesTest, TakeTheSignOfFloatsAway) {
  const std::vector<float> values = {-1.5f, 2, -0.0f};
  std::string bytes(12, '\0');
  std::memcpy(bytes.data(), values.data(), 12);
  EXPECT_EQ(Elements(Magnitudes(ElementType::kFloat32, bytes)),
            (std::vector<float>{1.5f, 2, 0}));
  EXPECT_EQ(Magnitudes(ElementType::kInt32, bytes), bytes);
}

}  // namespace
}  // namespace wavetune
