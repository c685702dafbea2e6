// `wavetune-agent compile --arch` on the kernels of this repository, without a
// GPU. Skipped where NVRTC is missing.
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_agent/commands/compile_command.h"
#include "profiler_agent/cuda/nvrtc.h"
#include "profiler_agent/cuda/triton/test_triton.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CudaCompileTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::Load();
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    options_.devices.program = WAVETUNE_BIN_DIR "/wavetune-agent";
    options_.kernel_dir = WAVETUNE_SOURCE_DIR "/kernels/gemm_bf16";
    options_.sample = 2;
  }

  absl::StatusOr<int> Run(const std::string& architecture) {
    options_.architecture = architecture;
    return RunCompileCommand(options_, out_);
  }

  CompileCommandOptions options_;
  std::ostringstream out_;
};

TEST_P(CudaCompileTest, GemmBf16CompilesFor) {
  const absl::StatusOr<int> refused = Run(GetParam());
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(*refused, 0) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr(std::string("2 of 2 candidates compiled "
                                                "for ") +
                                    GetParam()));
  const bool hopper = std::string(GetParam()) == "sm_90a";
  if (hopper) {
    EXPECT_THAT(out_.str(), HasSubstr("HOPPER=1"));
    EXPECT_THAT(out_.str(), Not(HasSubstr("not meant for")));
  } else {
    EXPECT_THAT(out_.str(), Not(HasSubstr("HOPPER=1")));
    EXPECT_THAT(out_.str(), HasSubstr("configurations are not meant for sm_"));
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, CudaCompileTest,
                         ::testing::Values("sm_80", "sm_86", "sm_89", "sm_90a",
                                           "sm_100a", "sm_120a"),
                         [](const auto& tested) {
                           return std::string(tested.param);
                         });

// The templates of `wavetune kernels new` that are there for Triton alone: the
// default of each specialisation. What they compute:
// tests/triton/test_templates.py.
using TritonTemplatesTest = CudaCompileTest;

TEST_F(TritonTemplatesTest, CompileWithoutAGpu) {
  if (TestTritonPython().empty()) GTEST_SKIP() << kNoTestTriton;
  options_.devices.backend.python = TestTritonPython();
  options_.sample = 1;
  for (const char* kernel :
       {"gpu_conv2d", "gpu_attention", "gpu_grouped_gemm"}) {
    options_.kernel_dir =
        std::string(WAVETUNE_SOURCE_DIR "/tests/kernels/") + kernel;
    const absl::StatusOr<int> refused = Run("sm_90a");
    ASSERT_TRUE(refused.ok()) << refused.status();
    EXPECT_EQ(*refused, 0) << out_.str();
  }
}

using CudaCompileRefusalTest = CudaCompileTest;

TEST_F(CudaCompileRefusalTest, NamesAnArchitectureThatIsNone) {
  const absl::Status status = Run("sm_12").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("does not compile for sm_12"));
}

TEST_F(CudaCompileRefusalTest, NamesAKernelThatHasNoCudaSource) {
  options_.kernel_dir = WAVETUNE_SOURCE_DIR "/kernels/gemm_f32";
  const absl::Status status = Run("sm_90a").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no device runs kernel \"gemm_f32\""));
}

TEST_F(CudaCompileRefusalTest, CountsWhatDoesNotCompile) {
  options_.kernel_dir = WAVETUNE_SOURCE_DIR "/tests/data/kernels/cuda_faults";
  options_.all = true;
  const absl::StatusOr<int> refused = Run("sm_80");
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(*refused, 8);  // One in five of 40.
  EXPECT_THAT(out_.str(), HasSubstr("broken on purpose"));
  EXPECT_THAT(out_.str(),
              HasSubstr("32 of 40 candidates compiled for sm_80\n40 "
                        "configurations are not meant for sm_80: "));
}

}  // namespace
}  // namespace wavetune
