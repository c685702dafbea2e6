#include "fit/models/row_regimes.h"

#include <gtest/gtest.h>

#include <limits>

namespace wavetune {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

struct Demand {
  std::vector<Coordinates> at;
  std::vector<double> weights;

  Demand& Add(int64_t rows, double fill, double weight, double loop = 8) {
    at.push_back({.iterations = loop, .rows = rows, .row_fill = fill});
    weights.push_back(weight);
    return *this;
  }
  RepresentativeView View() const { return {at, weights}; }
};

TEST(RowRegimesTest, FollowWhatIsAskedFor) {
  Demand prefill;
  prefill.Add(8, 1, 1).Add(100, 0.5, 1);
  const RepresentativeView view = prefill.View();
  EXPECT_EQ(ChooseRowRegimes(true, {&view, 1}),
            (std::vector<RowRegime>{{kNoLimit, 1}}));

  Demand mixed;
  mixed.Add(1, 0.5, 1).Add(2, 1, 1).Add(9, 1, 1);
  const RepresentativeView mixed_view = mixed.View();
  EXPECT_EQ(ChooseRowRegimes(true, {&mixed_view, 1}),
            (std::vector<RowRegime>{{1, 1}, {2, 1}, {kNoLimit, 1}}));
}

TEST(RowRegimesTest, RareRowsGetNoneOfTheirOwn) {
  Demand demand;
  demand.Add(1, 1, 0.01).Add(9, 1, 0.99);
  const RepresentativeView view = demand.View();
  EXPECT_EQ(ChooseRowRegimes(true, {&view, 1}).size(), 1u);
}

TEST(RowRegimesTest, NearlyEmptyRowsCountOnlyWhereNoTileAvoidsThem) {
  Demand tall;
  tall.Add(1, 0.125, 1).Add(1, 1, 1);
  Demand small;
  small.Add(1, 1, 1).Add(8, 1, 1);
  const RepresentativeView both[] = {tall.View(), small.View()};
  EXPECT_EQ(ChooseRowRegimes(true, both),
            (std::vector<RowRegime>{{1, 1}, {kNoLimit, 1}}));
  EXPECT_EQ(ChooseRowRegimes(true, {both, 1}),
            (std::vector<RowRegime>{{1, 0.25}, {1, 1}, {kNoLimit, 1}}));
}

TEST(RowRegimesTest, HaveDefaultsWhereNothingIsKnown) {
  EXPECT_EQ(ChooseRowRegimes(true, {}).size(), 3u);
  EXPECT_EQ(ChooseRowRegimes(false, {}).size(), 1u);
  EXPECT_EQ(ChooseLoopAnchors({}).front(), 1);
  EXPECT_EQ(ChooseLoopAnchors({}).back(), 512);
}

TEST(LoopAnchorsTest, SpanTheLoops) {
  Demand demand;
  demand.Add(1, 1, 1, 9).Add(1, 1, 1, 100);
  const RepresentativeView view = demand.View();
  EXPECT_EQ(ChooseLoopAnchors({&view, 1}),
            (std::vector<double>{8, 16, 32, 64, 128}));
}

TEST(LoopAnchorsTest, AreOneWhereThereIsNoLoop) {
  Demand demand;
  demand.Add(1, 1, 1, 1).Add(100, 1, 1, 1);
  const RepresentativeView view = demand.View();
  EXPECT_EQ(ChooseLoopAnchors({&view, 1}), std::vector<double>{1});
}

}  // namespace
}  // namespace wavetune
