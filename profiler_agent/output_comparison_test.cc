#include "profiler_agent/output_comparison.h"

#include <string>

#include "gtest/gtest.h"
#include "profiler_agent/buffer_values.h"

namespace wavetune {
namespace {

TEST(CompareOutputsTest, JudgesValuesAndTheGuardBehind) {
  KernelSpec spec;
  spec.correctness.emplace();
  spec.correctness->relative_tolerance = 1e-3;
  const Argument argument = {.name = "c", .role = ArgumentRole::kOutput};
  const std::string guard = PoisonValues(ElementType::kFloat32, kGuardElements);
  const auto judge = [&](const std::string& out, const std::string& reference) {
    return CompareOutputs(spec, argument, Problem(), out, reference).code();
  };
  const std::string ones = RandomValues(ElementType::kFloat32, 64, 1);
  const std::string others = RandomValues(ElementType::kFloat32, 64, 2);
  const std::string unwritten = PoisonValues(ElementType::kFloat32, 64);
  std::string trampled = guard;
  trampled.back() = 1;
  EXPECT_EQ(judge(ones + guard, ones + guard), absl::StatusCode::kOk);
  EXPECT_EQ(judge(others + guard, ones + guard), absl::StatusCode::kDataLoss);
  EXPECT_EQ(judge(unwritten + guard, ones + guard),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(judge(ones + trampled, ones + guard), absl::StatusCode::kDataLoss);
  EXPECT_EQ(judge(ones + guard, ones + trampled),
            absl::StatusCode::kUnimplemented);
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
