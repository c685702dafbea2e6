#include "profiler_agent/measure/program_trim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>

#include "gtest/gtest.h"
#include "profiler_agent/measure/program_cache.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNowUs = 1'700'000'000'000'000;

class ProgramTrimTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "program_trim_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A file of some KiB that was written so many hours ago.
  void Write(const std::string& name, int kib, int hours_ago) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << std::string(static_cast<size_t>(kib) << 10, 'x');
    const timespec then = {.tv_sec =
                               kNowUs / 1'000'000 - int64_t{hours_ago} * 3600};
    const timespec times[] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  bool Has(const std::string& name) const { return fs::exists(folder_ / name); }
  TrimmedPrograms Trim(int64_t kib) const {
    return TrimPrograms(folder_.string(), kib << 10, kNowUs);
  }

  fs::path folder_;
};

TEST_F(ProgramTrimTest, BelowTheLimitNothingGoes) {
  Write("a.program", 64, 100);
  const TrimmedPrograms trimmed = Trim(64);
  EXPECT_EQ(trimmed.bytes, 64 << 10);
  EXPECT_EQ(trimmed.removed, 0);
  EXPECT_TRUE(Has("a.program"));
}

TEST_F(ProgramTrimTest, WhatWasUsedLongestAgoGoesFirst) {
  Write("opencl/new.program", 64, 10);
  Write("oldest.program", 64, 30);
  Write("old.program", 64, 20);
  const TrimmedPrograms trimmed = Trim(130);
  EXPECT_EQ(trimmed.removed, 1);
  EXPECT_EQ(trimmed.removed_bytes, 64 << 10);
  EXPECT_FALSE(Has("oldest.program"));
  EXPECT_TRUE(Has("old.program"));
  EXPECT_TRUE(Has("opencl/new.program"));
}

TEST_F(ProgramTrimTest, WhatIsInUseStaysHoweverMuchItIs) {
  Write("a.program", 64, 5);
  Write("b.program", 64, 0);
  EXPECT_EQ(Trim(0).removed, 0);
}

// Half of one would be no program.
TEST_F(ProgramTrimTest, AProgramOfPoclGoesAsAWhole) {
  Write("pocl/AB/CDEF/program.bc", 64, 1000);
  Write("pocl/AB/CDEF/kernel/16-1-1/kernel.so", 64, 1000);
  Write("pocl/AB/CDEF/last_accessed", 0, 20);
  Write("pocl/AB/GHIJ/program.bc", 64, 1000);
  Write("pocl/AB/GHIJ/last_accessed", 0, 10);
  Write("a.program", 64, 15);
  TrimmedPrograms trimmed = Trim(150);
  EXPECT_EQ(trimmed.removed, 1);
  EXPECT_FALSE(Has("pocl/AB/CDEF"));
  EXPECT_TRUE(Has("pocl/AB/GHIJ/program.bc"));
  EXPECT_TRUE(Has("a.program"));
  trimmed = Trim(0);
  EXPECT_EQ(trimmed.removed, 2);
  EXPECT_FALSE(Has("pocl/AB/GHIJ"));
}

TEST_F(ProgramTrimTest, NothingElseIsTouched) {
  Write("tables/gemm.table", 64, 1000);
  Write("pocl/uuid", 64, 1000);
  Write("precious/data", 64, 1000);
  fs::create_symlink(folder_ / "precious/data", folder_ / "link.program");
  fs::create_directory_symlink(folder_ / "precious", folder_ / "pocl/link");
  EXPECT_EQ(Trim(0).removed, 0);
  EXPECT_TRUE(Has("tables/gemm.table"));
  EXPECT_TRUE(Has("pocl/uuid"));
  EXPECT_TRUE(Has("precious/data"));
}

TEST_F(ProgramTrimTest, AStopEndsIt) {
  Write("a.program", 64, 100);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(TrimPrograms(folder_.string(), 0, kNowUs, stop.get_token()).removed,
            0);
}

TEST_F(ProgramTrimTest, AMissingFolderIsEmpty) {
  EXPECT_EQ(TrimPrograms("/no/such/folder", 0, kNowUs).bytes, 0);
}

TEST_F(ProgramTrimTest, AFoundProgramCountsAsUsed) {
  const ProgramCache cache(folder_.string());
  const std::string key = ProgramCache::Key({"source"});
  ASSERT_TRUE(cache.Store(key, "program").ok());
  const fs::path file = fs::directory_iterator(folder_)->path();
  const fs::file_time_type long_ago =
      fs::file_time_type::clock::now() - std::chrono::hours(100);
  fs::last_write_time(file, long_ago);
  ASSERT_TRUE(cache.Find(key).has_value());
  const fs::file_time_type used = fs::last_write_time(file);
  EXPECT_GT(used, long_ago + std::chrono::hours(99));
  // Not with each use: an hour more or less is not worth a write.
  ASSERT_TRUE(cache.Find(key).has_value());
  EXPECT_EQ(fs::last_write_time(file), used);
}

}  // namespace
}  // namespace wavetune
