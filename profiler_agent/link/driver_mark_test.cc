#include "profiler_agent/link/driver_mark.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class DriverMarkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string root = ::testing::TempDir() + "driver_mark_XXXXXX";
    ASSERT_NE(mkdtemp(root.data()), nullptr);
    places_ = {.root = root, .library_folders = {"/lib", "/opt/lib"}};
  }
  void TearDown() override { fs::remove_all(places_.root); }

  void Write(const std::string& path, const std::string& text) const {
    const fs::path file = places_.root + path;
    fs::create_directories(file.parent_path());
    // As a package manager does: another file in its place.
    fs::remove(file);
    std::ofstream(file) << text;
  }
  void Link(const std::string& path, const std::string& to) const {
    const fs::path link = places_.root + path;
    fs::remove(link);
    fs::create_symlink(to, link);
  }
  std::string Mark() const { return DriverMark(places_); }

  DriverPlaces places_;
};

TEST_F(DriverMarkTest, AMachineWithoutDriversHasAnEmptyMark) {
  EXPECT_EQ(Mark(), "");
}

TEST_F(DriverMarkTest, AnotherVersionOfTheModuleIsAnotherMark) {
  Write("/proc/driver/nvidia/version", "NVRM version: 580.159.04\n");
  Write("/sys/module/nvidia/version", "580.159.04\n");
  const std::string before = Mark();
  EXPECT_THAT(before, HasSubstr("NVRM version: 580.159.04"));
  EXPECT_EQ(Mark(), before);
  Write("/sys/module/nvidia/version", "590.12\n");
  EXPECT_NE(Mark(), before);
  fs::remove_all(places_.root + "/proc");
  EXPECT_NE(Mark(), before);
}

// A driver that finds no GPU is no error: its module comes first.
TEST_F(DriverMarkTest, AGpuThatComesAfterItsDriverIsAnotherMark) {
  Write("/proc/driver/nvidia/version", "NVRM version: 580.159.04\n");
  const std::string before = Mark();
  fs::create_directories(places_.root +
                         "/proc/driver/nvidia/gpus/0000:19:00.0");
  const std::string driven = Mark();
  EXPECT_NE(driven, before);
  Write("/dev/nvidiactl", "");
  Write("/dev/nvidia-modeset", "");
  EXPECT_EQ(Mark(), driven);
  Write("/dev/nvidia0", "");
  EXPECT_NE(Mark(), driven);
}

// A link with the name that is loaded leads to the library of each version.
TEST_F(DriverMarkTest, AnotherLibraryBehindALinkIsAnotherMark) {
  Write("/lib/libcuda.so.580", "old");
  Write("/lib/libcuda.so.590", "new driver");
  Link("/lib/libcuda.so.1", "libcuda.so.580");
  const std::string before = Mark();
  Link("/lib/libcuda.so.1", "libcuda.so.590");
  const std::string after = Mark();
  EXPECT_NE(after, before);
  Write("/opt/lib/libnvidia-ml.so.1", "x");
  EXPECT_NE(Mark(), after);
}

TEST_F(DriverMarkTest, OpenClVendorsCountAndTheLibrariesThatTheyName) {
  Write("/etc/OpenCL/vendors/pocl.icd", "libpocl.so.2.10.0");
  Write("/opt/lib/libpocl.so.2.10.0", "3.1");
  const std::string before = Mark();
  EXPECT_THAT(before, HasSubstr("/opt/lib/libpocl.so.2.10.0: "));
  Write("/etc/OpenCL/vendors/README", "no vendor");
  EXPECT_EQ(Mark(), before);
  Write("/opt/lib/libpocl.so.2.10.0", "another build of it");
  const std::string rebuilt = Mark();
  EXPECT_NE(rebuilt, before);
  Write("/etc/OpenCL/vendors/other.icd", "/opt/other/libOther.so");
  Write("/opt/other/libOther.so", "1");
  EXPECT_THAT(Mark(), HasSubstr("/opt/other/libOther.so: "));
}

TEST_F(DriverMarkTest, WhatIsInjectedCounts) {
  places_.files = {"/injected.conf"};
  EXPECT_EQ(Mark(), "");
  Write("/injected.conf", "driver = 1\n");
  const std::string before = Mark();
  Write("/injected.conf", "driver = 22\n");
  EXPECT_NE(Mark(), before);
}

TEST(DriverPlacesTest, LooksWhereThisProcessLoadsFrom) {
  setenv("LD_LIBRARY_PATH", "/opt/driver/lib::relative", 1);
  setenv("OCL_ICD_VENDORS", "/opt/vendors", 1);
  const DriverPlaces places = DriverPlaces::OfThisProcess();
  unsetenv("LD_LIBRARY_PATH");
  unsetenv("OCL_ICD_VENDORS");
  EXPECT_EQ(places.library_folders.front(), "/opt/driver/lib");
  EXPECT_THAT(places.library_folders, Contains("/usr/lib/x86_64-linux-gnu"));
  EXPECT_THAT(places.library_folders, Not(Contains("relative")));
  EXPECT_EQ(places.opencl_vendors, "/opt/vendors");
  EXPECT_EQ(DriverPlaces::OfThisProcess().opencl_vendors,
            "/etc/OpenCL/vendors");
}

}  // namespace
}  // namespace wavetune
