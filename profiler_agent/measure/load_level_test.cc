#include "profiler_agent/measure/load_level.h"

#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/tiny_kernel.h"

namespace wavetune {
namespace {

// Two buffers of n * k floats and of n; the default configuration has tiles of
// 64 and 32 iterations' worth of k.
KernelSpec Spec() {
  KernelSpec spec = TinyKernel("fake").spec;
  spec.arguments = {{.name = "in",
                     .size = Expression::Product({Expression::OfDimension(0),
                                                  Expression::OfDimension(1)})},
                    {.name = "out",
                     .role = ArgumentRole::kOutput,
                     .size = Expression::OfDimension(0)},
                    {.name = "n",
                     .role = ArgumentRole::kScalar,
                     .size = Expression::Constant(1'000'000)}};
  return spec;
}

Problem AtExtents(int64_t n, int64_t k) { return {{n, k}, {}, "plain"}; }

TEST(LoadLevelTest, IsTheOctaveOfWorkTimesIntensity) {
  // 1 tile of 4 iterations over 4 * (64 * 128 + 64) bytes: 16 / 33,024.
  EXPECT_EQ(LoadLevel(Spec(), AtExtents(64, 128)), -12);
  // Four times the work, four times the bytes.
  EXPECT_EQ(LoadLevel(Spec(), AtExtents(256, 128)), -10);
}

TEST(LoadLevelTest, WhatNeedsLessMemoryIsHarder) {
  // One row: the tile is computed all the same, 4 over 4 * (128 + 1) bytes.
  EXPECT_EQ(LoadLevel(Spec(), AtExtents(1, 128)), -6);
}

TEST(LoadLevelTest, WithoutBuffersThereIsALevelStill) {
  EXPECT_EQ(LoadLevel(TinyKernel("fake").spec, AtExtents(64, 4096)), 14);
}

}  // namespace
}  // namespace wavetune
