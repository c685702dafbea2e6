#include "model/decide/simd/simd_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/decide/simd/lane_kernel.h"

namespace wavetune {
namespace {

TEST(SimdPathTest, EveryCpuRunsTheScalarPath) {
  const std::vector<SimdPath> paths = SupportedSimdPaths();
  ASSERT_FALSE(paths.empty());
  EXPECT_EQ(paths[0], SimdPath::kScalar);
  EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end()));
  for (const SimdPath path : paths) EXPECT_NE(FindLaneKernel(path), nullptr);
}

TEST(SimdPathTest, TheFastestIsTakenUnlessAnotherIsNamed) {
  const std::vector<SimdPath> paths = SupportedSimdPaths();
  EXPECT_EQ(SimdPathNamed(nullptr), paths.back());
  EXPECT_EQ(SimdPathNamed(""), paths.back());
  EXPECT_EQ(SimdPathNamed("sse9"), paths.back());
  for (const SimdPath path : paths) {
    EXPECT_EQ(SimdPathNamed(std::string(ToString(path)).c_str()), path);
  }
}

TEST(SimdPathTest, WhatTheCpuDoesNotRunIsNotTaken) {
  const std::vector<SimdPath> paths = SupportedSimdPaths();
  for (const SimdPath path :
       {SimdPath::kNeon, SimdPath::kAvx2, SimdPath::kAvx512}) {
    if (std::find(paths.begin(), paths.end(), path) != paths.end()) continue;
    EXPECT_EQ(SimdPathNamed(std::string(ToString(path)).c_str()), paths.back());
  }
}

#if defined(__x86_64__)
// A build that lost the flags of lane_kernel_avx*.cc would be slow in silence.
TEST(SimdPathTest, ThisBuildHasTheKernelsOfItsArchitecture) {
  EXPECT_NE(FindLaneKernel(SimdPath::kAvx2), nullptr);
  EXPECT_NE(FindLaneKernel(SimdPath::kAvx512), nullptr);
}
#elif defined(__aarch64__)
TEST(SimdPathTest, ThisBuildHasTheKernelsOfItsArchitecture) {
  EXPECT_NE(FindLaneKernel(SimdPath::kNeon), nullptr);
}
#endif

}  // namespace
}  // namespace wavetune
