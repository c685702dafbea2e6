#include "profiler_agent/cold_rotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace wavetune {
namespace {

using ::testing::ElementsAre;

constexpr size_t kMiB = size_t{1} << 20;

std::vector<size_t> Offsets(ColdRotation& rotation, size_t slice, size_t size,
                            int count) {
  std::vector<size_t> offsets;
  for (int i = 0; i < count; ++i) {
    offsets.push_back(rotation.NextOffset(slice, size));
  }
  return offsets;
}

TEST(ColdBytesTest, IsAQuarterAboveAnAcceleratorsCache) {
  EXPECT_EQ(ColdBytes(60 * kMiB, /*is_cpu=*/false), 75 * kMiB);
}

TEST(ColdBytesTest, IsWellBeyondOrWellInsideACpusCache) {
  EXPECT_EQ(ColdBytes(32 * kMiB, /*is_cpu=*/true), 64 * kMiB);
  EXPECT_EQ(ColdBytes(64 * kMiB, /*is_cpu=*/true), 128 * kMiB);
  EXPECT_EQ(ColdBytes(260 * kMiB, /*is_cpu=*/true), 260 * kMiB / 8);
}

TEST(ColdRotationTest, WithoutColdBytesItIsAlwaysTheFirstSlice) {
  ColdRotation rotation(0);
  EXPECT_THAT(Offsets(rotation, 10, 100, 3), ElementsAre(0, 0, 0));
}

TEST(ColdRotationTest, ASliceComesBackAfterTheColdBytes) {
  ColdRotation rotation(30);
  EXPECT_THAT(Offsets(rotation, 10, 40, 5), ElementsAre(10, 20, 30, 0, 10));
}

TEST(ColdRotationTest, ALargerAllocationChangesNothing) {
  ColdRotation rotation(30);
  EXPECT_THAT(Offsets(rotation, 10, 4000, 5), ElementsAre(10, 20, 30, 0, 10));
}

TEST(ColdRotationTest, AnAllocationThatHoldsLessRotatesLess) {
  ColdRotation rotation(30);
  EXPECT_THAT(Offsets(rotation, 10, 25, 3), ElementsAre(10, 0, 10));
  EXPECT_THAT(Offsets(rotation, 25, 25, 2), ElementsAre(0, 0));
}

TEST(ColdRotationTest, AnotherSliceSizeStaysInside) {
  ColdRotation rotation(30);
  Offsets(rotation, 10, 40, 3);
  EXPECT_THAT(Offsets(rotation, 20, 50, 3), ElementsAre(0, 20, 0));
}

}  // namespace
}  // namespace wavetune
