#include "server/rpc/store_admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fake_clock.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Tells two lines, then waits until it may go on, or is stopped.
class HeldMaintenance : public StoreMaintenance {
 public:
  absl::StatusOr<Result> Check(const Control& control) override {
    return Work(control, "checked");
  }
  absl::StatusOr<Result> BackUp(const std::string& folder,
                                const Control& control) override {
    return Work(control, "copied to " + folder);
  }
  absl::StatusOr<Result> Compact(const Control&) override {
    return absl::ResourceExhaustedError("the disk is full");
  }
  void Release() {
    std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  absl::StatusOr<Result> Work(const Control& control, std::string line) {
    control.Tell("begins");
    control.Tell("goes on");
    std::unique_lock lock(mutex_);
    while (!released_ && !control.stopped()) {
      changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
    if (control.stopped()) return absl::CancelledError("ended");
    return Result{.lines = {std::move(line)}, .faults = 2, .size_bytes = 7};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;
};

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
  HeldMaintenance maintenance_;
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
