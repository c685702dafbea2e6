#include "model/kernel/device_space.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/kernel_validation.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::wavetune::testing::GemmSpec;
using ::wavetune::testing::HopperGemmSpec;

constexpr int kHopper = 5;  // Parameter of HopperGemmSpec.

DeviceFacts Gpu(const std::string& architecture) {
  return {.uuid = "GPU-" + architecture,
          .backend = "cuda",
          .architecture = architecture};
}

DeviceFacts Cpu() {
  return {.uuid = "CPU", .backend = "opencl", .architecture = "x86_64"};
}

TEST(ComputeCapabilityTest, IsReadFromCudaArchitectures) {
  EXPECT_EQ(ComputeCapability(Gpu("sm_90")), 90);
  EXPECT_EQ(ComputeCapability(Gpu("sm_89")), 89);
  EXPECT_EQ(ComputeCapability(Gpu("sm_120")), 120);
  for (const char* other : {"", "sm_", "sm_x", "x86_64", "90", "sm_-1",
                            "sm_99999999999999999999"}) {
    EXPECT_EQ(ComputeCapability(Gpu(other)), 0) << other;
  }
}

TEST(IsMeantForTest, FollowsTheDevicePredicates) {
  const KernelSpec spec = HopperGemmSpec();
  const Configuration hopper({64, 32, 32, 2, 4, 1, 2});
  const Configuration portable({64, 32, 32, 2, 4, 0, 1});
  EXPECT_TRUE(IsMeantFor(spec, hopper, Gpu("sm_90")));
  EXPECT_FALSE(IsMeantFor(spec, hopper, Gpu("sm_80")));
  EXPECT_FALSE(IsMeantFor(spec, hopper, Gpu("sm_100")));
  EXPECT_FALSE(IsMeantFor(spec, hopper, Gpu("gfx942")));
  for (const char* architecture : {"sm_90", "sm_80", "sm_100", "gfx942"}) {
    EXPECT_TRUE(IsMeantFor(spec, portable, Gpu(architecture)));
  }
  // Another backend's predicates say nothing.
  EXPECT_TRUE(IsMeantFor(spec, hopper, Cpu()));
}

TEST(SpecForDeviceTest, LeavesOutWhatIsNotMeantForTheDevice) {
  const KernelSpec spec = HopperGemmSpec();
  EXPECT_EQ(EnumerateConfigurations(spec).size(), 48u);
  const KernelSpec h200 = SpecForDevice(spec, Gpu("sm_90")).value();
  EXPECT_EQ(EnumerateConfigurations(h200), EnumerateConfigurations(spec));
  EXPECT_EQ(CountNotMeantFor(spec, Gpu("sm_90")), 0);

  const KernelSpec a100 = SpecForDevice(spec, Gpu("sm_80")).value();
  const std::vector<Configuration> portable = EnumerateConfigurations(a100);
  EXPECT_EQ(portable.size(), 24u);
  EXPECT_EQ(CountNotMeantFor(spec, Gpu("sm_80")), 24);
  for (const Configuration& configuration : portable) {
    EXPECT_EQ(configuration[kHopper], 0);
  }
  EXPECT_TRUE(ValidateKernelSpec(a100).ok()) << ValidateKernelSpec(a100);
}

TEST(SpecForDeviceTest, KeepsADefaultThatIsMeantForTheDevice) {
  const KernelSpec spec = HopperGemmSpec();
  EXPECT_EQ(SpecForDevice(spec, Gpu("sm_90"))->default_configuration,
            spec.default_configuration);
}

TEST(SpecForDeviceTest, ElseTakesTheFirstThatIsMeantAndLegalEverywhere) {
  KernelSpec spec = HopperGemmSpec();
  EXPECT_EQ(SpecForDevice(spec, Gpu("sm_80"))->default_configuration,
            Configuration({16, 32, 16, 1, 1, 0, 1}));
  // The order of the values is the author's say.
  spec.parameters[0].values = {64, 16};
  spec.parameters[4].values = {4, 1};  // 4 is not legal for every k.
  EXPECT_EQ(SpecForDevice(spec, Gpu("sm_80"))->default_configuration,
            Configuration({64, 32, 16, 1, 1, 0, 1}));
}

TEST(SpecForDeviceTest, SaysThatNothingIsMeantForTheDevice) {
  KernelSpec spec = HopperGemmSpec();
  // compute_capability >= 80
  spec.implementations[0].device_predicates.push_back(
      {Expression::OfDimension(0), Relation::Operator::kGreaterOrEqual,
       Expression::Constant(80)});
  EXPECT_TRUE(SpecForDevice(spec, Gpu("sm_80")).ok());
  const absl::Status status = SpecForDevice(spec, Gpu("sm_75")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("meant for device GPU-sm_75 (sm_75)"));
  EXPECT_EQ(CountNotMeantFor(spec, Gpu("sm_75")), 48);
}

TEST(SpecForDeviceTest, ChangesNothingWithoutPredicates) {
  const KernelSpec spec = GemmSpec();
  const KernelSpec own = SpecForDevice(spec, Cpu()).value();
  EXPECT_EQ(own.constraints, spec.constraints);
  EXPECT_EQ(own.default_configuration, spec.default_configuration);
  EXPECT_EQ(CountNotMeantFor(spec, Cpu()), 0);
}

TEST(DefaultForDevicesTest, IsTheManifestsWhereNoDeviceRunsTheKernel) {
  const KernelSpec spec = HopperGemmSpec();
  EXPECT_EQ(DefaultForDevices(spec, {}).value(), spec.default_configuration);
  EXPECT_EQ(DefaultForDevices(spec, {Cpu()}).value(),
            spec.default_configuration);
}

TEST(DefaultForDevicesTest, IsTheDevices) {
  EXPECT_EQ(
      DefaultForDevices(HopperGemmSpec(), {Cpu(), Gpu("sm_80"), Gpu("sm_89")})
          .value(),
      Configuration({16, 32, 16, 1, 1, 0, 1}));
}

TEST(DefaultForDevicesTest, RefusesToChooseBetweenKindsOfDevices) {
  const absl::Status status =
      DefaultForDevices(HopperGemmSpec(), {Gpu("sm_90"), Gpu("sm_80")})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("say which device"));
}

}  // namespace
}  // namespace wavetune
