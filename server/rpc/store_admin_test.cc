#include "server/rpc/store_admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "server/store/fake_store_maintenance.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What a caller heard.
class Heard {
 public:
  StoreAdmin::Sink Sink() {
    return {.progress =
                [this](v1::StoreProgress progress) {
                  std::lock_guard lock(mutex_);
                  progress_.push_back(std::move(progress));
                },
            .end =
                [this](const absl::Status& status) {
                  std::lock_guard lock(mutex_);
                  end_ = status;
                  changed_.notify_all();
                }};
  }
  absl::Status WaitForEnd() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return end_.has_value(); });
    return *end_;
  }
  std::vector<v1::StoreProgress> progress() {
    std::lock_guard lock(mutex_);
    return progress_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::StoreProgress> progress_;
  std::optional<absl::Status> end_;
};

class StoreAdminTest : public ::testing::Test {
 protected:
  FakeStoreMaintenance maintenance_;
  FakeClock clock_;
  std::vector<std::string> logged_;
  StoreAdmin admin_{
      {.maintenance = &maintenance_,
       .backup_folder = "/backups",
       .clock = &clock_,
       .log = [this](const std::string& text) { logged_.push_back(text); }}};
};

TEST_F(StoreAdminTest, TellsProgressSeldomAndTheResultOnce) {
  Heard heard;
  ASSERT_TRUE(
      admin_.Start(StoreAdmin::Work::kBackUp, "1000", heard.Sink()).ok());
  maintenance_.Release();
  EXPECT_TRUE(heard.WaitForEnd().ok());
  const std::vector<v1::StoreProgress> progress = heard.progress();
  // The second line came in the same moment.
  ASSERT_THAT(progress, SizeIs(2));
  EXPECT_THAT(progress[0].lines(), ElementsAre("begins"));
  EXPECT_FALSE(progress[0].done());
  EXPECT_THAT(progress[1].lines(), ElementsAre("copied to /backups"));
  EXPECT_TRUE(progress[1].done());
  EXPECT_EQ(progress[1].faults(), 2);
  EXPECT_EQ(progress[1].bytes(), 7);
  EXPECT_THAT(logged_, ElementsAre(HasSubstr("the backup of the store that "
                                             "user 1000 asked for")));
}

TEST_F(StoreAdminTest, DoesOneThingAtATime) {
  Heard first;
  ASSERT_TRUE(
      admin_.Start(StoreAdmin::Work::kCheck, "1000", first.Sink()).ok());
  Heard second;
  const absl::Status status =
      admin_.Start(StoreAdmin::Work::kCompact, "0", second.Sink());
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("a check that user 1000 asked for is running"));
  EXPECT_THAT(second.progress(), IsEmpty());
  maintenance_.Release();
  EXPECT_TRUE(first.WaitForEnd().ok());
  ASSERT_TRUE(
      admin_.Start(StoreAdmin::Work::kCompact, "0", second.Sink()).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(second.WaitForEnd()));
  EXPECT_THAT(second.progress(), IsEmpty());
}

TEST_F(StoreAdminTest, StopEndsWhatRunsAndLetsNothingStart) {
  Heard heard;
  ASSERT_TRUE(
      admin_.Start(StoreAdmin::Work::kCheck, "1000", heard.Sink()).ok());
  admin_.Stop();
  EXPECT_TRUE(absl::IsCancelled(heard.WaitForEnd()));
  EXPECT_FALSE(admin_.Start(StoreAdmin::Work::kCheck, "0", heard.Sink()).ok());
}

TEST_F(StoreAdminTest, ABackupNeedsAFolderOfTheDaemons) {
  StoreAdmin without({.maintenance = &maintenance_,
                      .clock = &clock_,
                      .log = [](const std::string&) {}});
  Heard heard;
  const absl::Status status =
      without.Start(StoreAdmin::Work::kBackUp, "0", heard.Sink());
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("--backup-dir"));
}

}  // namespace
}  // namespace wavetune
