// wavetune store ..., against a fake daemon.
#include <string>

#include "cli/commands/daemon_command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class StoreCommandTest : public DaemonCommandFixture {
 protected:
  void AddProgress(const std::string& line, bool done, int64_t faults = 0) {
    v1::StoreProgress& progress = daemon_->store_progress.emplace_back();
    progress.add_lines(line);
    progress.set_done(done);
    progress.set_faults(faults);
  }
};

TEST_F(StoreCommandTest, PrintsTheResultAndNoProgressToAScript) {
  AddProgress("copies to /backups", false);
  AddProgress("backup 2 of today", true);
  EXPECT_EQ(Run({"store", "backup"}), kExitOk);
  EXPECT_THAT(daemon_->store_work,
              ElementsAre("wavetune.v1.BackUpStoreRequest"));
  EXPECT_EQ(out_.str(), "backup 2 of today\n");
  EXPECT_EQ(err_.str(), "");
  CommandContext terminal = Context();
  terminal.terminal = true;
  EXPECT_EQ(RunCommandLine({"store", "compact"}, terminal), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("copies to /backups"));
  EXPECT_EQ(Run({"store", "backup", "--json"}), kExitOk);
  EXPECT_EQ(Output()["done"], true);
}

TEST_F(StoreCommandTest, ADamagedStoreIsAFailure) {
  AddProgress("devices: key GPU-1: cannot be read", true, 3);
  EXPECT_EQ(Run({"store", "check"}), kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("devices: key GPU-1"));
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("3 faults"), HasSubstr("restore")));
}

TEST_F(StoreCommandTest, AnotherWorkThatRunsIsSaid) {
  daemon_->error = absl::FailedPreconditionError("a check is running");
  EXPECT_EQ(Run({"store", "compact"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("a check is running"));
}

TEST_F(StoreCommandTest, RetentionPrintsWhatWouldGoAndNothingElse) {
  AddProgress("the store is sound", true);
  EXPECT_EQ(Run({"store", "retention", "--dry-run"}), kExitOk);
  EXPECT_EQ(out_.str(), "nothing is old enough to go\n");
  daemon_->store_progress[0].add_lines("the daily look forgets 3 jobs");
  EXPECT_EQ(Run({"store", "retention"}), kExitOk);
  EXPECT_EQ(out_.str(), "forgets 3 jobs\n");
  EXPECT_EQ(Run({"store", "retention", "--json"}), kExitOk);
  EXPECT_EQ(Output()["would"][0], "forgets 3 jobs");
}

TEST_F(StoreCommandTest, RestoreSaysWhatToRunWhereTheDaemonRuns) {
  daemon_->status.set_store_path("/data/store");
  EXPECT_EQ(Run({"store", "restore", "--from", "/backups"}), kExitOk);
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("stop this one first"), HasSubstr("mv /data/store"),
            HasSubstr("wavetuned restore --from /backups --store "
                      "/data/store")));
  daemon_->error = absl::UnavailableError("nobody");
  EXPECT_EQ(Run({"store", "restore", "--from", "/backups"}), kExitOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("/var/lib/wavetune"),
                                Not(HasSubstr("stop this one first"))));
}

}  // namespace
}  // namespace wavetune::cli
