#include "cli/evaluate/evaluation.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;

// Two rows: the first, configuration 0 of the portfolio, wins everywhere.
class EvaluationTest : public ::testing::Test {
 protected:
  EvaluationTest()
      : decoded_(wavetune::testing::TwoGroupTable()),
        table_(CompiledTable::Create(EncodeTable(decoded_).value()).value()) {}

  Sample Record(int candidate, int64_t m, double latency_us) const {
    return {.configuration = decoded_.sub_tables[0]
                                 .portfolio[static_cast<size_t>(candidate)]
                                 .configuration,
            .problem = {.extents = {m, 64, 64}},
            .latency_us = latency_us};
  }

  const Table decoded_;
  const std::unique_ptr<const CompiledTable> table_;
};

TEST_F(EvaluationTest, ComparesTheChoiceWithTheBestRecorded) {
  const auto evaluation =
      Evaluate(*table_, {Record(0, 64, 10), Record(1, 64, 8),
                         Record(0, 128, 10), Record(1, 128, 20)});
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->overall.problems, 2);
  EXPECT_DOUBLE_EQ(evaluation->overall.fraction_min, 0.8);
  EXPECT_DOUBLE_EQ(evaluation->overall.fraction_p5, 0.81);
  EXPECT_NEAR(evaluation->overall.fraction_geomean, 0.894427, 1e-6);
  EXPECT_EQ(evaluation->problems[0].problem.extents[0], 64);  // Worst first.
  EXPECT_TRUE(evaluation->by_specialisation.empty());
}

TEST_F(EvaluationTest, CountsLatenciesInsideTheirBounds) {
  // Predicted 10 us +- 12.5 %.
  const auto evaluation =
      Evaluate(*table_, {Record(0, 64, 11.2), Record(0, 128, 11.3)});
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_DOUBLE_EQ(evaluation->overall.within_bound, 0.5);
  EXPECT_DOUBLE_EQ(evaluation->overall.bound_median, 0.125);
}

TEST_F(EvaluationTest, TakesTheBestOfRepeatedLines) {
  const auto evaluation = Evaluate(
      *table_, {Record(0, 64, 12), Record(0, 64, 10), Record(1, 64, 10)});
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_DOUBLE_EQ(evaluation->overall.fraction_min, 1);
}

TEST_F(EvaluationTest, AChoiceThatWasNotRecordedIsAnErrorThatNamesIt) {
  const auto evaluation =
      Evaluate(*table_, {Record(0, 64, 10), Record(1, 128, 10)});
  EXPECT_TRUE(absl::IsFailedPrecondition(evaluation.status()));
  EXPECT_THAT(std::string(evaluation.status().message()),
              HasSubstr("m=128 n=64 k=64"));
}

TEST_F(EvaluationTest, NothingRecordedIsAnError) {
  EXPECT_TRUE(absl::IsInvalidArgument(Evaluate(*table_, {}).status()));
}

}  // namespace
}  // namespace wavetune::cli
