#include "profiler_agent/cuda/triton/triton_installation.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_agent/cuda/triton/test_triton.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A Python whose path has one folder more: that of a package, if any.
class TritonInstallationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              absl::StrCat("installation.", getpid());
    fs::create_directories(folder_ / "triton");
    std::ofstream(folder_ / "python")
        << "#!/bin/sh\nPYTHONPATH=" << folder_.string()
        << " exec python3 -S \"$@\"\n";
    fs::permissions(folder_ / "python", fs::perms::owner_all);
  }
  void TearDown() override { fs::remove_all(folder_); }

  TritonInstallation Find() {
    return FindTriton((folder_ / "python").string());
  }

  fs::path folder_;
};

TEST_F(TritonInstallationTest, WithoutThePackageThereIsNoneAndNothingToSay) {
  fs::remove_all(folder_ / "triton");
  const TritonInstallation found = Find();
  EXPECT_EQ(found.version, "");
  EXPECT_EQ(found.note, "");
  EXPECT_EQ(TritonCompilerName(found, 90), "");
  EXPECT_THAT(found.python, HasSubstr("python3"));
}

TEST_F(TritonInstallationTest, AnOldOneIsNamedWithWhatHelps) {
  std::ofstream(folder_ / "triton" / "__init__.py")
      << "__version__ = '3.5.1'\nraise ImportError('is not imported')\n";
  const TritonInstallation found = Find();
  EXPECT_EQ(found.version, "");
  EXPECT_THAT(found.note, AllOf(HasSubstr("has Triton 3.5.1, which is too old"),
                                HasSubstr("-m pip install 'triton>=3.6'")));
}

TEST_F(TritonInstallationTest, ANewOneIsFoundWithoutImportingIt) {
  std::ofstream(folder_ / "triton" / "__init__.py")
      << "__version__ = '4.0.0'\nraise ImportError('is not imported')\n";
  EXPECT_EQ(Find().version, "4.0.0");
}

TEST_F(TritonInstallationTest, AnInterpreterThatIsNotThereIsNamed) {
  const TritonInstallation found = FindTriton("/no/such/python");
  EXPECT_EQ(found.version, "");
  EXPECT_EQ(found.python, "/no/such/python");
  EXPECT_THAT(found.note, AllOf(StartsWith("/no/such/python cannot be asked"),
                                HasSubstr("No such file")));
}

TEST_F(TritonInstallationTest, WhatIsNoPythonIsNamed) {
  EXPECT_THAT(FindTriton("true").note, HasSubstr("exited with code 0"));
}

TEST_F(TritonInstallationTest, ThePtxasOfBlackwellIsAnother) {
  const TritonInstallation found = {
      .version = "3.6.0", .ptxas = "12.8.93", .ptxas_blackwell = "12.9.86"};
  EXPECT_EQ(TritonCompilerName(found, 90), "Triton 3.6.0, ptxas 12.8.93");
  EXPECT_EQ(TritonCompilerName(found, 100), "Triton 3.6.0, ptxas 12.9.86");
}

TEST_F(TritonInstallationTest, TheOneOfTheTestsIsWhole) {
  if (TestTritonPython().empty()) GTEST_SKIP() << kNoTestTriton;
  DeviceFacts facts = {.architecture = "sm_90"};
  AddTriton(FindTriton(TestTritonPython()), facts);
  EXPECT_EQ(facts.triton, "Triton 3.6.0, ptxas 12.8.93");
  EXPECT_EQ(facts.python, TestTritonPython());
}

}  // namespace
}  // namespace wavetune
