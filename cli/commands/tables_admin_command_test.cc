// wavetune tables history, rollback, pin and unpin, against a fake daemon.
#include <fstream>
#include <string>

#include "cli/commands/daemon_command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TablesAdminCommandTest : public DaemonCommandFixture {
 protected:
  static v1::TableInfo Info(char digit, uint64_t epoch) {
    v1::TableInfo info;
    info.set_kernel("gemm_f32");
    info.set_digest(std::string(64, digit));
    info.set_fingerprint(std::string(64, 'f'));
    info.set_epoch(epoch);
    info.set_how(v1::PROFILED);
    info.set_job_id(epoch + 10);
    info.set_by("1000");
    info.set_why("promoted: 1.2 times as fast");
    return info;
  }
};

TEST_F(TablesAdminCommandTest, HistorySaysWhatServedHowAndWhy) {
  v1::TableInfo rolled_back = Info('a', 3);
  rolled_back.set_how(v1::ROLLED_BACK);
  rolled_back.set_by("daemon");
  rolled_back.set_why("slower in production");
  rolled_back.set_pinned("by user 0: release week");
  *daemon_->history.add_tables() = rolled_back;
  v1::TableInfo wrong = Info('b', 2);
  wrong.set_withdrawn("BM=64 computes wrong results");
  *daemon_->history.add_tables() = wrong;
  *daemon_->history.add_tables() = Info('c', 1);
  daemon_->history.add_serving(rolled_back.digest());
  EXPECT_EQ(Run({"tables", "history", "gemm_f32", "--device", "GPU-1"}),
            kExitOk);
  EXPECT_EQ(daemon_->history_request.kernel(), "gemm_f32");
  EXPECT_EQ(daemon_->history_request.device_uuid(), "GPU-1");
  EXPECT_EQ(daemon_->history_request.limit(), 20);
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("aaaaaaaaaaaaaaaa"), HasSubstr("rolled back"),
            HasSubstr("serving, pinned"), HasSubstr("slower in production"),
            HasSubstr("WITHDRAWN"), HasSubstr("BM=64 computes wrong results"),
            HasSubstr("profiled (job 11)"), HasSubstr("user 1000"),
            HasSubstr("pinned by user 0: release week; nothing is promoted "
                      "until wavetune tables unpin gemm_f32")));
}

TEST_F(TablesAdminCommandTest, HistoryAsJsonHasEveryField) {
  *daemon_->history.add_tables() = Info('c', 1);
  EXPECT_EQ(Run({"tables", "history", "gemm_f32", "--json"}), kExitOk);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("\"how\": \"PROFILED\""),
                    HasSubstr("\"by\": \"1000\""), HasSubstr("\"serving\"")));
}

TEST_F(TablesAdminCommandTest, SaysWhatWasRejectedOnWhichEvidence) {
  v1::RejectedTable& rejected = *daemon_->rejected.add_tables();
  *rejected.mutable_table() = Info('d', 0);
  rejected.set_reason("refused: slower than the incumbent: 0.93 times");
  v1::RejectedPoint& point = *rejected.add_points();
  v1::Problem::Extents& extents = *point.mutable_problem()->add_extents();
  extents.set_dimension("m");
  extents.add_values(64);
  point.set_chosen_us(12.5);
  point.set_incumbent_us(11.25);
  EXPECT_EQ(Run({"tables", "rejected", "gemm_f32"}), kExitOk);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("table dddddddddddddddd of job 10"),
                    HasSubstr("slower than the incumbent"), HasSubstr("m=64"),
                    HasSubstr("12.5"), HasSubstr("11.25")));
}

TEST_F(TablesAdminCommandTest, RollsBackAndSaysWhatServes) {
  *daemon_->rolled_back.mutable_table() = Info('a', 5);
  *daemon_->rolled_back.add_ended() = Info('b', 4);
  EXPECT_EQ(Run({"tables", "rollback", "gemm_f32", "--to", "aaaaaaaa",
                 "--reason", "slower"}),
            kExitOk);
  EXPECT_EQ(daemon_->rollback_request.kernel(), "gemm_f32");
  EXPECT_EQ(daemon_->rollback_request.digest(), "aaaaaaaa");
  EXPECT_EQ(daemon_->rollback_request.reason(), "slower");
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("table aaaaaaaaaaaaaaaa of gemm_f32 serves "
                              "again, epoch 5: serving"),
                    HasSubstr("table bbbbbbbbbbbbbbbb serves no longer"),
                    HasSubstr("wavetune tables pin gemm_f32")));
}

TEST_F(TablesAdminCommandTest, ARefusedRollbackFails) {
  daemon_->error = absl::FailedPreconditionError("kernel gemm_f32 is pinned");
  EXPECT_EQ(Run({"tables", "rollback", "gemm_f32"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("is pinned"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("serves again")));
}

TEST_F(TablesAdminCommandTest, PinsAndUnpins) {
  *daemon_->pinned.mutable_table() = Info('a', 5);
  EXPECT_EQ(Run({"tables", "pin", "gemm_f32", "--reason", "release week"}),
            kExitOk);
  EXPECT_EQ(daemon_->pin_request.kernel(), "gemm_f32");
  EXPECT_EQ(daemon_->pin_request.reason(), "release week");
  EXPECT_THAT(out_.str(), HasSubstr("table aaaaaaaaaaaaaaaa of gemm_f32 is "
                                    "pinned"));
  EXPECT_EQ(Run({"tables", "unpin", "gemm_f32", "--device", "GPU-2"}), kExitOk);
  EXPECT_EQ(daemon_->unpin_request.device_uuid(), "GPU-2");
  EXPECT_THAT(out_.str(), HasSubstr("not pinned any more"));
}

TEST_F(TablesAdminCommandTest, AKernelMustBeNamed) {
  for (const std::string command :
       {"history", "rejected", "rollback", "pin", "unpin"}) {
    EXPECT_EQ(Run({"tables", command}), kExitUsage) << command;
    EXPECT_THAT(err_.str(), HasSubstr("KERNEL is required"));
  }
}

TEST_F(TablesAdminCommandTest, ImportSendsTheFileAndSaysWhatServes) {
  const std::string file = ::testing::TempDir() + "imported_gemm.table";
  std::ofstream(file) << "the payload";
  v1::TableInfo& table = *daemon_->imported.mutable_table();
  table = Info('a', 4);
  table.set_unverified(true);
  table.set_stale(true);
  table.set_stale_reason("imported, not verified here");
  *daemon_->imported.add_ended() = Info('b', 3);
  EXPECT_EQ(Run({"tables", "import", file, "--reason", "from node 7"}),
            kExitOk);
  EXPECT_EQ(daemon_->import_request.payload(), "the payload");
  EXPECT_EQ(daemon_->import_request.reason(), "from node 7");
  EXPECT_FALSE(daemon_->import_request.trust());
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("imported, not verified here"),
                    HasSubstr("table bbbbbbbbbbbbbbbb of gemm_f32 serves no "
                              "longer"),
                    HasSubstr("wavetune tables verify gemm_f32")));
  EXPECT_EQ(Run({"tables", "import", file, "--trust"}), kExitOk);
  EXPECT_TRUE(daemon_->import_request.trust());
  EXPECT_NE(Run({"tables", "import", file + ".none"}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("imported_gemm.table.none"));
}

TEST_F(TablesAdminCommandTest, RetireSaysWhatServesNoLonger) {
  *daemon_->retired.add_ended() = Info('b', 3);
  EXPECT_EQ(Run({"tables", "retire", "bbbbbbbb", "--reason", "old"}), kExitOk);
  EXPECT_EQ(daemon_->retire_request.digest(), "bbbbbbbb");
  EXPECT_EQ(daemon_->retire_request.reason(), "old");
  EXPECT_THAT(out_.str(), HasSubstr("table bbbbbbbbbbbbbbbb of gemm_f32 serves "
                                    "no longer"));
  EXPECT_FALSE(daemon_->retire_request.although_it_serves());
  EXPECT_EQ(Run({"tables", "retire", "bbbbbbbb", "--although-it-serves",
                 "--device", "GPU-1"}),
            kExitOk);
  EXPECT_TRUE(daemon_->retire_request.although_it_serves());
  EXPECT_EQ(daemon_->retire_request.device_uuid(), "GPU-1");
}

TEST_F(TablesAdminCommandTest, AListShowsOldClassesApart) {
  v1::TableInfo old = Info('a', 1);
  old.set_silicon_key("mp=132");
  old.set_stale(true);
  old.set_stale_reason("driver 580, now 590");
  *daemon_->tables.add_tables() = old;
  EXPECT_EQ(Run({"tables", "list", "--fail-stale"}), kExitStale);
  v1::TableInfo newer = Info('b', 2);
  newer.set_silicon_key("mp=132");
  *daemon_->tables.add_tables() = newer;
  // What took its place is current.
  EXPECT_EQ(Run({"tables", "list", "--fail-stale"}), kExitOk);
  const size_t apart = out_.str().find("kept for devices as they were");
  ASSERT_NE(apart, std::string::npos);
  EXPECT_LT(out_.str().find("bbbbbbbbbbbbbbbb"), apart);
  EXPECT_GT(out_.str().find("aaaaaaaaaaaaaaaa"), apart);
  // Of other silicon it is no old class.
  daemon_->tables.mutable_tables(1)->set_silicon_key("mp=66");
  EXPECT_EQ(Run({"tables", "list"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("kept for devices")));
}

}  // namespace
}  // namespace wavetune::cli
