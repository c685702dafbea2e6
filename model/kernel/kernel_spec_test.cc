#include "model/kernel/kernel_spec.h"

#include "gtest/gtest.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

TEST(KernelSpecTest, AKernelWithoutSpecialisationsHasOneUnnamed) {
  EXPECT_EQ(testing::GemmSpec().SpecialisationNames(),
            std::vector<std::string>{""});
  EXPECT_EQ(testing::CausalAttentionSpec().SpecialisationNames(),
            (std::vector<std::string>{"full", "causal"}));
}

TEST(KernelSpecTest, ASpecialisationsMappingReplacesTheKernels) {
  const KernelSpec spec = testing::CausalAttentionSpec();
  EXPECT_TRUE(spec.MappingOf("causal").total_iterations.has_value());
  EXPECT_EQ(spec.MappingOf("full"), spec.mapping);
  EXPECT_EQ(spec.MappingOf("unknown"), spec.mapping);
  EXPECT_EQ(spec.MappingOf(""), spec.mapping);
}

TEST(KernelSpecTest, FindsImplementationsByBackend) {
  const KernelSpec spec = testing::GemmSpec();
  ASSERT_NE(spec.ImplementationOf("opencl"), nullptr);
  EXPECT_EQ(spec.ImplementationOf("opencl")->entry, "gemm");
  EXPECT_EQ(spec.ImplementationOf("cuda"), nullptr);
}

TEST(KernelSpecTest, FindsNamesWithTheirCase) {
  const KernelSpec spec = testing::GemmSpec();
  EXPECT_EQ(spec.DimensionIndex("k"), 2);
  EXPECT_EQ(spec.DimensionIndex("K"), -1);
  EXPECT_EQ(spec.ParameterIndex("BLOCK_N"), 1);
  EXPECT_EQ(spec.ParameterIndex("block_n"), -1);
}

}  // namespace
}  // namespace wavetune
