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
  const auto cost = CostFromReport(
      Report({{"", 3}, {"", 4}, {"", 3.5}, {"", 4.5}}), {{"", 101}});
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->candidates, 101);
  EXPECT_DOUBLE_EQ(cost->seconds, 3 + 100 * 0.5);
  EXPECT_THAT(cost->basis, HasSubstr("measured on 4 of them, with 2 workers"));
}

TEST(CompileCostTest, AddsUpSpecialisations) {
  const auto cost = CostFromReport(
      Report({{"full", 2}, {"full", 3}, {"causal", 5}, {"causal", 5.5}}),
      {{"full", 11}, {"causal", 5}});
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->candidates, 16);
  EXPECT_DOUBLE_EQ(cost->seconds, (2 + 10 * 1) + (2 + 4 * 0.5));
}

TEST(CompileCostTest, RefusesAReportThatSaysNothing) {
  const ConfigurationCounts ten = {{"", 10}};
  EXPECT_FALSE(CostFromReport(Report({{"", 3}}), ten).ok());
  EXPECT_FALSE(CostFromReport(Report({}), ten).ok());
  EXPECT_FALSE(CostFromReport(Json::object(), ten).ok());
  EXPECT_FALSE(CostFromReport(Report({{"full", 3}, {"full", 4}}), ten).ok());
}

TEST(CompileCostTest, EstimatesEachBackendThatCompiles) {
  const std::vector<CompileCost> costs =
      EstimateCompileCosts(wavetune::testing::HopperGemmSpec(), 48);
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0].backend, "cuda");
  EXPECT_EQ(costs[0].candidates, 48);
  EXPECT_DOUBLE_EQ(costs[0].seconds,
                   48 * 0.2 / static_cast<double>(CoresOfThisMachine()));
  EXPECT_THAT(costs[0].basis, HasSubstr("0.2 s of a core each"));
}

}  // namespace
}  // namespace wavetune::cli
