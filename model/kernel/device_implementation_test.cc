#include "model/kernel/device_implementation.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

KernelSpec KernelFor(const std::vector<std::string>& backends) {
  KernelSpec spec;
  spec.name = "gemm";
  for (const std::string& backend : backends) {
    spec.implementations.push_back({.backend = backend});
  }
  return spec;
}

DeviceFacts Gpu() {
  return {.uuid = "GPU-1",
          .backend = "cuda",
          .compiler = "NVRTC 13.0",
          .triton = "Triton 3.6.0, ptxas 12.8.93",
          .python = "/opt/python3"};
}

std::string BackendOn(const KernelSpec& spec, const DeviceFacts& device) {
  const DeviceImplementation own = ImplementationFor(spec, device);
  return own.implementation == nullptr ? "none" : own.implementation->backend;
}

TEST(DeviceImplementationTest, ADevicesOwnBackendComesFirst) {
  const KernelSpec both = KernelFor({"triton", "cuda"});
  EXPECT_EQ(BackendOn(both, Gpu()), "cuda");
  EXPECT_EQ(ImplementationFor(both, Gpu()).compiler, "NVRTC 13.0");
}

TEST(DeviceImplementationTest, ACudaDeviceThatHasTritonRunsItsKernels) {
  const KernelSpec triton = KernelFor({"triton", "opencl"});
  EXPECT_EQ(BackendOn(triton, Gpu()), "triton");
  EXPECT_EQ(ImplementationFor(triton, Gpu()).compiler,
            "Triton 3.6.0, ptxas 12.8.93");
  DeviceFacts without = Gpu();
  without.triton.clear();
  EXPECT_EQ(BackendOn(triton, without), "none");
}

TEST(DeviceImplementationTest, OtherDevicesDoNot) {
  DeviceFacts cpu = Gpu();
  cpu.backend = "opencl";
  EXPECT_EQ(BackendOn(KernelFor({"triton", "opencl"}), cpu), "opencl");
  EXPECT_EQ(BackendOn(KernelFor({"triton"}), cpu), "none");
}

TEST(DeviceImplementationTest, WithoutTritonItSaysWhatToInstallForWhich) {
  DeviceFacts without = Gpu();
  without.triton.clear();
  EXPECT_THAT(
      std::string(NoImplementation(KernelFor({"triton"}), without).message()),
      AllOf(HasSubstr("\"gemm\" runs through Triton"),
            HasSubstr("`/opt/python3 -m pip install triton`"),
            HasSubstr("GPU-1")));
}

TEST(DeviceImplementationTest, OtherwiseItNamesTheBackendsThatThereAre) {
  EXPECT_THAT(
      std::string(
          NoImplementation(KernelFor({"opencl", "replay"}), Gpu()).message()),
      AllOf(HasSubstr("no implementation for backend \"cuda\""),
            HasSubstr("it has: opencl, replay")));
}

TEST(DeviceImplementationTest, AnotherCompilerIsAnotherOfTheKernels) {
  const KernelSpec cuda = KernelFor({"cuda"});
  EXPECT_EQ(WithCompiler(cuda, Gpu(), "x").compiler, "x");
  EXPECT_EQ(WithCompiler(cuda, Gpu(), "x").triton, Gpu().triton);
  const KernelSpec triton = KernelFor({"triton"});
  EXPECT_EQ(WithCompiler(triton, Gpu(), "x").compiler, Gpu().compiler);
  EXPECT_EQ(WithCompiler(triton, Gpu(), "x").triton, "x");
}

}  // namespace
}  // namespace wavetune
