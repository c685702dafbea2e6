#include "fit/models/held_out.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <vector>

#include "fit/models/eligibility.h"

namespace wavetune {
namespace {

// Every other observation is of a representative problem.
std::vector<Observation> Observations(size_t count) {
  std::vector<Observation> all(count);
  for (size_t i = 0; i < count; ++i) all[i].representative = i % 2 == 1;
  return all;
}

TEST(HeldOutTest, EachRepresentativeObservationIsHeldOutOnce) {
  const std::vector<Observation> all = Observations(14);
  const std::vector<HeldOutFold> folds = HeldOutFolds(all, 4);
  ASSERT_EQ(folds.size(), 4u);
  std::multiset<const Observation*> held_out;
  for (const HeldOutFold& fold : folds) {
    EXPECT_EQ(fold.fitted.size() + fold.held_out.size(), all.size());
    held_out.insert(fold.held_out.begin(), fold.held_out.end());
  }
  EXPECT_EQ(held_out.size(), 7u);
  for (const Observation& o : all) {
    EXPECT_EQ(held_out.count(&o), o.representative ? 1u : 0u);
  }
}

TEST(HeldOutTest, AFoldThatHoldsOutNothingIsLeftOut) {
  EXPECT_EQ(HeldOutFolds(Observations(6), 4).size(), 3u);
  EXPECT_TRUE(HeldOutFolds({}, 4).empty());
}

TEST(HeldOutTest, AFoldThatLeavesTooFewForAModelIsLeftOut) {
  const std::vector<Observation> few = Observations(kFewestObservations);
  EXPECT_TRUE(HeldOutFolds(few, 4).empty());
}

}  // namespace
}  // namespace wavetune
