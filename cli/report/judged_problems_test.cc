#include "cli/report/judged_problems.h"

#include <string>
#include <vector>

#include "cli/report/baselines.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two rows: the first, configuration 0 of the portfolio, wins everywhere. The
// default, {32, 1}, is outside of the portfolio.
class JudgedProblemsTest : public ::testing::Test {
 protected:
  JudgedProblemsTest() {
    input_.table = CompiledTable::Create(
                       EncodeTable(wavetune::testing::TwoGroupTable()).value())
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

  void RecordTwo() {
    Record(kChosen, 64, 10);
    Record(kOther, 64, 10);
    Record(kDefault, 64, 20);
    Record(kChosen, 128, 10);
    Record(kOther, 128, 8);
    Record(kDefault, 128, 16);
  }

  absl::StatusOr<JudgedProblems> Judge() const {
    return JudgeProblems(input_, input_.table->table().sub_tables[0]);
  }
  JudgedProblems Judged() const {
    const absl::StatusOr<JudgedProblems> judged = Judge();
    EXPECT_TRUE(judged.ok()) << judged.status();
    return judged.value_or(JudgedProblems());
  }

  // A baseline that takes `configurations` at m = 64 and 128.
  void AddBaseline(const std::string& name,
                   const std::vector<Configuration>& configurations) {
    Baseline& baseline = input_.baselines.emplace_back();
    baseline.name = name;
    baseline.path = name + ".csv";
    for (const Configuration& configuration : configurations) {
      const int64_t m = baseline.decisions.empty() ? 64 : 128;
      baseline.decisions.push_back(
          {.line = 2 + static_cast<int64_t>(baseline.decisions.size()),
           .problem = {.extents = {m, 64, 64}},
           .configuration = configuration});
    }
  }

  const Configuration kChosen = {64, 2};
  const Configuration kOther = {128, 2};
  const Configuration kDefault = {32, 1};
  ReportInput input_;
};

// The best is 10 us at m = 64 and 8 us at m = 128.
TEST_F(JudgedProblemsTest, TheWorstComesFirst) {
  RecordTwo();
  const JudgedProblems judged = Judged();
  ASSERT_EQ(judged.choices.size(), 2u);
  const JudgedChoice& worst = judged.choices[0];
  EXPECT_EQ(worst.problem.extents[0], 128);
  EXPECT_EQ(worst.chosen_us, 10);
  EXPECT_EQ(worst.best, kOther);
  EXPECT_EQ(worst.best_us, 8);
  EXPECT_EQ(worst.measured, 3);
  ASSERT_TRUE(judged.best_single.has_value());
  EXPECT_EQ(*judged.best_single, kOther);
}

TEST_F(JudgedProblemsTest, MethodsAreInTheOrderOfTheirMeans) {
  RecordTwo();
  AddBaseline("tree", {kOther, kDefault});
  AddBaseline("oracle", {kChosen, kOther});
  const std::vector<JudgedMethod> methods = Judged().methods;
  std::vector<std::string> names;
  for (const JudgedMethod& method : methods) names.push_back(method.name);
  // Of two alike the first: those that every report shows, then as given.
  EXPECT_THAT(names,
              ElementsAre(kBestSingleConfiguration, "oracle", kChosenByTable,
                          "tree", kDefaultConfiguration));
  for (const JudgedMethod& method : methods) EXPECT_EQ(method.problems, 2);
  // m = 128 comes first: it is the worst of the table's.
  EXPECT_THAT(methods[0].latencies_us, ElementsAre(8, 10));
  EXPECT_THAT(methods[2].latencies_us, ElementsAre(10, 10));
  EXPECT_THAT(methods[3].latencies_us, ElementsAre(16, 10));
  EXPECT_DOUBLE_EQ(methods[0].geomean, 1);
  EXPECT_EQ(methods[2].kind, JudgedMethod::Kind::kTable);
  EXPECT_DOUBLE_EQ(methods[2].worst, 0.8);
  EXPECT_EQ(methods[3].kind, JudgedMethod::Kind::kBaseline);
  EXPECT_DOUBLE_EQ(methods[3].worst, 0.5);
  EXPECT_DOUBLE_EQ(methods[4].geomean, 0.5);
}

TEST_F(JudgedProblemsTest, AMethodThatWasMeasuredNowhereIsLeftOut) {
  Record(kChosen, 64, 10);
  Record(kOther, 64, 10);
  for (const JudgedMethod& method : Judged().methods)
    EXPECT_NE(method.kind, JudgedMethod::Kind::kDefault);
}

TEST_F(JudgedProblemsTest, ABaselineThatLacksAProblemIsRefused) {
  RecordTwo();
  AddBaseline("tree", {kOther});
  EXPECT_THAT(
      std::string(Judge().status().message()),
      HasSubstr("tree.csv:\n  there is no decision at m=128 n=64 k=64"));
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
  EXPECT_TRUE(judged.methods.empty());
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

TEST_F(JudgedProblemsTest, WhatTheTableKnowsIsCounted) {
  input_.known = {{.extents = {64, 64, 64}},
                  {.extents = {64, 64, 64}, .specialisation = "another"}};
  const JudgedProblems judged = Judged();
  EXPECT_TRUE(judged.choices.empty());
  EXPECT_EQ(judged.known, 1);
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
