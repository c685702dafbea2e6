#include "profiler_agent/measure/slice_rotation.h"

#include <set>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(SliceRotationTest, AWarmBufferStaysWhereItIs) {
  SliceRotation rotation(0);
  const size_t size = rotation.WantedBytes(5000, 100 * kMiB);
  EXPECT_EQ(size, 8192u);
  EXPECT_EQ(rotation.Next(5000, size), 0u);
  EXPECT_EQ(rotation.Next(5000, size), 0u);
}

TEST(SliceRotationTest, AColdBufferMovesOverMoreThanTheCache) {
  SliceRotation rotation(ColdBytes(60 * kMiB, /*is_cpu=*/false));
  const size_t slice = 10 * kMiB;
  const size_t size = rotation.WantedBytes(slice, 1000 * kMiB);
  EXPECT_EQ(size, 256 * kMiB);  // 16, its power of two, and 240.
  EXPECT_TRUE(rotation.Suffices(slice, size));
  std::set<size_t> seen;
  size_t at = rotation.Next(slice, size);
  while (seen.insert(at).second) {
    EXPECT_EQ(at % SliceRotation::kAlignment, 0u);
    EXPECT_LE(at + slice, size);
    at = rotation.Next(slice, size);
  }
  // Each is read again only after 240 MiB of others, beyond the 60 of the
  // cache.
  EXPECT_EQ(seen.size(), 25u);
}

TEST(SliceRotationTest, DoesNotRotateFurtherInALargerMemory) {
  SliceRotation rotation(75 * kMiB);
  for (int i = 0; i < 100; ++i) {
    EXPECT_LE(rotation.Next(kMiB, 4000 * kMiB) + kMiB, 76 * kMiB);
  }
}

TEST(SliceRotationTest, RotatesLessWhereMemoryIsShort) {
  SliceRotation rotation(75 * kMiB);
  EXPECT_EQ(rotation.WantedBytes(10 * kMiB, 40 * kMiB), 40 * kMiB);
  EXPECT_FALSE(rotation.Suffices(10 * kMiB, 40 * kMiB));
  EXPECT_TRUE(rotation.Fits(10 * kMiB, 40 * kMiB));
  for (int i = 0; i < 10; ++i) {
    EXPECT_LE(rotation.Next(10 * kMiB, 40 * kMiB), 30 * kMiB);
  }
  EXPECT_EQ(rotation.WantedBytes(41 * kMiB, 40 * kMiB), 0u);
}

TEST(ColdBytesTest, IsFarBeyondAnAcceleratorsCache) {
  EXPECT_EQ(ColdBytes(60 * kMiB, /*is_cpu=*/false), 240 * kMiB);
}

TEST(ColdBytesTest, AnUnknownCacheIsTakenForALargeOne) {
  EXPECT_EQ(ColdBytes(0, /*is_cpu=*/false), 256 * kMiB);
}

TEST(ColdBytesTest, IsWellBeyondOrWellInsideACpusCache) {
  EXPECT_EQ(ColdBytes(32 * kMiB, /*is_cpu=*/true), 64 * kMiB);
  EXPECT_EQ(ColdBytes(64 * kMiB, /*is_cpu=*/true), 128 * kMiB);
  EXPECT_EQ(ColdBytes(260 * kMiB, /*is_cpu=*/true), 260 * kMiB / 8);
}

TEST(ColdBytesTest, NothingRotatesButWhatIsColdAndHasValues) {
  const DeviceFacts facts = {.last_level_cache_bytes = 60 * kMiB};
  Argument argument = {.role = ArgumentRole::kInput, .cold = true};
  EXPECT_EQ(ColdBytesOf(argument, facts, /*is_cpu=*/false), 240 * kMiB);
  argument.role = ArgumentRole::kInOut;
  EXPECT_EQ(ColdBytesOf(argument, facts, /*is_cpu=*/false), 240 * kMiB);
  argument.role = ArgumentRole::kOutput;
  EXPECT_EQ(ColdBytesOf(argument, facts, /*is_cpu=*/false), 0u);
  argument = {.role = ArgumentRole::kInput, .cold = false};
  EXPECT_EQ(ColdBytesOf(argument, facts, /*is_cpu=*/false), 0u);
}

}  // namespace
}  // namespace wavetune
