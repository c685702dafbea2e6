#include "profiler_agent/commands/compile_command.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class CompileCommandTest : public ::testing::Test {
 protected:
  CompileCommandTest() {
    options_.devices.program = WAVETUNE_BIN_DIR "/wavetune-agent";
    options_.devices.backends = {"opencl"};
    options_.kernel_dir = WAVETUNE_SOURCE_DIR "/kernels/gemm_f32";
    options_.sample = 1;
  }

  absl::StatusOr<int> Run() { return RunCompileCommand(options_, out_); }

  CompileCommandOptions options_;
  std::ostringstream out_;
};

TEST_F(CompileCommandTest, CompilesAndChecksTheDefault) {
  const absl::StatusOr<int> refused = Run();
  if (absl::IsUnavailable(refused.status()))
    GTEST_SKIP() << refused.status().message();
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(*refused, 0);
  EXPECT_THAT(out_.str(), HasSubstr("ok       BLOCK_M="));
  EXPECT_THAT(out_.str(), HasSubstr("1 of 1 candidates"));
  EXPECT_THAT(out_.str(), HasSubstr("checked at the declared m=1 n=3 k=5; "));
  EXPECT_THAT(out_.str(), HasSubstr("checked at the edges m=1 n=1 k=1; "));
}

TEST_F(CompileCommandTest, ChecksAKernelThatNamesNoCorrectnessProblems) {
  namespace fs = std::filesystem;
  std::string folder = ::testing::TempDir() + "unchecked_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  fs::copy(WAVETUNE_SOURCE_DIR "/tests/data/kernels/wrong_result", folder);
  std::stringstream manifest;
  manifest << std::ifstream(folder + "/manifest.textproto").rdbuf();
  std::string text = manifest.str();
  const size_t begin = text.find("correctness_problems");
  ASSERT_NE(begin, std::string::npos);
  text.resize(begin);  // The last field.
  std::ofstream(folder + "/manifest.textproto") << text;

  options_.kernel_dir = folder;
  options_.all = true;
  const absl::StatusOr<int> refused = Run();
  fs::remove_all(folder);
  if (absl::IsUnavailable(refused.status()))
    GTEST_SKIP() << refused.status().message();
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_GT(*refused, 0);
  EXPECT_THAT(out_.str(), HasSubstr("wrong result"));
}

// With a stride of 2 no candidate has 16 filters.
TEST_F(CompileCommandTest, NamesWhatTheSampleOfASpecialisationLeavesOut) {
  namespace fs = std::filesystem;
  std::string folder = ::testing::TempDir() + "strides_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  fs::copy(WAVETUNE_SOURCE_DIR "/tests/kernels/conv2d", folder);
  std::ofstream(folder + "/manifest.textproto", std::ios::app)
      << "require: \"STRIDE * BLOCK_F <= 16\"\n";
  options_.kernel_dir = folder;
  const absl::StatusOr<int> refused = Run();
  fs::remove_all(folder);
  if (absl::IsUnavailable(refused.status()))
    GTEST_SKIP() << refused.status().message();
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(*refused, 0) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("BLOCK_F=16 [stride1]"));
  EXPECT_THAT(out_.str(), HasSubstr("BLOCK_F=4 [stride2]"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("BLOCK_F=16 [stride2]")));
}

TEST_F(CompileCommandTest, FindsATailThatNoDeclaredProblemHas) {
  options_.kernel_dir = WAVETUNE_SOURCE_DIR "/tests/data/kernels/no_tail";
  options_.all = true;
  const absl::StatusOr<int> refused = Run();
  if (absl::IsUnavailable(refused.status()))
    GTEST_SKIP() << refused.status().message();
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(*refused, 4);  // Those with BREAK=1.
}

TEST_F(CompileCommandTest, GuardPagesFindAStrayReadThatChangesNothing) {
  options_.kernel_dir = WAVETUNE_SOURCE_DIR "/tests/data/kernels/check_faults";
  options_.all = true;
  options_.guard_pages = true;
  const absl::StatusOr<int> refused = Run();
  if (absl::IsUnavailable(refused.status()))
    GTEST_SKIP() << refused.status().message();
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(*refused, 11);
  EXPECT_THAT(out_.str(), HasSubstr("ok       BLOCK_M=4 BLOCK_N=16 BLOCK_K=16 "
                                    "FAULT=0 "));
  EXPECT_THAT(out_.str(),
              ContainsRegex("FAULT=10: crashed: .*SIGSEGV; it last said: the "
                            "kernel reads .* past the end of input 'a'"));
  EXPECT_THAT(out_.str(),
              ContainsRegex("FAULT=4: crashed: .*the kernel writes .* past the "
                            "end of output 'c'"));
  EXPECT_THAT(out_.str(),
              ContainsRegex("FAULT=11: crashed: .*the kernel reads .* before "
                            "the beginning of input 'b'"));
}

// Without guard pages, too: its worker dies of it.
TEST_F(CompileCommandTest, AVectorThatIsReadAcrossAnInputsEndIsRefused) {
  options_.kernel_dir = WAVETUNE_SOURCE_DIR "/tests/data/kernels/softmax";
  options_.all = true;
  const absl::StatusOr<int> refused = Run();
  if (absl::IsUnavailable(refused.status()))
    GTEST_SKIP() << refused.status().message();
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(*refused, 4) << out_.str();
  EXPECT_THAT(out_.str(), Not(ContainsRegex("FAULT=0: "))) << out_.str();
  EXPECT_THAT(out_.str(),
              ContainsRegex("FAULT=1: wrong result: .*on floats from -128"));
  EXPECT_THAT(out_.str(),
              ContainsRegex("FAULT=2: crashed: .*SIGSEGV; it last said: the "
                            "kernel reads .* past the end of input 'x'"));
}

// In-out buffers, workspaces, index buffers, grids of two sides: at the edges
// of each candidate's tiles, between guard pages.
TEST_F(CompileCommandTest, GuardPagesAreForEveryKindOfBuffer) {
  const std::pair<const char*, int> kernels[] = {
      {"add_scaled", 6}, {"split_sum", 6}, {"gather", 2}, {"tiles_2d", 2}};
  for (const auto& [kernel, faulty] : kernels) {
    options_.kernel_dir =
        absl::StrCat(WAVETUNE_SOURCE_DIR "/tests/data/kernels/", kernel);
    options_.all = true;
    options_.guard_pages = true;
    const absl::StatusOr<int> refused = Run();
    if (absl::IsUnavailable(refused.status()))
      GTEST_SKIP() << refused.status().message();
    ASSERT_TRUE(refused.ok()) << refused.status();
    EXPECT_EQ(*refused, faulty) << kernel << "\n" << out_.str();
    EXPECT_THAT(out_.str(), Not(ContainsRegex("FAULT=0: "))) << kernel;
  }
}

TEST_F(CompileCommandTest, NamesTheDevicesThereAreWhenOneIsUnknown) {
  options_.device_uuid = "nope";
  const absl::Status status = Run().status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("this machine has"));
}

TEST_F(CompileCommandTest, RefusesAFolderWithoutAManifest) {
  options_.kernel_dir = WAVETUNE_SOURCE_DIR "/cmake";
  EXPECT_FALSE(Run().ok());
}

}  // namespace
}  // namespace wavetune
