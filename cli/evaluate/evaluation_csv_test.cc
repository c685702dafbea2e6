#include "cli/evaluate/evaluation_csv.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

// A kernel over m and n with the parameters BLOCK and WARPS.
KernelSpec Spec() {
  KernelSpec spec;
  spec.dimensions = {{.name = "m"}, {.name = "n"}};
  spec.parameters = {{.name = "BLOCK"}, {.name = "WARPS"}};
  return spec;
}

Sample At(int64_t m, const Configuration& configuration, double latency_us) {
  return {.configuration = configuration,
          .problem = {.extents = {m, 64}},
          .latency_us = latency_us,
          .min_us = latency_us - 1,
          .relative_spread = 0.0123};
}

TEST(EvaluationCsvTest, ASampleSpellsOutItsCandidate) {
  Sample suspect = At(7, {128, 8}, 1234.56);
  suspect.suspect = true;
  EXPECT_EQ(SamplesCsv(Spec(), {At(500, {64, 4}, 3.25), suspect}),
            "m,n,BLOCK,WARPS,latency_us,latency_us_min,relative_spread,suspect"
            "\n500,64,64,4,3.25,2.25,0.0123,0\n"
            "7,64,128,8,1234.56,1233.56,0.0123,1\n");
}

TEST(EvaluationCsvTest, SpecialisationsAndRepeatedExtentsHaveTheirCells) {
  KernelSpec spec = Spec();
  spec.specialisations = {{.name = "causal", .defines = {}, .mapping = {}}};
  spec.dimensions[1].repeated = true;
  Sample sample = At(3, {64, 4}, 5);
  sample.problem.specialisation = "causal";
  sample.problem.extents = {3, 0};
  sample.problem.repeated = {1, 0, 9};
  EXPECT_EQ(SamplesCsv(spec, {sample}),
            "specialisation,m,n,BLOCK,WARPS,latency_us,latency_us_min,"
            "relative_spread,suspect\n"
            "causal,3,1 0 9,64,4,5,4,0.0123,0\n");
}

TEST(EvaluationCsvTest, DecisionsAreSortedByProblem) {
  JudgedProblem worst;
  worst.problem.extents = {500, 64};
  worst.decision.configuration = {64, 4};
  worst.decision.source = DecisionSource::kExtrapolated;
  worst.decision.latency_us = 10.5;
  worst.decision.relative_bound = 0.25;
  worst.chosen_us = 12;
  worst.best_us = 9;
  worst.default_us = 20;
  JudgedProblem other = worst;
  other.problem.extents = {8, 64};
  other.decision.source = DecisionSource::kFitted;
  other.default_us = 0;  // Not recorded.
  Evaluation evaluation;
  evaluation.problems = {worst, other};
  EXPECT_EQ(DecisionsCsv(Spec(), evaluation),
            "m,n,BLOCK,WARPS,source,predicted_us,relative_bound,chosen_us,"
            "best_us,default_us\n"
            "8,64,64,4,FITTED,10.5,0.25,12,9,\n"
            "500,64,64,4,EXTRAPOLATED,10.5,0.25,12,9,20\n");
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// m, n, k; two parameters.
const Table& Gemm() {
  static const Table* const table =
      new Table(wavetune::testing::TwoGroupTable());
  return *table;
}

std::string Header() {
  return "m,n,k," + Gemm().parameters[0] + "," + Gemm().parameters[1];
}

std::string FaultOf(const Table& table, const std::string& csv) {
  return std::string(ParseDecisions(table, csv).status().message());
}

TEST(DecisionsCsvTest, OtherColumnsAndEmptyLinesAreSkipped) {
  const auto decisions =
      ParseDecisions(Gemm(), "model,M,N,K," + Gemm().parameters[1] + "," +
                                 Gemm().parameters[0] +
                                 "\r\nllama,1,2,3,4,64\r\n\r\n,5,6,7,"
                                 "2,128\r\n");
  ASSERT_TRUE(decisions.ok()) << decisions.status();
  ASSERT_EQ(decisions->size(), 2u);
  EXPECT_EQ((*decisions)[0].line, 2);
  EXPECT_THAT((*decisions)[0].problem.extents, ElementsAre(1, 2, 3));
  EXPECT_EQ((*decisions)[0].configuration, Configuration({64, 4}));
  EXPECT_EQ((*decisions)[1].line, 4);
  EXPECT_EQ((*decisions)[1].configuration, Configuration({128, 2}));
}

TEST(DecisionsCsvTest, ReadsWhatEvaluateWrites) {
  KernelSpec spec;
  spec.dimensions = Gemm().dimensions;
  for (const std::string& name : Gemm().parameters)
    spec.parameters.push_back({.name = name});
  Evaluation evaluation;
  for (const int64_t m : {7, 3}) {
    JudgedProblem& judged = evaluation.problems.emplace_back();
    judged.problem.extents = {m, 64, 32};
    judged.decision.configuration = {64, m};
  }
  const auto decisions = ParseDecisions(Gemm(), DecisionsCsv(spec, evaluation));
  ASSERT_TRUE(decisions.ok()) << decisions.status();
  ASSERT_EQ(decisions->size(), 2u);
  EXPECT_THAT((*decisions)[0].problem.extents, ElementsAre(3, 64, 32));
  EXPECT_EQ((*decisions)[0].configuration, Configuration({64, 3}));
}

TEST(DecisionsCsvTest, SpecialisationsAndRepeatedExtentsHaveTheirCells) {
  Table table = Gemm();
  table.dimensions[0].repeated = true;
  table.sub_tables[0].specialisation = "causal";
  const auto decisions = ParseDecisions(
      table, "specialisation," + Header() + "\ncausal,7 12  6,2,3,64,4\n");
  ASSERT_TRUE(decisions.ok()) << decisions.status();
  const Problem& problem = (*decisions)[0].problem;
  EXPECT_EQ(problem.specialisation, "causal");
  EXPECT_THAT(problem.extents, ElementsAre(0, 2, 3));
  EXPECT_THAT(problem.repeated, ElementsAre(7, 12, 6));
  EXPECT_THAT(FaultOf(table, Header() + "\n7,2,3,64,4\n"),
              HasSubstr("'specialisation' is missing"));
  EXPECT_THAT(
      FaultOf(table, "specialisation," + Header() + "\nfull,7,2,3,64,4\n"),
      HasSubstr("line 2: column 'specialisation': 'full' is no specialisation "
                "of the table; it has causal"));
  EXPECT_THAT(
      FaultOf(table, "specialisation," + Header() + "\ncausal,7 x,2,3,64,4\n"),
      HasSubstr("line 2: column 'm': '7 x' has an element"));
}

TEST(DecisionsCsvTest, FaultsNameLineAndColumn) {
  EXPECT_THAT(FaultOf(Gemm(), ""), HasSubstr("column names"));
  EXPECT_THAT(FaultOf(Gemm(), "m,n,k\n"),
              HasSubstr("column '" + Gemm().parameters[0] + "' is missing"));
  EXPECT_THAT(FaultOf(Gemm(), Header() + "\n"), HasSubstr("no decision"));
  EXPECT_THAT(FaultOf(Gemm(), Header() + "\n1,2,3,64,4\n1,2,3,64\n"),
              HasSubstr("decisions line 3: has 4 cells"));
  EXPECT_THAT(FaultOf(Gemm(), Header() + "\n1,two,3,64,4\n"),
              HasSubstr("decisions line 2: column 'n': 'two' is no whole"));
  EXPECT_THAT(FaultOf(Gemm(), Header() + "\n1,2,3,64,\n"),
              HasSubstr("line 2: column '" + Gemm().parameters[1] + "'"));
}

TEST(DecisionsCsvTest, AProblemIsDecidedOnce) {
  EXPECT_THAT(FaultOf(Gemm(), Header() + "\n1,2,3,64,4\n9,2,3,64,4\n"
                                         "1,2,3,128,4\n"),
              HasSubstr("decisions line 4: m=1 n=2 k=3 was decided in line 2 "
                        "already"));
}

}  // namespace

}  // namespace wavetune::cli
