#include "server/store/rocksdb_store_mount.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class StoreMountTest : public ::testing::Test {
 protected:
  StoreMountTest() {
    std::filesystem::create_directories(folder_ + "/disk 1");
    folder_ = std::filesystem::canonical(folder_);
    facts_.mount_info = MountInfo("/");
  }
  ~StoreMountTest() override { std::filesystem::remove_all(folder_); }

  static std::string MountInfo(const std::string& point) {
    return absl::StrCat("29 1 254:0 / ", point,
                        " rw,relatime shared:1 - ext4 /dev/vda rw\n");
  }
  void Mount(const std::string& point) {
    absl::StrAppend(&facts_.mount_info, MountInfo(point));
  }
  std::string Error(const std::string& path) const {
    const absl::Status status = CheckMounted(path, facts_);
    if (!status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    }
    return std::string(status.message());
  }

  std::string folder_ = ::testing::TempDir() + "store_mount_test";
  MountFacts facts_;
};

TEST_F(StoreMountTest, AFolderThatIsNoDisksIsANewStore) {
  facts_.fstab =
      "/dev/vda / ext4 defaults 0 1\n# /dev/vdb /data\n"
      "UUID=1 none swap sw 0 0\n/dev/vdc /srv ext4 nofail 0 2\n";
  EXPECT_EQ(Error(folder_ + "/disk 1/store"), "");
}

TEST_F(StoreMountTest, BelowAMountPointOfFstabThatIsNotMountedThereIsNone) {
  facts_.fstab =
      absl::StrCat("UUID=1\t", folder_, "/disk\\0401 xfs nofail 0 2\n");
  for (const char* const store : {"/disk 1", "/disk 1/store", "/disk 1/a/b/"}) {
    EXPECT_THAT(Error(folder_ + store),
                AllOf(HasSubstr(folder_ + "/disk 1, which /etc/fstab names, is "
                                          "not mounted: mount it")));
  }
  EXPECT_EQ(Error(folder_ + "/disk 12"), "");
  Mount(folder_ + "/disk\\0401");
  EXPECT_EQ(Error(folder_ + "/disk 1/store"), "");
}

TEST_F(StoreMountTest, AStoreThatWasOnADiskOfItsOwnIsMissedWithoutIt) {
  const std::string store = folder_ + "/store";
  const MountFacts without = facts_;
  Mount(store);
  RememberMount(store, facts_);
  EXPECT_EQ(Error(store), "");  // Another disk, or a new one.
  facts_ = without;
  EXPECT_THAT(Error(store),
              AllOf(HasSubstr("was mounted there: mount it"),
                    HasSubstr("remove " + folder_ + "/.store.mounted")));
  // One that is opened without a disk needs none.
  RememberMount(store, facts_);
  EXPECT_EQ(Error(store), "");
}

TEST_F(StoreMountTest, WhereMountsAreNotKnownNothingIsRefused) {
  facts_ = {.fstab = absl::StrCat("UUID=1 ", folder_, " xfs defaults 0 2\n")};
  EXPECT_EQ(Error(folder_ + "/store"), "");
}

}  // namespace
}  // namespace wavetune
