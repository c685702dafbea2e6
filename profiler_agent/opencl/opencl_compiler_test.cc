#include "profiler_agent/opencl/opencl_compiler.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_agent/opencl/opencl_backend.h"
#include "profiler_agent/opencl/opencl_facts.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const char kSource[] = "__kernel void f(__global int* x) { x[0] = VALUE; }";

class OpenClCompilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "opencl_compiler_XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    const OpenClBackend with_cache(::testing::TempDir() +
                                   "opencl_compiler_test");
    const OpenClDeviceList list = ListOpenClDevices();
    if (list.entries.empty()) GTEST_SKIP() << list.note;
    entry_ = list.entries.front();
    context_ = OpenClContext(
        clCreateContext(nullptr, 1, &entry_.id, nullptr, nullptr, nullptr));
    session_ = {.device = entry_.id, .context = context_.get()};
  }
  void TearDown() override { fs::remove_all(directory_); }

  absl::StatusOr<CompiledKernel> Build(const std::string& options,
                                       const std::string& entry = "f") {
    OpenClCompiler compiler(session_, entry_.facts, directory_);
    absl::StatusOr<CompiledKernel> compiled =
        compiler.Build(kSource, options, entry);
    if (compiled.ok()) compiler.Publish(*compiled);
    return compiled;
  }

  std::vector<fs::path> Programs() const {
    std::vector<fs::path> paths;
    std::error_code ignored;
    for (const auto& entry :
         fs::directory_iterator(directory_ + "/programs", ignored)) {
      paths.push_back(entry.path());
    }
    return paths;
  }

  std::string directory_;
  OpenClDeviceEntry entry_;
  OpenClContext context_;
  OpenClSession session_;
};

TEST_F(OpenClCompilerTest, TakesAProgramFromDiskTheSecondTime) {
  ASSERT_FALSE(Build("-DVALUE=1")->from_disk);
  EXPECT_EQ(Programs().size(), 1u);
  const absl::StatusOr<CompiledKernel> again = Build("-DVALUE=1");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->from_disk);
  EXPECT_FALSE(Build("-DVALUE=2")->from_disk);
  EXPECT_EQ(Programs().size(), 2u);
}

TEST_F(OpenClCompilerTest, AnotherDriverTakesNothingFromDisk) {
  ASSERT_TRUE(Build("-DVALUE=1").ok());
  entry_.facts.driver += " upgraded";
  EXPECT_FALSE(Build("-DVALUE=1")->from_disk);
}

TEST_F(OpenClCompilerTest, BuildsADamagedEntryAgain) {
  ASSERT_TRUE(Build("-DVALUE=1").ok());
  std::fstream(Programs()[0], std::ios::in | std::ios::out | std::ios::binary)
      .write("damage", 6);
  const absl::StatusOr<CompiledKernel> again = Build("-DVALUE=1");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->from_disk);
  EXPECT_TRUE(Build("-DVALUE=1")->from_disk);
}

TEST_F(OpenClCompilerTest, BuildsAnEntryAgainThatTheDriverRefuses) {
  const std::string key = Build("-DVALUE=1")->key;
  ASSERT_TRUE(
      ProgramCache(directory_ + "/programs").Store(key, "no binary").ok());
  const absl::StatusOr<CompiledKernel> again = Build("-DVALUE=1");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->from_disk);
}

TEST_F(OpenClCompilerTest, LeavesItToADriverThatKeepsProgramsItself) {
  session_.driver_keeps_programs = true;
  ASSERT_TRUE(Build("-DVALUE=1").ok());
  EXPECT_TRUE(Programs().empty());
}

TEST_F(OpenClCompilerTest, NamesAnEntryThatIsNotThere) {
  const absl::Status status = Build("-DVALUE=1", "g").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("'g'"));
}

}  // namespace
}  // namespace wavetune
