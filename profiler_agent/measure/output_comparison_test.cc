#include "profiler_agent/measure/output_comparison.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/buffer_values.h"
#include "profiler_agent/measure/poison.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

constexpr ElementType kComparedTypes[] = {
    ElementType::kFloat32, ElementType::kInt32, ElementType::kInt64,
    ElementType::kBfloat16};

std::string Floats(const std::vector<float>& values) {
  std::string bytes(values.size() * 4, '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string Bfloats(const std::vector<float>& values) {
  std::string bytes(values.size() * 2, '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits = ToBfloat16(values[i]);
    std::memcpy(bytes.data() + 2 * i, &bits, 2);
  }
  return bytes;
}

class CompareOutputTest : public ::testing::Test {
 protected:
  CompareOutputTest() {
    spec_.dimensions = {{.name = "m"}, {.name = "n"}};
    spec_.correctness.emplace();
    spec_.correctness->relative_tolerance = 1e-3;
    argument_ = {.name = "c",
                 .role = ArgumentRole::kOutput,
                 .size = Expression::Product(
                     {Expression::OfDimension(0), Expression::OfDimension(1)})};
  }

  absl::Status Compare(const std::string& reference, const std::string& out,
                       const std::string& magnitudes = "") {
    const ComparisonRule rule = {
        .relative_tolerance = spec_.correctness->relative_tolerance,
        .sum_error = 0x1p-22,
        .most_magnitude = 1000};
    return CompareOutput(
        spec_, argument_, problem_,
        ExpectedFrom(argument_.type, reference,
                     magnitudes.empty() ? reference : magnitudes, rule),
        out);
  }

  KernelSpec spec_;
  Argument argument_;
  Problem problem_ = {.extents = {2, 3}};
};

TEST_F(CompareOutputTest, PoisonNeverPasses) {
  for (const ElementType type : kComparedTypes) {
    argument_.type = type;
    const std::string reference = RandomValues({.type = type}, 100, 7);
    EXPECT_TRUE(Compare(reference, reference).ok());
    EXPECT_EQ(Compare(reference, PoisonValues(type, 100)).code(),
              absl::StatusCode::kDataLoss);
    std::string one = reference;
    one.replace(0, ElementBytes(type), PoisonValues(type, 1));
    EXPECT_EQ(Compare(reference, one).code(), absl::StatusCode::kDataLoss);
  }
}

TEST_F(CompareOutputTest, TheErrorIsTheRatioOfNorms) {
  EXPECT_TRUE(Compare(Floats({3, 4}), Floats({3, 4.004f})).ok());
  EXPECT_THAT(std::string(Compare(Floats({3, 4}), Floats({3, 4.5f})).message()),
              HasSubstr("relative error 0.1,"));
}

TEST_F(CompareOutputTest, OfAReferenceOfZerosTheErrorIsAbsolute) {
  EXPECT_TRUE(Compare(Floats({0, 0}), Floats({0, 5e-4f})).ok());
  EXPECT_FALSE(Compare(Floats({0, 0}), Floats({0, 2e-3f})).ok());
}

TEST_F(CompareOutputTest, SaysRowAndColumnAndBothValues) {
  EXPECT_THAT(std::string(Compare(Floats({1, 2, 3, 4, 5, 6}),
                                  Floats({1, 2, 3, 4, 9, 8}))
                              .message()),
              HasSubstr("output 'c' at m=2 n=3: first wrong at row 1, column "
                        "1; 2 of 6 (9 where 5 is right)"));
}

TEST_F(CompareOutputTest, IntegersOfToleranceZeroAreExact) {
  argument_.type = ElementType::kInt32;
  spec_.correctness->relative_tolerance = 0;
  const std::string reference =
      RandomValues({.type = ElementType::kInt32}, 100, 7);
  std::string other = reference;
  other[0] = static_cast<char>(other[0] + 1);
  EXPECT_TRUE(Compare(reference, reference).ok());
  EXPECT_FALSE(Compare(reference, other).ok());
}

// Sums in another order round to the other neighbour now and then.
TEST_F(CompareOutputTest, OneStepOfBf16PassesHoweverFewOutputsThereAre) {
  argument_.type = ElementType::kBfloat16;
  for (const float value : {1.0f, 1.99f, -0.3f}) {
    const float next = std::bit_cast<float>(
        (static_cast<uint32_t>(ToBfloat16(value)) + 1) << 16);
    EXPECT_TRUE(Compare(Bfloats({value}), Bfloats({next})).ok()) << value;
    EXPECT_FALSE(Compare(Bfloats({value}), Bfloats({value * 1.02f})).ok());
  }
}

TEST_F(CompareOutputTest, ASumThatIsSmallByChanceMayBeOffByWhatItsTermsLose) {
  spec_.correctness->relative_tolerance = 1e-5;
  // 1000 terms of 1/4 that cancel to 1e-4.
  EXPECT_TRUE(
      Compare(Floats({1e-4f}), Floats({1e-4f + 2e-5f}), Floats({250})).ok());
  EXPECT_FALSE(
      Compare(Floats({1e-4f}), Floats({1e-4f + 1e-3f}), Floats({250})).ok());
}

TEST_F(CompareOutputTest, MagnitudesThatOverflowAllowNothingMore) {
  spec_.correctness->relative_tolerance = 1e-5;
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(Compare(Floats({1}), Floats({1.001f}), Floats({infinite})).ok());
  EXPECT_FALSE(Compare(Floats({1}), Floats({1.001f}), Floats({1e30f})).ok());
}

// Gaussian errors of the size that the norm just allows, in a million elements.
TEST_F(CompareOutputTest, AnErrorOfTheNormsSizePassesInEveryElement) {
  spec_.correctness->relative_tolerance = 2e-3;
  problem_.extents = {1000, 1000};
  const std::string random =
      RandomValues({.type = ElementType::kFloat32}, 14'000'000, 3);
  std::vector<float> uniform(14'000'000);
  std::memcpy(uniform.data(), random.data(), random.size());
  std::vector<float> reference(1'000'000);
  std::vector<float> out(1'000'000);
  for (size_t i = 0; i < out.size(); ++i) {
    float error = 0;  // Of twelve: variance 12 / 3.
    for (size_t j = 0; j < 12; ++j) error += uniform[14 * i + j];
    reference[i] = uniform[14 * i + 12];
    out[i] = reference[i] + error / 2 * 1.9e-3f * 0.577f;
  }
  EXPECT_TRUE(Compare(Floats(reference), Floats(out)).ok());
}

TEST(PlaceOfTest, IsAnIndexWhereTheOutputIsNoMatrix) {
  const Argument argument = {.size = Expression::OfDimension(0)};
  EXPECT_EQ(PlaceOf(argument, {.extents = {9}}, 7), "element 7");
}

TEST(FirstNotFiniteTest, FindsNanAndInfinity) {
  EXPECT_EQ(FirstNotFinite(ElementType::kFloat32, Floats({1, 2, NAN})), 2);
  EXPECT_EQ(FirstNotFinite(ElementType::kFloat32, Floats({1, INFINITY})), 1);
  EXPECT_EQ(FirstNotFinite(ElementType::kFloat32, Floats({1, 2})), -1);
}

TEST(BrokenReferenceTest, KeepsWhatIsNotTheReferencesFault) {
  EXPECT_TRUE(BrokenReference(absl::OkStatus()).ok());
  EXPECT_EQ(BrokenReference(absl::UnavailableError("gone")).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(BrokenReference(absl::ResourceExhaustedError("full")).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(BrokenReference(absl::AbortedError("crashed")).code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace wavetune
