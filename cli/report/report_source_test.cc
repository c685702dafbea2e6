#include "cli/report/report_source.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

using ::testing::ElementsAre;

Problem Causal(int64_t n, const std::string& specialisation) {
  return {.extents = {n}, .specialisation = specialisation};
}

KernelSpec Attention() {
  KernelSpec spec;
  spec.dimensions = {{.name = "n"}};
  spec.specialisations = {{.name = "causal"}, {.name = "full"}};
  return spec;
}

TEST(RepresentativeProblemsTest, AGridOfNoSpecialisationIsOfAll) {
  KernelSpec spec = Attention();
  spec.representative_problems = {{.problem = Causal(64, "")},
                                  {.problem = Causal(128, "full")}};
  EXPECT_THAT(RepresentativeProblems(spec),
              ElementsAre(Causal(64, "causal"), Causal(64, "full"),
                          Causal(128, "full")));
}

TEST(RepresentativeProblemsTest, WithoutSpecialisationsTheyStayAsTheyAre) {
  KernelSpec spec = Attention();
  spec.specialisations.clear();
  spec.representative_problems = {{.problem = Causal(64, "")}};
  EXPECT_THAT(RepresentativeProblems(spec), ElementsAre(Causal(64, "")));
}

TEST(KeepApartTest, WhatIsFittedOrRepresentativeIsNotJudged) {
  ReportInput report;
  report.representative = {Causal(1, "full")};
  report.fitted = {{.problem = Causal(2, "full")}};
  // Of two candidates.
  report.judged = {{.problem = Causal(1, "full")},
                   {.problem = Causal(1, "full")},
                   {.problem = Causal(3, "full")},
                   {.problem = Causal(2, "full")}};
  KeepApart(report);
  ASSERT_EQ(report.judged.size(), 1u);
  EXPECT_EQ(report.judged[0].problem, Causal(3, "full"));
  EXPECT_EQ(report.held_out.size(), 3u);
  EXPECT_THAT(report.known, ElementsAre(Causal(1, "full"), Causal(2, "full")));
}

}  // namespace
}  // namespace wavetune::cli
