#include "profiler_agent/measure/buffer_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

template <typename T>
std::vector<T> Elements(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

constexpr ElementType kTypes[] = {ElementType::kFloat32, ElementType::kInt32,
                                  ElementType::kInt64, ElementType::kBfloat16};

TEST(BufferValuesTest, RandomFloatsFillTheirRange) {
  const auto values =
      Elements<float>(RandomValues({.type = ElementType::kFloat32}, 10000, 1));
  double sum = 0;
  for (const float value : values) {
    EXPECT_GE(value, -1);
    EXPECT_LT(value, 1);
    sum += value;
  }
  EXPECT_LT(std::abs(sum / 10000), 0.05);
}

TEST(BufferValuesTest, EqualSeedsGiveEqualBytesAndOthersDoNot) {
  for (const ElementType type : kTypes) {
    const Argument argument{.type = type};
    EXPECT_EQ(RandomValues(argument, 100, 7), RandomValues(argument, 100, 7));
    EXPECT_NE(RandomValues(argument, 100, 7), RandomValues(argument, 100, 8));
    EXPECT_EQ(RandomValues(argument, 100, 7).size(), 100 * ElementBytes(type));
  }
}

TEST(BufferValuesTest, AnIntegerThatNothingBoundsHasAnyBits) {
  uint32_t ones = 0;
  uint32_t zeros = 0;
  for (const uint32_t value : Elements<uint32_t>(
           RandomValues({.type = ElementType::kInt32}, 100, 1))) {
    ones |= value;
    zeros |= ~value;
  }
  EXPECT_EQ(ones & zeros, 0xffffffffu);
}

TEST(BufferValuesTest, FloatsAreAsTheirArgumentDeclaresThem) {
  const auto of = [](FloatValues values, double scale) {
    const Argument argument{.type = ElementType::kFloat32, .values = values};
    return Elements<float>(RandomValues(argument, 10000, 1, scale));
  };
  const auto mean = [](const std::vector<float>& values, double around,
                       int power) {
    double sum = 0;
    for (const float value : values) sum += std::pow(value - around, power);
    return sum / static_cast<double>(values.size());
  };
  const auto uniform = of({.first = 10, .second = 30}, 128);
  EXPECT_EQ(uniform, of({.first = 10, .second = 30}, 1));
  for (const float value : uniform) {
    EXPECT_GE(value, 10);
    EXPECT_LE(value, 30);
  }
  EXPECT_NEAR(mean(uniform, 0, 1), 20, 0.5);
  const auto normal =
      of({.kind = FloatValues::Kind::kNormal, .first = -5, .second = 2}, 128);
  EXPECT_NEAR(mean(normal, 0, 1), -5, 0.1);
  EXPECT_NEAR(mean(normal, -5, 2), 4, 0.2);
  EXPECT_NEAR(mean(normal, -5, 4), 46, 6);  // As far out as normal ones.
  for (const float value : normal) EXPECT_LE(std::abs(value + 5), 12);
}

TEST(BufferValuesTest, AnInputNamedAsTheRepeatedDimensionHoldsItsElements) {
  KernelSpec spec;
  spec.dimensions = {{.name = "tokens", .repeated = true}, {.name = "n"}};
  const Argument argument = {.name = "tokens", .type = ElementType::kInt32};
  const Problem problem = {.extents = {0, 8}, .repeated = {5, 0, 9}};
  EXPECT_EQ(Elements<int32_t>(InputValues(spec, argument, problem, {}, 3, 1)),
            (std::vector<int32_t>{5, 0, 9}));
}

TEST(BufferValuesTest, AsManyIndicesInARowAsThereAreValuesAreAllDifferent) {
  for (const int64_t below : {1, 2, 7, 64, 1000}) {
    const size_t count = static_cast<size_t>(below);
    const auto indices = Elements<int64_t>(
        IndexValues(ElementType::kInt64, 3 * count, below, 5));
    for (size_t begin = 0; begin <= 2 * count; begin += count / 3 + 1) {
      const std::set<int64_t> window(indices.begin() + begin,
                                     indices.begin() + begin + count);
      EXPECT_EQ(window.size(), count) << below;
      EXPECT_EQ(*window.begin(), 0);
      EXPECT_EQ(*window.rbegin(), below - 1);
    }
  }
}

TEST(BufferValuesTest, IndicesAreInNoOrderAndFollowTheSeed) {
  const auto indices = [](uint64_t seed) {
    return Elements<int32_t>(
        IndexValues(ElementType::kInt32, 1000, 1000, seed));
  };
  EXPECT_EQ(indices(1), indices(1));
  EXPECT_NE(indices(1), indices(2));
  int rising = 0;
  for (size_t i = 1; i < 1000; ++i) {
    rising += indices(1)[i] > indices(1)[i - 1] ? 1 : 0;
  }
  EXPECT_GT(rising, 400);
  EXPECT_LT(rising, 600);
}

TEST(BufferValuesTest, IndicesOfALargePoolFitTheirType) {
  constexpr int64_t kBelow = int64_t{1} << 40;
  for (const int32_t index :
       Elements<int32_t>(IndexValues(ElementType::kInt32, 1000, kBelow, 1))) {
    EXPECT_GE(index, 0);
  }
  for (const int64_t index :
       Elements<int64_t>(IndexValues(ElementType::kInt64, 1000, kBelow, 1))) {
    EXPECT_GE(index, 0);
    EXPECT_LT(index, kBelow);
  }
}

TEST(BufferValuesTest, AnInputWithABoundFollowsTheProblem) {
  KernelSpec spec;
  spec.dimensions = {{.name = "pool"}};
  const Argument argument = {.name = "table",
                             .type = ElementType::kInt32,
                             .below = Expression::OfDimension(0)};
  for (const int64_t pool : {1, 20, 300}) {
    const auto values = Elements<int32_t>(
        InputValues(spec, argument, {.extents = {pool}}, {}, 1000, 1));
    EXPECT_EQ(*std::max_element(values.begin(), values.end()), pool - 1);
    EXPECT_EQ(*std::min_element(values.begin(), values.end()), 0);
  }
}

TEST(BufferValuesTest, ScalarsMustFit) {
  const auto bytes = [](ElementType type, int64_t value) {
    return ScalarBytes(
        {.name = "n", .type = type, .size = Expression::Constant(value)},
        ProblemView(), Configuration());
  };
  EXPECT_EQ(Elements<int32_t>(*bytes(ElementType::kInt32, 77)),
            std::vector<int32_t>{77});
  EXPECT_EQ(bytes(ElementType::kInt32, int64_t{1} << 31).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Elements<int64_t>(*bytes(ElementType::kInt64, int64_t{1} << 31)),
            std::vector<int64_t>{int64_t{1} << 31});
}

TEST(BufferValuesTest, BytesFollowTheExpressionAndSaturationIsAnError) {
  const Problem problem = {.extents = {100, 30}};
  Argument argument = {
      .name = "a",
      .type = ElementType::kBfloat16,
      .size = Expression::Product(
          {Expression::OfDimension(0), Expression::OfDimension(1)})};
  EXPECT_EQ(*BufferBytes(argument, problem, {}), 6000u);
  argument.size = Expression::Constant(kExpressionLimit);
  EXPECT_EQ(BufferBytes(argument, problem, {}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace wavetune
