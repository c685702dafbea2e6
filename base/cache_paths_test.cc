#include "base/cache_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace wavetune {
namespace {

using ::testing::HasSubstr;

class CachePathsTest : public ::testing::Test {
 protected:
  CachePathsTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    around_.private_dir = folder_ + "/private";
  }
  ~CachePathsTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = "/tmp/wavetune-cache-paths-XXXXXX";
  CacheSurroundings around_;
};

TEST_F(CachePathsTest, TakesWhatIsSaidAndElseTheHome) {
  around_.home = folder_;
  CacheDir cache = DefaultCache(around_);
  EXPECT_EQ(cache.path, folder_ + "/.cache/wavetune");
  EXPECT_EQ(cache.problem, "");
  around_.xdg_cache_home = "/c";
  cache = DefaultCache(around_);
  EXPECT_EQ(cache.path, "/c/wavetune");
  EXPECT_EQ(cache.problem, "");
}

TEST_F(CachePathsTest, AUserWithoutAHomeGetsAPrivateFolderAndIsTold) {
  for (const std::string& home :
       {std::string(), std::string("/"), folder_ + "/missing"}) {
    around_.home = home;
    const CacheDir cache = DefaultCache(around_);
    EXPECT_EQ(cache.path, folder_ + "/private") << home;
    EXPECT_THAT(cache.problem, HasSubstr("HOME")) << home;
    struct stat info {};
    ASSERT_EQ(stat(cache.path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0700U);
  }
}

TEST_F(CachePathsTest, AChosenFolderThatCannotBeWrittenIsReplacedWithAWord) {
  EXPECT_EQ(UsableCache(folder_ + "/chosen/deep", around_).path,
            folder_ + "/chosen/deep");
  const CacheDir cache = UsableCache("/proc/wavetune", around_);
  EXPECT_EQ(cache.path, folder_ + "/private");
  EXPECT_THAT(cache.problem, HasSubstr("/proc/wavetune"));
}

TEST_F(CachePathsTest, AFolderThatOthersCanWriteIsNoCache) {
  std::filesystem::create_directory(around_.private_dir);
  ASSERT_EQ(chmod(around_.private_dir.c_str(), 0777), 0);
  const CacheDir cache = DefaultCache(around_);
  EXPECT_EQ(cache.path, "");
  EXPECT_THAT(cache.problem, HasSubstr("there is no cache"));
}

}  // namespace
}  // namespace wavetune
