#include "profiler_agent/measure/buffer_values.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/tiny_kernel.h"

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
      Elements<float>(RandomValues(ElementType::kFloat32, 10000, 1));
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
    EXPECT_EQ(RandomValues(type, 100, 7), RandomValues(type, 100, 7));
    EXPECT_NE(RandomValues(type, 100, 7), RandomValues(type, 100, 8));
    EXPECT_EQ(RandomValues(type, 100, 7).size(), 100 * ElementBytes(type));
  }
}

TEST(BufferValuesTest, AnInputNamedAsTheRepeatedDimensionHoldsItsElements) {
  KernelSpec spec;
  spec.dimensions = {{.name = "tokens", .repeated = true}, {.name = "n"}};
  const Argument argument = {.name = "tokens", .type = ElementType::kInt32};
  const Problem problem = {.extents = {0, 8}, .repeated = {5, 0, 9}};
  EXPECT_EQ(Elements<int32_t>(InputValues(spec, argument, problem, 3, 1)),
            (std::vector<int32_t>{5, 0, 9}));
}

TEST(BufferValuesTest, ScalarsMustFit) {
  const Argument narrow = {.name = "n", .type = ElementType::kInt32};
  EXPECT_EQ(Elements<int32_t>(*ScalarBytes(narrow, 77)),
            std::vector<int32_t>{77});
  EXPECT_EQ(ScalarBytes(narrow, int64_t{1} << 31).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const Argument wide = {.name = "n", .type = ElementType::kInt64};
  EXPECT_EQ(Elements<int64_t>(*ScalarBytes(wide, int64_t{1} << 31)),
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
