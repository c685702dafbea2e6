#include "cli/commands/compile_cost.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/testing/kernels.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;

Json Report(const std::vector<std::pair<std::string, double>>& finished) {
  Json candidates = Json::array();
  for (const auto& [specialisation, seconds] : finished)
    candidates.push_back(
        {{"specialisation", specialisation}, {"finished_s", seconds}});
  return {{"workers", 2}, {"candidates", std::move(candidates)}};
}

TEST(CompileCostTest, TakesTheFirstCandidateApartFromTheOthers) {
  // The first waits for the reference: 3 s, then 0.5 s each.
  const auto cost =
      CostFromReport(Report({{"", 3}, {"", 4}, {"", 3.5}, {"", 4.5}}), 101);
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->candidates, 101);
  EXPECT_DOUBLE_EQ(cost->seconds, 3 + 100 * 0.5);
  EXPECT_THAT(cost->basis, HasSubstr("measured on 4 of them, with 2 workers"));
}

TEST(CompileCostTest, AddsUpSpecialisations) {
  const auto cost = CostFromReport(
      Report({{"full", 2}, {"full", 3}, {"causal", 5}, {"causal", 5.5}}), 11);
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->candidates, 22);
  EXPECT_DOUBLE_EQ(cost->seconds, (2 + 10 * 1) + (2 + 10 * 0.5));
}

TEST(CompileCostTest, RefusesAReportThatSaysNothing) {
  EXPECT_FALSE(CostFromReport(Report({{"", 3}}), 10).ok());
  EXPECT_FALSE(CostFromReport(Report({}), 10).ok());
  EXPECT_FALSE(CostFromReport(Json::object(), 10).ok());
}

TEST(CompileCostTest, EstimatesEachBackendThatCompiles) {
  const std::vector<CompileCost> costs =
      EstimateCompileCosts(wavetune::testing::HopperGemmSpec());
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0].backend, "cuda");
  EXPECT_EQ(costs[0].candidates, 48);
  EXPECT_GT(costs[0].seconds, 0);
}

}  // namespace
}  // namespace wavetune::cli
