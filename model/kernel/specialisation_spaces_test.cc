#include "model/kernel/specialisation_spaces.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/condition.h"
#include "model/kernel/constraint_counts.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// BLOCK_M * BLOCK_N <= limit; of 32 combinations a limit of 4096 leaves 24.
Condition TileAtMost(int64_t limit) {
  return {Expression::Product(
              {Expression::OfParameter(0), Expression::OfParameter(1)}),
          Relation::Operator::kLessOrEqual, Expression::Constant(limit)};
}

// A GEMM whose specialisations have these limits as constants.
KernelSpec WithLimits(const std::vector<int64_t>& limits) {
  KernelSpec spec = testing::GemmSpec();
  for (const int64_t limit : limits) {
    const std::string name =
        "limit" + std::to_string(spec.specialisations.size());
    spec.specialisations.push_back({.name = name});
    KernelSpec own = testing::GemmSpec();
    own.constraints = {TileAtMost(limit)};
    spec.own[name] = std::make_shared<const KernelSpec>(own);
  }
  spec.constraints = {TileAtMost(limits[0])};
  return spec;
}

TEST(SpecialisationSpacesTest, AreOneWithoutConstants) {
  const KernelSpec attention = testing::CausalAttentionSpec();
  const std::vector<SpecialisationSpace> spaces = EnumerateSpaces(attention);
  ASSERT_THAT(spaces, SizeIs(1));
  EXPECT_THAT(spaces[0].specialisations, ElementsAre("full", "causal"));
  EXPECT_EQ(spaces[0].spec, &attention);
  EXPECT_EQ(spaces[0].space.count, 8);
  EXPECT_EQ(CountCandidates(spaces), 16);
  EXPECT_EQ(CountConfigurations(spaces), 8);
  EXPECT_THAT(EnumerateSpaces(testing::GemmSpec())[0].specialisations,
              ElementsAre(""));
}

TEST(SpecialisationSpacesTest, DifferWhereConstraintsNameConstants) {
  const KernelSpec spec = WithLimits({4096, 1 << 20, 4096});
  const std::vector<SpecialisationSpace> spaces = EnumerateSpaces(spec);
  ASSERT_THAT(spaces, SizeIs(2));
  EXPECT_THAT(spaces[0].specialisations, ElementsAre("limit0", "limit2"));
  EXPECT_EQ(spaces[0].space.count, 24);
  EXPECT_THAT(spaces[1].specialisations, ElementsAre("limit1"));
  EXPECT_EQ(spaces[1].space.count, 32);
  EXPECT_EQ(&SpaceOf(spaces, "limit2"), &spaces[0]);
  EXPECT_EQ(&SpaceOf(spaces, "limit1"), &spaces[1]);
  EXPECT_EQ(CountCandidates(spaces), 2 * 24 + 32);
  EXPECT_EQ(CountConfigurations(spaces), 32);
  EXPECT_EQ(
      CountConstraints(*spaces[0].spec, spaces[0].space).constraints[0].only,
      8);
  EXPECT_EQ(
      CountConstraints(*spaces[1].spec, spaces[1].space).constraints[0].only,
      0);
}

}  // namespace
}  // namespace wavetune
