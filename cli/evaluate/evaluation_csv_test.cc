#include "cli/evaluate/evaluation_csv.h"

#include <string>

#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"

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

}  // namespace
}  // namespace wavetune::cli
