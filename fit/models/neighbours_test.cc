#include "fit/models/neighbours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "fit/testing/synthetic_device.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::Each;
using ::testing::Gt;

KernelSpec NeighbourSpec(const std::vector<std::vector<int64_t>>& problems) {
  KernelSpec spec = testing::GemmSpec();
  spec.representative_problems.clear();
  for (const std::vector<int64_t>& extents : problems) {
    spec.representative_problems.push_back(
        {.problem = {.extents = {extents.begin(), extents.end()},
                     .repeated = {},
                     .specialisation = ""},
         .weight = static_cast<double>(extents[0])});
  }
  return spec;
}

const std::vector<std::vector<int64_t>> kProblems = {
    {1, 4096, 4096}, {24, 4096, 4096}, {100, 1056, 8192}, {3000, 6144, 4096}};

class NeighboursTest : public ::testing::Test {
 protected:
  NeighboursTest()
      : device_(NeighbourSpec(kProblems), {}),
        input_(device_.Input()),
        state_(MakeProfileState(input_).value()),
        narrow_(state_.specialisations[0]) {}

  testing::SyntheticDevice device_;
  ProfileInput input_;
  ProfileState state_;
  const SpecialisationState& narrow_;
};

TEST_F(NeighboursTest, FollowTheRepresentativesWithMostOfTheWeight) {
  const SpecialisationState wide = WithNeighbours(input_, narrow_);
  const size_t count = narrow_.representatives.size();
  ASSERT_EQ(wide.representatives.size(), 9 * count);
  for (size_t p = 0; p < count; ++p) {
    EXPECT_EQ(wide.representatives[p], narrow_.representatives[p]);
  }
  EXPECT_NEAR(std::accumulate(wide.weights.begin(), wide.weights.end(), 0.0), 1,
              1e-9);
  EXPECT_NEAR(
      std::accumulate(wide.weights.begin(),
                      wide.weights.begin() + static_cast<int64_t>(count), 0.0),
      0.5, 1e-9);
  EXPECT_THAT(wide.weights, Each(Gt(0)));
}

TEST_F(NeighboursTest, AreHalfToDoubleAndAsDivisibleAsTheyWere) {
  const SpecialisationState wide = WithNeighbours(input_, narrow_);
  const size_t count = narrow_.representatives.size();
  bool any_other = false;
  for (size_t i = count; i < wide.representatives.size(); ++i) {
    const Problem& from = narrow_.representatives[(i - count) / 8];
    const Problem& to = wide.representatives[i];
    for (size_t d = 0; d < to.extents.size(); ++d) {
      EXPECT_GE(2 * to.extents[d] + 64, from.extents[d]);
      EXPECT_LE(to.extents[d], 2 * from.extents[d] + 64);
      if (from.extents[d] % 64 == 0) {
        EXPECT_EQ(to.extents[d] % 64, 0);
      }
      any_other = any_other || to.extents[d] != from.extents[d];
    }
  }
  EXPECT_TRUE(any_other);
}

TEST_F(NeighboursTest, EveryCandidateHasAPlaceForEachOfThem) {
  const SpecialisationState wide = WithNeighbours(input_, narrow_);
  for (const CandidateState& candidate : wide.candidates) {
    EXPECT_EQ(candidate.at.size(), wide.representatives.size());
    EXPECT_EQ(candidate.legal.size(), wide.representatives.size());
  }
}

TEST_F(NeighboursTest, AnExpertWithoutTokensStaysWithout) {
  KernelSpec spec = testing::GroupedGemmSpec();
  spec.dimensions[0].min = 0;
  spec.representative_problems = {{.problem = {.extents = {0, 768, 2048},
                                               .repeated = {5, 0, 0, 40},
                                               .specialisation = ""},
                                   .weight = 1}};
  const testing::SyntheticDevice device(spec, {});
  const ProfileInput input = device.Input();
  const ProfileState state = MakeProfileState(input).value();
  const SpecialisationState wide =
      WithNeighbours(input, state.specialisations[0]);
  bool any_other = false;
  for (const Problem& problem : wide.representatives) {
    ASSERT_EQ(problem.repeated.size(), 4U);
    EXPECT_EQ(problem.repeated[1], 0);
    EXPECT_EQ(problem.repeated[2], 0);
    EXPECT_GE(problem.repeated[0], 1);
    any_other = any_other || problem.repeated[3] != 40;
  }
  EXPECT_TRUE(any_other);
}

TEST_F(NeighboursTest, WithoutNamedProblemsThereAreNone) {
  const KernelSpec spec = NeighbourSpec({});
  input_.spec = &spec;
  const ProfileState state = MakeProfileState(input_).value();
  const SpecialisationState& only = state.specialisations[0];
  EXPECT_EQ(WithNeighbours(input_, only).representatives, only.representatives);
}

TEST_F(NeighboursTest, ADimensionThatNeverVariesStays) {
  const KernelSpec spec = NeighbourSpec({{1, 4096, 4096}, {512, 2048, 4096}});
  input_.spec = &spec;
  const ProfileState state = MakeProfileState(input_).value();
  for (const Problem& problem :
       WithNeighbours(input_, state.specialisations[0]).representatives) {
    EXPECT_EQ(problem.extents[2], 4096);
  }
}

}  // namespace
}  // namespace wavetune
