// wavetune reprofile on a fake daemon.
#include <cstdint>
#include <string>

#include "cli/commands/daemon_command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ReprofileCommandTest : public DaemonCommandFixture {};

TEST_F(ReprofileCommandTest, WaitingSaysOnceWhatFor) {
  v1::JobInfo waiting = Job(5, v1::RUNNING);
  waiting.set_phase(v1::WAITING);
  waiting.set_message("waiting: GPU-1 is used by 2 other processes");
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {waiting, waiting, Job(5, v1::SUCCEEDED)};
  EXPECT_EQ(Run({"reprofile", "--wait"}), kExitOk);
  const std::string text = err_.str();
  const size_t first = text.find("job 5: waiting: GPU-1 is used by 2 other");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("GPU-1 is used", first + 40), std::string::npos) << text;
}

TEST_F(ReprofileCommandTest, EvenIfBusyIsPassedOn) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  EXPECT_EQ(Run({"reprofile", "--even-if-busy"}), kExitOk);
  EXPECT_TRUE(daemon_->reprofile_request.even_if_busy());
  EXPECT_EQ(Run({"reprofile"}), kExitOk);
  EXPECT_FALSE(daemon_->reprofile_request.even_if_busy());
}

TEST_F(ReprofileCommandTest, PromoteAlthoughWrongIsPassedOn) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  EXPECT_EQ(Run({"reprofile", "--promote-although-wrong"}), kExitOk);
  EXPECT_TRUE(daemon_->reprofile_request.promote_although_wrong());
  EXPECT_EQ(Run({"reprofile"}), kExitOk);
  EXPECT_FALSE(daemon_->reprofile_request.promote_although_wrong());
}

TEST_F(ReprofileCommandTest, ReprofileWaitShowsWhatTheFitHasToSay) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  v1::JobInfo ended = Job(5, v1::SUCCEEDED);
  ended.add_notes("the kernel's latency does not follow waves");
  daemon_->watched = {ended};
  EXPECT_EQ(Run({"reprofile", "--wait"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("note: the kernel's latency does not"));
}

TEST_F(ReprofileCommandTest, ReprofilePassesItsOptionsOn) {
  EXPECT_EQ(
      Run({"reprofile", "--kernel", "gemm_f32", "--device", "GPU-1", "--budget",
           "60", "--reason", "new driver", "--portfolio", "8"}),
      kExitOk);
  EXPECT_EQ(daemon_->reprofile_request.kernel(), "gemm_f32");
  EXPECT_EQ(daemon_->reprofile_request.device_uuid(), "GPU-1");
  EXPECT_EQ(daemon_->reprofile_request.budget_s(), 60);
  EXPECT_EQ(daemon_->reprofile_request.reason(), "new driver");
  EXPECT_EQ(daemon_->reprofile_request.portfolio_size(), 8);
}

TEST_F(ReprofileCommandTest, ReprofileSaysWhichJobsWereThereBefore) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->jobs[0].set_created_at_us(1);
  EXPECT_EQ(Run({"reprofile"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("queued (already there"));
  daemon_->jobs[0].set_created_at_us(INT64_MAX);
  EXPECT_EQ(Run({"reprofile"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("already there")));
}

TEST_F(ReprofileCommandTest, ReprofileWaitFollowsTheJobToItsEnd) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {Job(5, v1::RUNNING), Job(5, v1::SUCCEEDED)};
  EXPECT_EQ(Run({"reprofile", "--wait"}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("job 5 gemm_f32 sampling"));
  EXPECT_THAT(out_.str(), HasSubstr("succeeded"));
  EXPECT_EQ(Run({"reprofile", "--wait", "--json"}), kExitOk);
  EXPECT_EQ(Output()["jobs"][0]["state"], "SUCCEEDED");
}

TEST_F(ReprofileCommandTest, ReprofileWaitFailsWithTheJob) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {Job(5, v1::FAILED)};
  EXPECT_EQ(Run({"reprofile", "--wait"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("because"));
}

TEST_F(ReprofileCommandTest, AnInterruptDetachesAndSaysHowToCancel) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {Job(5, v1::RUNNING)};
  daemon_->watch_end = absl::CancelledError("");
  EXPECT_EQ(Run({"reprofile", "--wait"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("goes on"));
  EXPECT_THAT(err_.str(), HasSubstr("wavetune jobs cancel 5"));
  EXPECT_TRUE(daemon_->cancelled.empty());
}

TEST_F(ReprofileCommandTest, AStreamThatEndsEarlyIsNotSuccess) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {Job(5, v1::RUNNING)};
  EXPECT_EQ(Run({"reprofile", "--wait"}), kExitFailed);
}

}  // namespace
}  // namespace wavetune::cli
