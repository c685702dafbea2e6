// Exports with NVRTC; skipped where there is none. Needs no GPU.
#include "profiler_agent/commands/export_command.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/digest.h"
#include "formats/kernel_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launch/launch_file.h"
#include "model/table/table_codec.h"
#include "nlohmann/json.hpp"
#include "profiler_agent/cuda/cuda_compile_device.h"
#include "tests/lib/export_tables.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;
using testing::FavouringTable;
using testing::GemmConfigurations;
using ::testing::HasSubstr;

std::string Read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class ExportCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto compiler = CudaCompileDevice::Open("sm_90a", "", "python3");
    if (!compiler.ok()) GTEST_SKIP() << compiler.status().message();
    root_ = ::testing::TempDir() + "export_XXXXXX";
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
    const KernelFolder folder = LoadKernelFolder(options_.kernel_dir).value();
    // The portable one and the default compile fast.
    table_ = FavouringTable(
        folder.spec, folder.Fingerprint("cuda", (*compiler)->facts().compiler),
        {GemmConfigurations()[1], GemmConfigurations()[3]}, 0);
    options_.table_path = root_ + "/gemm.table";
    options_.out_dir = root_ + "/out";
    WriteTable();
  }
  void TearDown() override {
    if (!root_.empty()) fs::remove_all(root_);
  }

  void WriteTable() {
    std::ofstream(options_.table_path, std::ios::binary)
        << EncodeTable(table_).value();
  }
  absl::Status Run() {
    out_.str("");
    return RunExportCommand(options_, out_);
  }
  // Runs what must fail and leave nothing.
  std::string Refusal(absl::StatusCode code) {
    const absl::Status status = Run();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_FALSE(fs::exists(options_.out_dir));
    EXPECT_EQ(
        std::distance(fs::directory_iterator(root_), fs::directory_iterator()),
        1);
    return std::string(status.message());
  }

  ExportCommandOptions options_ = {
      .kernel_dir = WAVETUNE_SOURCE_DIR "/kernels/gemm_bf16", .threads = 2};
  std::string root_;
  Table table_;
  std::ostringstream out_;
};

TEST_F(ExportCommandTest, WritesMachineCodeAndHowToLaunchIt) {
  ASSERT_TRUE(Run().ok()) << Run();
  EXPECT_THAT(out_.str(),
              HasSubstr("3 configurations of gemm_bf16 for sm_90a"));
  const auto file = ParseLaunchFile(Read(options_.out_dir + "/launch.json"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->architecture, "sm_90a");
  EXPECT_EQ(file->table_digest, Sha256Hex(Read(options_.table_path)));
  EXPECT_EQ(file->fingerprint, table_.fingerprint);
  ASSERT_EQ(file->candidates.size(), 3u);
  for (const LaunchCandidate& candidate : file->candidates) {
    const std::string code = Read(options_.out_dir + "/" + candidate.cubin);
    EXPECT_EQ(code.substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_THAT(code, HasSubstr(".text.gemm_bf16"));
    EXPECT_EQ(Sha256Hex(code), candidate.sha256);
    EXPECT_EQ(static_cast<int64_t>(code.size()), candidate.size_bytes);
  }
  EXPECT_NE(file->candidates[0].sha256, file->candidates[1].sha256);
  // Replaced only when told to.
  EXPECT_EQ(Run().code(), absl::StatusCode::kAlreadyExists);
  options_.force = true;
  options_.json = true;
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(nlohmann::json::parse(out_.str())["candidates"].size(), 3u);
}

TEST_F(ExportCommandTest, RefusesATableOfOtherSourcesUnlessToldOtherwise) {
  table_.fingerprint = std::string(64, 'b');
  WriteTable();
  EXPECT_THAT(Refusal(absl::StatusCode::kFailedPrecondition),
              HasSubstr("--ignore-fingerprint"));
  options_.ignore_fingerprint = true;
  ASSERT_TRUE(Run().ok());
  const auto file = ParseLaunchFile(Read(options_.out_dir + "/launch.json"));
  EXPECT_EQ(file->table_fingerprint, table_.fingerprint);
  EXPECT_NE(file->fingerprint, table_.fingerprint);
}

TEST_F(ExportCommandTest, RefusesAnotherArchitectureThanTheTables) {
  options_.architecture = "sm_80";
  EXPECT_THAT(Refusal(absl::StatusCode::kInvalidArgument),
              HasSubstr("the table is for sm_90, not for sm_80"));
  options_.architecture = "quantum";
  EXPECT_THAT(Refusal(absl::StatusCode::kInvalidArgument),
              HasSubstr("no GPU architecture"));
}

TEST_F(ExportCommandTest, SaysThatTheCompilerDoesNotKnowTheArchitecture) {
  table_.silicon_key = "backend=cuda;arch=sm_999;mp=1;memory_mib=1;partition=";
  WriteTable();
  EXPECT_THAT(Refusal(absl::StatusCode::kUnavailable),
              HasSubstr("does not compile for sm_999"));
}

TEST_F(ExportCommandTest, WritesNothingWhereOneConfigurationDoesNotCompile) {
  const std::string copy = root_ + "/kernel";
  fs::copy(options_.kernel_dir, copy);
  std::ofstream(copy + "/portable.cuh", std::ios::app) << "\n#error broken\n";
  options_.kernel_dir = copy;
  options_.ignore_fingerprint = true;
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("broken"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("HOPPER=0"));
  EXPECT_FALSE(fs::exists(options_.out_dir));
}

TEST_F(ExportCommandTest, RefusesWhatIsNoTable) {
  std::ofstream(options_.table_path) << "not a table";
  EXPECT_EQ(Run().code(), absl::StatusCode::kInvalidArgument);
  fs::remove(options_.table_path);
  EXPECT_EQ(Run().code(), absl::StatusCode::kNotFound);
}

TEST_F(ExportCommandTest, SaysThatAKernelHasNoCuda) {
  options_.kernel_dir = WAVETUNE_SOURCE_DIR "/kernels/gemm_f32";
  EXPECT_THAT(Refusal(absl::StatusCode::kInvalidArgument), HasSubstr("opencl"));
}

}  // namespace
}  // namespace wavetune
