#include "client/cli/report/judged_problems.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

// Two rows: the first, configuration 0 of the portfolio, wins everywhere. The
// default, {32, 1}, is outside of the portfolio.
class JudgedProblemsTest : public ::testing::Test {
 protected:
  JudgedProblemsTest() {
    input_.table = CompiledTable::Create(
                       EncodeTable(wavetune::testing::TwoRowTable()).value())
                       .value();
    for (const Configuration& configuration :
         {kChosen, kOther, Configuration{64, 4}, kDefault})
      input_.candidates.push_back(
          {.candidate = {.configuration = configuration}});
  }

  void Record(const Configuration& configuration, int64_t m,
              double latency_us) {
    input_.judged.push_back({.configuration = configuration,
                             .problem = {.extents = {m, 64, 64}},
                             .latency_us = latency_us});
  }

  JudgedProblems Judged() const {
    return JudgeProblems(input_, input_.table->table().sub_tables[0]);
  }

  const Configuration kChosen = {64, 2};
  const Configuration kOther = {128, 2};
  const Configuration kDefault = {32, 1};
  ReportInput input_;
};

TEST_F(JudgedProblemsTest, TheWorstComesFirstWithItsBaselines) {
  Record(kChosen, 64, 10);
  Record(kOther, 64, 10);
  Record(kDefault, 64, 20);
  Record(kChosen, 128, 10);
  Record(kOther, 128, 8);
  Record(kDefault, 128, 16);
  const JudgedProblems judged = Judged();
  ASSERT_EQ(judged.choices.size(), 2u);
  const JudgedChoice& worst = judged.choices[0];
  EXPECT_EQ(worst.problem.extents[0], 128);
  EXPECT_EQ(worst.chosen_us, 10);
  EXPECT_EQ(worst.best, kOther);
  EXPECT_EQ(worst.best_us, 8);
  EXPECT_EQ(worst.default_us, 16);
  EXPECT_EQ(worst.measured, 3);
  ASSERT_TRUE(judged.best_single.has_value());
  EXPECT_EQ(*judged.best_single, kOther);
  EXPECT_EQ(worst.single_us, 8);
  ASSERT_EQ(judged.figures.size(), 3u);
  EXPECT_EQ(judged.figures[0].name, "chosen");
  EXPECT_DOUBLE_EQ(judged.figures[0].worst, 0.8);
  EXPECT_DOUBLE_EQ(judged.figures[1].geomean, 1);
  EXPECT_DOUBLE_EQ(judged.figures[2].geomean, 0.5);
}

TEST_F(JudgedProblemsTest, ASingleConfigurationIsMeasuredEverywhere) {
  Record(kChosen, 64, 10);
  Record(kOther, 64, 1);
  Record(kChosen, 128, 10);
  Record(kDefault, 128, 9);
  EXPECT_EQ(*Judged().best_single, kChosen);
}

TEST_F(JudgedProblemsTest, FewMeasurementsJudgeNothing) {
  Record(kChosen, 64, 10);
  Record(kChosen, 128, 10);
  Record(kOther, 128, 10);
  JudgedProblems judged = Judged();
  EXPECT_EQ(judged.choices.size(), 1u);
  EXPECT_EQ(judged.too_few, 1);
  // Two of six are not half.
  for (int64_t block : {16, 48})
    input_.candidates.push_back({.candidate = {.configuration = {block, 1}}});
  judged = Judged();
  EXPECT_TRUE(judged.choices.empty());
  EXPECT_EQ(judged.too_few, 2);
  EXPECT_TRUE(judged.figures.empty());
  EXPECT_FALSE(judged.best_single.has_value());
  // Excluded ones do not count.
  for (size_t i = 4; i < 6; ++i)
    input_.candidates[i].candidate.excluded_reason = "crashed";
  EXPECT_EQ(Judged().choices.size(), 1u);
}

TEST_F(JudgedProblemsTest, AMissingChoiceIsCounted) {
  Record(kOther, 64, 10);
  Record(kDefault, 64, 10);
  const JudgedProblems judged = Judged();
  EXPECT_TRUE(judged.choices.empty());
  EXPECT_EQ(judged.choice_missing, 1);
}

TEST_F(JudgedProblemsTest, WhatWasFittedIsNotJudged) {
  Record(kChosen, 64, 10);
  Record(kOther, 64, 8);
  input_.fitted = {input_.judged[0]};
  EXPECT_TRUE(Judged().choices.empty());
}

TEST_F(JudgedProblemsTest, NonsenseIsLeftOut) {
  Record(kChosen, 64, 10);
  Record(kOther, 64, 0);
  Record(kDefault, 64, 12);
  input_.judged.push_back(
      {.configuration = kOther, .problem = {.extents = {64}}, .latency_us = 1});
  const JudgedProblems judged = Judged();
  ASSERT_EQ(judged.choices.size(), 1u);
  EXPECT_EQ(judged.choices[0].best_us, 10);
}

}  // namespace
}  // namespace wavetune::cli
