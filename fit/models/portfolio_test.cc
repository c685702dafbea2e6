#include "fit/models/portfolio.h"

#include <gtest/gtest.h>

#include <limits>

namespace wavetune {
namespace {

constexpr double kIllegal = std::numeric_limits<double>::infinity();

// `latencies` [candidate][problem]; every candidate its own macro class.
struct Fixture {
  explicit Fixture(LatencyMatrix latencies) : matrix(std::move(latencies)) {
    state.candidates.resize(matrix.size());
    for (size_t i = 0; i < matrix.size(); ++i) {
      state.candidates[i].macro_class = static_cast<int>(i);
      state.candidates[i].universal = true;
    }
    const size_t problems = matrix[0].size();
    state.representatives.resize(problems);
    state.weights.assign(problems, 1 / static_cast<double>(problems));
    eligible.assign(matrix.size(), true);
  }

  std::vector<size_t> Select(size_t size) const {
    return SelectPortfolio(state, matrix, eligible, size);
  }

  SpecialisationState state;
  LatencyMatrix matrix;
  std::vector<bool> eligible;
};

TEST(PortfolioTest, TakesTheMostUsefulFirstAndStopsWhenNothingIsGained) {
  const Fixture f({{10, 20, 20}, {20, 10, 11}, {20, 11, 10}, {30, 30, 30}});
  EXPECT_EQ(f.Select(16), (std::vector<size_t>{1, 0, 2}));
  EXPECT_EQ(f.Select(2), (std::vector<size_t>{1, 0}));
}

TEST(PortfolioTest, NeverTakesWhatIsNotEligible) {
  Fixture f({{10, 10}, {20, 20}});
  f.eligible[0] = false;
  EXPECT_EQ(f.Select(4), (std::vector<size_t>{1}));
  f.eligible[1] = false;
  EXPECT_TRUE(f.Select(4).empty());
}

TEST(PortfolioTest, VariantsOfOneMacroConfigurationTieWithinTheMargin) {
  Fixture f({{10.1, 10}, {10, 10.1}});
  f.state.candidates[1].macro_class = 0;
  EXPECT_EQ(f.Select(4), (std::vector<size_t>{0}));
}

TEST(PortfolioTest, AlwaysHoldsACandidateThatIsLegalForEveryProblem) {
  Fixture f({{10, 20}, {20, 10}, {40, 40}, {50, 50}});
  f.state.candidates[0].universal = f.state.candidates[1].universal = false;
  EXPECT_EQ(f.Select(2), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(f.Select(3), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(f.Select(1), (std::vector<size_t>{2}));
}

TEST(PortfolioTest, AnIllegalProblemIsNobodysGain) {
  const Fixture f({{kIllegal, 10}, {15, 15}});
  EXPECT_EQ(f.Select(16), (std::vector<size_t>{1, 0}));
}

TEST(PortfolioTest, WithoutProblemsTheFirstEligibleIsTaken) {
  Fixture f({{}, {}});
  EXPECT_EQ(f.Select(4), (std::vector<size_t>{0}));
}

}  // namespace
}  // namespace wavetune
