#include "profiler_agent/measure/program_cache.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

class ProgramCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "program_cache_XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(directory_); }

  fs::path OnlyFile() const {
    return fs::directory_iterator(directory_)->path();
  }

  std::string directory_;
  std::string key_ = ProgramCache::Key({"source", "options"});
};

TEST_F(ProgramCacheTest, FindsWhatWasStored) {
  const ProgramCache cache(directory_);
  EXPECT_FALSE(cache.Find(key_).has_value());
  const std::string program("bin\0ary\n", 8);
  ASSERT_TRUE(cache.Store(key_, program).ok());
  EXPECT_EQ(ProgramCache(directory_).Find(key_), program);
  cache.Remove(key_);
  EXPECT_FALSE(cache.Find(key_).has_value());
}

TEST_F(ProgramCacheTest, KeysTellPartsApart) {
  EXPECT_NE(ProgramCache::Key({"ab", "c"}), ProgramCache::Key({"a", "bc"}));
  EXPECT_NE(ProgramCache::Key({"a"}), ProgramCache::Key({"a", ""}));
}

// Would hang where the pipe were waited for.
TEST_F(ProgramCacheTest, APipeInPlaceOfAnEntryIsAMiss) {
  const ProgramCache cache(directory_);
  ASSERT_TRUE(cache.Store(key_, "program").ok());
  const fs::path file = OnlyFile();
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(cache.Find(key_).has_value());
}

TEST_F(ProgramCacheTest, ADamagedEntryIsAMissAndIsRemoved) {
  const ProgramCache cache(directory_);
  ASSERT_TRUE(cache.Store(key_, "program").ok());
  std::fstream(OnlyFile(), std::ios::in | std::ios::out | std::ios::binary)
      .seekp(66)
      .write("X", 1);
  EXPECT_FALSE(cache.Find(key_).has_value());
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(ProgramCacheTest, AnEntryCutShortIsAMiss) {
  const ProgramCache cache(directory_);
  ASSERT_TRUE(cache.Store(key_, "program").ok());
  for (const uintmax_t size : {70u, 64u, 10u, 0u}) {
    ASSERT_TRUE(cache.Store(key_, "program").ok());
    fs::resize_file(OnlyFile(), size);
    EXPECT_FALSE(cache.Find(key_).has_value()) << size;
  }
}

TEST_F(ProgramCacheTest, LeavesNoTemporaryFiles) {
  const ProgramCache cache(directory_);
  ASSERT_TRUE(cache.Store(key_, "one").ok());
  ASSERT_TRUE(cache.Store(key_, "two").ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1);
  EXPECT_EQ(cache.Find(key_), "two");
}

TEST_F(ProgramCacheTest, AnUnwritableFolderIsAnErrorThatNamesIt) {
  std::ofstream(directory_ + "/file") << "in the way";
  const ProgramCache cache(directory_ + "/file");
  EXPECT_EQ(cache.Store(key_, "program").code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(cache.Find(key_).has_value());
}

TEST(ProgramCacheWithoutFolderTest, KeepsNothing) {
  const ProgramCache cache("");
  EXPECT_TRUE(cache.Store("key", "program").ok());
  EXPECT_FALSE(cache.Find("key").has_value());
}

}  // namespace
}  // namespace wavetune
