#include "fit/build/tile_fills.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

// Tiles of 64 x 32, steps of 32.
const Configuration kConfiguration = {64, 32, 32, 2, 1};

TileFill Named(const KernelSpec& spec, const Mapping& mapping,
               const std::string& name) {
  for (const TileFill& fill : TileFillsOf(spec, mapping)) {
    if (fill.name == name) return fill;
  }
  ADD_FAILURE() << "no fill named " << name;
  return {};
}

TEST(TileFillsTest, FillsAreOfWholeTilesAndSteps) {
  const KernelSpec spec = testing::GroupedGemmSpec();
  // Elements of 32, 0 and 96 rows: 1 + 2 tiles down, 2 across, 3 steps.
  const Problem problem = {{0, 48, 80}, {32, 0, 96}, ""};
  const auto along = [&](const std::string& dimension) {
    return Named(spec, spec.mapping, "how full tiles are along " + dimension)
        .At(problem, kConfiguration);
  };
  EXPECT_DOUBLE_EQ(along("m"), 128.0 / 192);
  EXPECT_DOUBLE_EQ(along("n"), 48.0 / 64);
  EXPECT_DOUBLE_EQ(along("k"), 80.0 / 96);
}

TEST(TileFillsTest, CausalBlocksHaveAFill) {
  const KernelSpec spec = testing::CausalAttentionSpec();
  const TileFill fill = Named(spec, *spec.specialisations[1].mapping,
                              "how full its causal blocks are");
  // 65 queries in tiles of 64 visit 65 keys in blocks of 32: 2 + 3 blocks, in
  // which 65 * 66 / 2 pairs are seen.
  EXPECT_DOUBLE_EQ(fill.At({{1, 1, 1, 65, 65}, {}, "causal"}, kConfiguration),
                   65.0 * 66 / 2 / (5 * 64 * 32));
  EXPECT_THAT(fill.advice, HasSubstr("causal_blocks with blocks of 1"));
}

}  // namespace
}  // namespace wavetune
