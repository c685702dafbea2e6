// wavetune reprofile on a fake daemon.
#include <cstdint>
#include <string>
#include <vector>

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
  EXPECT_EQ(Run({"reprofile", "--all", "--wait"}), kExitOk);
  const std::string text = err_.str();
  const size_t first = text.find("job 5: waiting: GPU-1 is used by 2 other");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("GPU-1 is used", first + 40), std::string::npos) << text;
}

TEST_F(ReprofileCommandTest, EveryKernelIsProfiledOnlyWhereSomebodySaysSo) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"reprofile"},
           {"reprofile", "--wait"},
           {"reprofile", "--drift"},
           {"reprofile", "--all", "--kernel", "gemm_f32"},
           {"reprofile", "--all", "--workload", "llama"}}) {
    EXPECT_EQ(Run(command), kExitUsage) << command.back();
    EXPECT_EQ(endpoint_, "") << "nobody was asked";
  }
  EXPECT_EQ(Run({"reprofile"}), kExitUsage);
  EXPECT_THAT(err_.str(),
              HasSubstr("--kernel NAME, --workload NAME, or --all for every "
                        "valid kernel\n  wavetune reprofile --dry-run says"));
  daemon_->jobs = {Job(5, v1::QUEUED), Job(6, v1::QUEUED)};
  EXPECT_EQ(Run({"reprofile", "--all"}), kExitOk);
  EXPECT_EQ(daemon_->reprofile_request.kernel(), "");
  EXPECT_THAT(out_.str(), HasSubstr("job 5 "));
  EXPECT_THAT(out_.str(), HasSubstr("job 6 "));
}

TEST_F(ReprofileCommandTest, QuietlyNoProgressIsShownAndNoHintGiven) {
  v1::JobInfo waiting = Job(5, v1::RUNNING);
  waiting.set_message("waiting: GPU-1 is used by 2 other processes");
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {waiting, Job(5, v1::SUCCEEDED)};
  EXPECT_EQ(Run({"reprofile", "--kernel", "gemm_f32", "--wait", "-q"}),
            kExitOk);
  EXPECT_EQ(err_.str(), "");
  EXPECT_THAT(out_.str(), HasSubstr("on GPU-1: succeeded"));
  EXPECT_EQ(Run({"--quiet", "reprofile", "--kernel", "gemm_f32"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("follow with")));
}

TEST_F(ReprofileCommandTest, EvenIfBusyIsPassedOn) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  EXPECT_EQ(Run({"reprofile", "--all", "--even-if-busy"}), kExitOk);
  EXPECT_TRUE(daemon_->reprofile_request.even_if_busy());
  EXPECT_EQ(Run({"reprofile", "--all"}), kExitOk);
  EXPECT_FALSE(daemon_->reprofile_request.even_if_busy());
}

TEST_F(ReprofileCommandTest, PromoteAlthoughWrongIsPassedOn) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  EXPECT_EQ(Run({"reprofile", "--all", "--promote-although-wrong"}), kExitOk);
  EXPECT_TRUE(daemon_->reprofile_request.promote_although_wrong());
  EXPECT_EQ(Run({"reprofile", "--all"}), kExitOk);
  EXPECT_FALSE(daemon_->reprofile_request.promote_although_wrong());
}

TEST_F(ReprofileCommandTest, DriftAndItsOptionsArePassedOn) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  EXPECT_EQ(Run({"reprofile", "--all", "--drift", "--promote-although-slower"}),
            kExitOk);
  EXPECT_TRUE(daemon_->reprofile_request.drift());
  EXPECT_TRUE(daemon_->reprofile_request.promote_although_slower());
  EXPECT_FALSE(daemon_->reprofile_request.dry_run());
  EXPECT_NE(Run({"reprofile", "--all", "--drift", "--refit-only"}), kExitOk);
  EXPECT_NE(Run({"reprofile", "--all", "--drift", "--fresh"}), kExitOk);
}

TEST_F(ReprofileCommandTest, ADryRunSaysWhatWouldBeDone) {
  v1::PlannedJob planned;
  planned.set_kernel("gemm_f32");
  planned.set_device_uuid("GPU-1");
  planned.set_what("drift probe of table 3fa4c01b");
  planned.set_candidates(24);
  planned.set_samples(768);
  planned.set_device_s(12.5);
  daemon_->planned = {planned};
  EXPECT_EQ(Run({"reprofile", "--dry-run"}), kExitOk);
  EXPECT_TRUE(daemon_->reprofile_request.dry_run());
  EXPECT_EQ(out_.str(),
            "gemm_f32 on GPU-1\n  drift probe of table 3fa4c01b\n  at most 24 "
            "candidates to compile, 768 samples, 12.5 s of device time\n"
            "nothing is queued (--dry-run)\n");
  EXPECT_EQ(Run({"reprofile", "--dry-run", "--json"}), kExitOk);
  EXPECT_EQ(Output()["planned"][0]["what"], "drift probe of table 3fa4c01b");
}

TEST_F(ReprofileCommandTest, AnEarlierDaemonThatQueuesAllTheSameIsAnError) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  EXPECT_NE(Run({"reprofile", "--dry-run"}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("knows no --dry-run"));
}

TEST_F(ReprofileCommandTest, WaitingShowsWhatTheDriftProbeFound) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  v1::JobInfo ended = Job(5, v1::SUCCEEDED);
  v1::DriftReport& drift = *ended.mutable_drift();
  drift.set_from_environment("driver=580;runtime=13;power_w=700");
  drift.set_to_environment("driver=590;runtime=13;power_w=700");
  drift.set_digest(std::string(64, 'd'));
  drift.set_samples(64);
  drift.set_seconds(3.2);
  drift.set_action(v1::DriftReport::PROFILE);
  drift.set_reason("1 of 2 regimes drifted");
  v1::DriftRegime& regime = *drift.add_regimes();
  regime.set_name("one row of tiles");
  regime.set_pairs(20);
  regime.set_median_ratio(1.3);
  regime.set_worst_ratio(1.4);
  regime.set_drifted(true);
  daemon_->watched = {ended};
  EXPECT_EQ(Run({"reprofile", "--all", "--drift", "--wait"}), kExitOk);
  EXPECT_THAT(
      out_.str(),
      HasSubstr(
          "  drift probe of table dddddddddddddddd (driver \"580\", now "
          "\"590\"): profile anew\n    1 of 2 regimes drifted\n    64 samples "
          "in 3.2 s\n    one row of tiles: 20 pairs, median 1.300, worst "
          "1.400, drifted\n"));
}

TEST_F(ReprofileCommandTest, ReprofileWaitShowsWhatTheFitHasToSay) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  v1::JobInfo ended = Job(5, v1::SUCCEEDED);
  ended.add_notes("the kernel's latency does not follow waves");
  daemon_->watched = {ended};
  EXPECT_EQ(Run({"reprofile", "--all", "--wait"}), kExitOk);
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
  EXPECT_EQ(Run({"reprofile", "--all"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("queued (already there"));
  daemon_->jobs[0].set_created_at_us(INT64_MAX);
  EXPECT_EQ(Run({"reprofile", "--all"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("already there")));
}

TEST_F(ReprofileCommandTest, ReprofileWaitFollowsTheJobToItsEnd) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {Job(5, v1::RUNNING), Job(5, v1::SUCCEEDED)};
  EXPECT_EQ(Run({"reprofile", "--all", "--wait"}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("job 5 gemm_f32 sampling"));
  EXPECT_THAT(out_.str(), HasSubstr("succeeded"));
  EXPECT_EQ(Run({"reprofile", "--all", "--wait", "--json"}), kExitOk);
  EXPECT_EQ(Output()["jobs"][0]["state"], "SUCCEEDED");
}

TEST_F(ReprofileCommandTest, ReprofileWaitFailsWithTheJob) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {Job(5, v1::FAILED)};
  EXPECT_EQ(Run({"reprofile", "--all", "--wait"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("because"));
}

TEST_F(ReprofileCommandTest, AProfileWhoseTableWasRefusedIsAFailureForScripts) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  v1::JobInfo refused = Job(5, v1::SUCCEEDED);
  refused.clear_digest();
  refused.set_message(
      "not promoted, the default configuration serves on: 0.981 times as fast "
      "as it; see `wavetune tables rejected gemm_f32`");
  daemon_->watched = {refused};
  EXPECT_EQ(Run({"reprofile", "--all", "--wait"}), kExitFailed);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("job 5 ended without a table of gemm_f32: "
                              "not promoted, the default"),
                    HasSubstr("wavetune tables rejected gemm_f32")));
  EXPECT_EQ(Run({"reprofile", "--all", "--wait", "--json"}), kExitFailed);
  daemon_->watched = {Job(5, v1::SUCCEEDED)};  // Promoted, or found to hold.
  EXPECT_EQ(Run({"reprofile", "--all", "--wait"}), kExitOk) << err_.str();
}

TEST_F(ReprofileCommandTest, AnInterruptDetachesAndSaysHowToCancel) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {Job(5, v1::RUNNING)};
  daemon_->watch_end = absl::CancelledError("");
  EXPECT_EQ(Run({"reprofile", "--all", "--wait"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("goes on"));
  EXPECT_THAT(err_.str(), HasSubstr("wavetune jobs cancel 5"));
  EXPECT_TRUE(daemon_->cancelled.empty());
}

TEST_F(ReprofileCommandTest, AStreamThatEndsEarlyIsNotSuccess) {
  daemon_->jobs = {Job(5, v1::QUEUED)};
  daemon_->watched = {Job(5, v1::RUNNING)};
  EXPECT_EQ(Run({"reprofile", "--all", "--wait"}), kExitFailed);
}

TEST_F(ReprofileCommandTest, AsksTheFleet) {
  v1::AskedProfile& asked = daemon_->asked.emplace_back();
  asked.set_kernel("gemm");
  asked.set_fleet_class("0123456789abcdef");
  asked.set_node("node-1");
  EXPECT_EQ(Run({"reprofile", "--kernel", "gemm", "--fleet", "--stages",
                 "10,100", "--hold", "5"}),
            kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("asked for on node node-1"));
  const v1::FleetRolloutPlan& plan = daemon_->reprofile_request.fleet();
  EXPECT_EQ(plan.stages_size(), 2);
  EXPECT_EQ(plan.hold_s(), 5);
  EXPECT_NE(Run({"reprofile", "--kernel", "gemm", "--stages", "10,100"}),
            kExitOk);
}

TEST_F(ReprofileCommandTest, WaitsForWhatTheFleetWasAskedFor) {
  v1::AskedProfile& asked = daemon_->asked.emplace_back();
  asked.set_kernel("gemm_f32");
  asked.set_fleet_class("0123456789abcdef");
  v1::FleetProfileStatus& profile = *daemon_->fleet.add_profiles();
  profile.set_kernel("gemm_f32");
  profile.set_fleet_class("0123456789abcdef");
  profile.set_asked_at_us(int64_t{1} << 60);
  profile.set_done(true);
  profile.set_done_by("node-2");
  profile.set_outcome("not promoted: slower than the incumbent");
  const std::vector<std::string> command = {"reprofile", "--kernel", "gemm_f32",
                                            "--fleet", "--wait"};
  EXPECT_EQ(Run(command), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("done by node node-2: not promoted"));
  v1::FleetNodeBehind& failure = *profile.add_failures();
  failure.set_node("node-3");
  EXPECT_EQ(Run(command), kExitOk) << "another node did it";
  failure.set_node("node-2");
  EXPECT_EQ(Run(command), kExitFailed);
  profile.clear_failures();
  profile.set_refused(true);
  EXPECT_EQ(Run(command), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("not promoted: slower"));
}

}  // namespace
}  // namespace wavetune::cli
