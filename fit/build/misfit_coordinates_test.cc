#include "fit/build/misfit_coordinates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class MisfitCoordinatesTest : public ::testing::Test {
 protected:
  explicit MisfitCoordinatesTest(KernelSpec spec = testing::GroupedGemmSpec())
      : spec_(std::move(spec)),
        all_(MisfitCoordinates(spec_, spec_.mapping, spec_.wave_form,
                               {.last_level_cache_bytes = 1000})) {}

  const MisfitCoordinate& Named(const std::string& part) const {
    for (const MisfitCoordinate& coordinate : all_) {
      if (coordinate.name.find(part) != std::string::npos) return coordinate;
    }
    ADD_FAILURE() << "no coordinate named " << part;
    return all_.front();
  }

  double ValueOf(const std::string& part, const Problem& problem) const {
    return Named(part).value(
        problem, configuration_,
        MapProblem(spec_.mapping, problem.View(), configuration_));
  }

  // Tiles of 64 x 32, steps of 32.
  const Configuration configuration_ = {64, 32, 32, 2, 1};
  const KernelSpec spec_;
  const std::vector<MisfitCoordinate> all_;
};

// Elements of 32, 0 and 96 rows: 1 + 2 tiles down, 2 across, 3 steps.
const Problem kProblem = {{0, 48, 80}, {32, 0, 96}, ""};

TEST_F(MisfitCoordinatesTest, FillsAreOfWholeTilesAndSteps) {
  EXPECT_DOUBLE_EQ(ValueOf("full tiles are along m", kProblem), 128.0 / 192);
  EXPECT_DOUBLE_EQ(ValueOf("full tiles are along n", kProblem), 48.0 / 64);
  EXPECT_DOUBLE_EQ(ValueOf("full tiles are along k", kProblem), 80.0 / 96);
}

TEST_F(MisfitCoordinatesTest, ElementsWithoutWorkReadNothing) {
  EXPECT_DOUBLE_EQ(ValueOf("number of m elements", kProblem), 2.0 / 6);
  EXPECT_DOUBLE_EQ(ValueOf("bytes of b", kProblem),
                   4.0 * 2 * 48 * 80 / (6 * 3));
}

TEST_F(MisfitCoordinatesTest, AllBuffersCountAgainstTheCache) {
  EXPECT_DOUBLE_EQ(ValueOf("all its buffers", kProblem),
                   4.0 * (128 * 80 + 2 * 48 * 80 + 128 * 48));
  EXPECT_EQ(Named("all its buffers").limit, 1000);
  EXPECT_THAT(Named("all its buffers").advice_beyond,
              HasSubstr("last-level cache"));
}

TEST_F(MisfitCoordinatesTest, AlignmentIsThePowerOfTwoOfAnExtent) {
  EXPECT_EQ(ValueOf("divides n", kProblem), 16);
  EXPECT_EQ(ValueOf("divides n", {{0, 3, 80}, {1}, ""}), 1);
  EXPECT_EQ(ValueOf("divides n", {{0, 1 << 20, 80}, {1}, ""}), 4096);
  EXPECT_EQ(ValueOf("number of tiles", kProblem), 6);
}

class AttentionCoordinatesTest : public MisfitCoordinatesTest {
 protected:
  AttentionCoordinatesTest()
      : MisfitCoordinatesTest(testing::CausalAttentionSpec()) {}
};

TEST_F(AttentionCoordinatesTest, CausalBlocksHaveAFill) {
  const Mapping& causal = *spec_.specialisations[1].mapping;
  const auto all = MisfitCoordinates(spec_, causal, WaveForm::kSum, {});
  const auto fill = std::find_if(all.begin(), all.end(), [](const auto& c) {
    return c.name == "how full its causal blocks are";
  });
  ASSERT_NE(fill, all.end());
  // 65 queries in tiles of 64 visit 65 keys in blocks of 32: 2 + 3 blocks, in
  // which 65 * 66 / 2 pairs are seen.
  EXPECT_DOUBLE_EQ(
      fill->value({{1, 1, 1, 65, 65}, {}, "causal"}, configuration_, {}),
      65.0 * 66 / 2 / (5 * 64 * 32));
  EXPECT_THAT(fill->advice_where_it_costs,
              HasSubstr("causal_blocks with blocks of 1"));
}

TEST_F(AttentionCoordinatesTest, WhatNoCoordinateKnowsIsOneByItself) {
  std::vector<std::string> names;
  for (const MisfitCoordinate& coordinate : all_) {
    names.push_back(coordinate.name);
  }
  EXPECT_THAT(names, Contains("kv_heads"));
  EXPECT_THAT(names, Not(Contains("heads")));
  EXPECT_THAT(names, Not(Contains(HasSubstr("elements"))));
}

}  // namespace
}  // namespace wavetune
