// Triton kernels on the CUDA worker: CudaDevice on a faked driver, what
// compiles without a GPU, and `wavetune-agent compile --arch`. Candidates are
// really compiled, so NVRTC and Triton are needed; skipped where one is
// missing.
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/commands/compile_command.h"
#include "profiler_agent/cuda/cuda_compile_device.h"
#include "profiler_agent/cuda/cuda_device.h"
#include "profiler_agent/cuda/cuda_facts.h"
#include "profiler_agent/cuda/fake_cuda_driver.h"
#include "profiler_agent/cuda/nvrtc.h"
#include "profiler_agent/cuda/triton/test_triton.h"
#include "profiler_agent/cuda/triton/triton_installation.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

// BLOCK_R, BLOCK_C, num_warps.
const Configuration kSmall = {1, 256, 4};

float Gelu(float x, float bias) {
  const double v = static_cast<double>(x) + bias;
  const double inner = 0.7978845608 * (v + 0.044715 * v * v * v);
  return static_cast<float>(0.5 * v * (1 + std::tanh(inner)));
}

class CudaTritonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::Load();
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    if (TestTritonPython().empty()) GTEST_SKIP() << kNoTestTriton;
    CudaDeviceEntry entry =
        ListCudaDevices(driver_.driver(), nullptr, (*nvrtc)->version())
            ->entries.front();
    AddTriton(FindTriton(TestTritonPython()), entry.facts);
    AddKernels();
    absl::StatusOr<std::unique_ptr<CudaDevice>> device =
        CudaDevice::Open(driver_.driver(), **nvrtc, entry, "");
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }

  // The host's own: `rows_` is what a launch whose code has them knows.
  void AddKernels() {
    driver_.AddKernel("gelu", [this](const FakeLaunch& launch) {
      const bool passed = rows_ == 0;
      const int rows = passed ? launch.Get<int>(3) : rows_;
      const int columns = launch.Get<int>(passed ? 4 : 3);
      scratch_ = launch.Get<CUdeviceptr>(passed ? 5 : 4);
      profile_ = launch.Get<CUdeviceptr>(passed ? 6 : 5);
      threads_ = launch.block_size;
      return Run(launch, rows, columns);
    });
    driver_.AddKernel("gelu_reference", [](const FakeLaunch& launch) {
      return Run(launch, launch.Get<int>(3), launch.Get<int>(4));
    });
  }

  static CUresult Run(const FakeLaunch& launch, int rows, int columns) {
    const auto* x = launch.Get<const float*>(0);
    const auto* bias = launch.Get<const float*>(1);
    auto* y = launch.Get<float*>(2);
    for (int i = 0; i < rows * columns; ++i) {
      y[i] = Gelu(x[i], bias[i % columns]);
    }
    return CUDA_SUCCESS;
  }

  FakeCudaDriver driver_;
  int rows_ = 0;  // 0: they are passed.
  CUdeviceptr scratch_ = 1;
  CUdeviceptr profile_ = 1;
  int64_t threads_ = 0;
  std::unique_ptr<CudaDevice> device_;
};

TEST_F(CudaTritonTest, IsCheckedAndMeasuredAsEveryCandidate) {
  ASSERT_TRUE(device_->Load(TritonGelu()).ok());
  const absl::StatusOr<Candidate> candidate =
      device_->Prepare({1, 256, 8}, {{.extents = {13, 1030}}});
  ASSERT_TRUE(candidate.ok()) << candidate.status();
  EXPECT_EQ(candidate->tiles_per_wave, 8);
  EXPECT_EQ(threads_, 256);
  EXPECT_EQ(scratch_, 0u);
  EXPECT_EQ(profile_, 0u);
  const absl::StatusOr<LaunchTimes> times =
      device_->Measure({1, 256, 8}, {.extents = {16, 1024}}, 1, 3);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(driver_.last_blocks(), 64);
}

TEST_F(CudaTritonTest, WhatIsPartOfTheCodeIsNotPassed) {
  ASSERT_TRUE(device_->Load(TritonGelu()).ok());
  rows_ = 1;
  const absl::StatusOr<Candidate> candidate =
      device_->Prepare(kSmall, {{.extents = {1, 3}}});
  ASSERT_TRUE(candidate.ok()) << candidate.status();
  EXPECT_EQ(scratch_, 0u);
  EXPECT_EQ(profile_, 0u);
}

TEST_F(CudaTritonTest, WrongResultsAreFound) {
  ASSERT_TRUE(device_->Load(TritonGelu()).ok());
  rows_ = 1;  // Too few are computed.
  driver_.AddKernel("gelu", [](const FakeLaunch& launch) {
    return Run(launch, launch.Get<int>(3) - 1, launch.Get<int>(4));
  });
  const absl::Status status =
      device_->Prepare(kSmall, {{.extents = {13, 1030}}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
}

TEST_F(CudaTritonTest, SpillingIsRefusedWithTheBytes) {
  LoadedKernel kernel = TritonGelu();
  kernel.spec.parameters[2] = {.name = "maxnreg", .values = {16}};
  ASSERT_TRUE(device_->Load(std::move(kernel)).ok());
  const absl::Status status =
      device_->Prepare({4, 1024, 16}, {{.extents = {13, 1030}}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              ::testing::ContainsRegex("registers spill: each thread stores "
                                       "and loads [0-9]+ bytes"));
}

TEST_F(CudaTritonTest, AKernelThatCannotBeImportedLeavesTheOneBefore) {
  ASSERT_TRUE(device_->Load(TritonGelu()).ok());
  const absl::Status bad =
      device_->Load(TritonGelu({{"triton_gelu.py", "import nothing\n"}}));
  EXPECT_EQ(bad.code(), absl::StatusCode::kUnimplemented) << bad;
  EXPECT_TRUE(device_->Prepare(kSmall, {{.extents = {13, 1030}}}).ok());
}

TEST(CudaTritonCompileTest, WithoutTritonItSaysWhatToInstall) {
  if (!Nvrtc::Load().ok()) GTEST_SKIP() << Nvrtc::Load().status().message();
  const auto device = CudaCompileDevice::Open("sm_90a", "", "/no/python");
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->facts().triton, "");
  const absl::Status status = (*device)->Load(TritonGelu());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("`/no/python -m pip install triton`"));
}

// Needs no GPU.
class TritonCompileCommandTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::Load();
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    if (TestTritonPython().empty()) GTEST_SKIP() << kNoTestTriton;
  }
};

TEST_P(TritonCompileCommandTest, CompilesTheSpaceFor) {
  CompileCommandOptions options;
  options.devices.program = WAVETUNE_BIN_DIR "/wavetune-agent";
  options.devices.backend.python = TestTritonPython();
  options.kernel_dir = kTritonGelu;
  options.architecture = GetParam();
  // All of it once: what an architecture changes shows in two.
  options.all = options.architecture == "sm_90a";
  options.sample = 2;
  std::ostringstream out;
  const absl::StatusOr<int> refused = RunCompileCommand(options, out);
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(*refused, 0) << out.str();
  EXPECT_THAT(out.str(),
              HasSubstr(absl::StrCat(options.all ? "8 of 8" : "2 of 2",
                                     " candidates compiled for ", GetParam())));
}

TEST(TritonCompileCommandWithoutTritonTest, SaysWhatToInstall) {
  if (!Nvrtc::Load().ok()) GTEST_SKIP() << Nvrtc::Load().status().message();
  CompileCommandOptions options;
  options.devices.program = WAVETUNE_BIN_DIR "/wavetune-agent";
  options.devices.backend.python = "/no/python";
  options.kernel_dir = kTritonGelu;
  options.architecture = "sm_90a";
  std::ostringstream out;
  EXPECT_THAT(std::string(RunCompileCommand(options, out).status().message()),
              HasSubstr("`/no/python -m pip install triton`"));
}

INSTANTIATE_TEST_SUITE_P(Architectures, TritonCompileCommandTest,
                         ::testing::Values("sm_80", "sm_90a", "sm_100a"),
                         [](const auto& tested) {
                           return std::string(tested.param);
                         });

}  // namespace
}  // namespace wavetune
