#include "model/decide/layer_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

int GroupAt(const LayerIndex& index, std::vector<int64_t> extents) {
  return index.GroupAt(extents.data());
}

SubTable WithLayers(std::vector<LayerChoices> layers) {
  SubTable sub = testing::TwoGroupTable().sub_tables[0];
  sub.layers = std::move(layers);
  return sub;
}

TEST(LayerIndexTest, WithoutLayersNothingIsFound) {
  const LayerIndex index(WithLayers({}));
  EXPECT_TRUE(index.empty());
  EXPECT_EQ(GroupAt(index, {16, 4096, 4096}), -1);
}

TEST(LayerIndexTest, FindsTheSpanOfTheLayer) {
  const LayerIndex index(WithLayers(
      {{.extents = {0, 4096, 512},
        .first = 4,
        .spans = {{.last = 16, .group = 1}, {.last = 64, .group = 0}}},
       {.extents = {0, 4096, 1024},
        .first = 1,
        .spans = {{.last = 1, .group = 1}}}}));
  EXPECT_FALSE(index.empty());
  EXPECT_EQ(GroupAt(index, {3, 4096, 512}), -1);
  EXPECT_EQ(GroupAt(index, {4, 4096, 512}), 1);
  EXPECT_EQ(GroupAt(index, {16, 4096, 512}), 1);
  EXPECT_EQ(GroupAt(index, {17, 4096, 512}), 0);
  EXPECT_EQ(GroupAt(index, {64, 4096, 512}), 0);
  EXPECT_EQ(GroupAt(index, {65, 4096, 512}), -1);
  EXPECT_EQ(GroupAt(index, {1, 4096, 1024}), 1);
  EXPECT_EQ(GroupAt(index, {2, 4096, 1024}), -1);
  EXPECT_EQ(GroupAt(index, {4, 4096, 513}), -1);
  EXPECT_EQ(GroupAt(index, {4, -4096, 512}), -1);
}

TEST(LayerIndexTest, FindsEachOfManyLayers) {
  std::vector<LayerChoices> layers;
  for (int64_t n = 1; n <= 255; ++n) {
    layers.push_back(
        {.extents = {0, n, 7},
         .first = 1,
         .spans = {
             {.last = n, .group = n % 2 == 0 ? uint8_t{0} : uint8_t{1}}}});
  }
  const LayerIndex index(WithLayers(layers));
  for (int64_t n = 1; n <= 255; ++n) {
    EXPECT_EQ(GroupAt(index, {n, n, 7}), n % 2) << n;
    EXPECT_EQ(GroupAt(index, {n + 1, n, 7}), -1) << n;
  }
}

}  // namespace
}  // namespace wavetune
