// wavetune tables verify, of files and of a fake daemon's tables.
#include <fstream>
#include <string>

#include "base/digest.h"
#include "cli/commands/daemon_command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TablesVerifyCommandTest : public DaemonCommandFixture {
 protected:
  TablesVerifyCommandTest() {
    v1::GetTableResponse& table = daemon_->payloads.emplace_back();
    table.set_payload(*EncodeTable(wavetune::testing::TwoGroupTable()));
    table.mutable_info()->set_kernel("gemm_f32");
    table.mutable_info()->set_silicon_key("mp=4");
    table.mutable_info()->set_digest(Sha256Hex(table.payload()));
    daemon_->jobs = {Job(5, v1::QUEUED)};
  }
  const std::string& digest() const {
    return daemon_->payloads[0].info().digest();
  }
};

TEST_F(TablesVerifyCommandTest, AsksForTheTableThatServesAndWaits) {
  v1::JobInfo done = Job(5, v1::SUCCEEDED);
  done.set_message("carried over, epoch 2: 1.3 times as fast as the default");
  done.mutable_drift()->set_digest(digest());
  done.mutable_drift()->set_action(v1::DriftReport::CARRY_OVER);
  daemon_->watched = {done};
  EXPECT_EQ(Run({"tables", "verify", "gemm_f32"}), kExitOk) << err_.str();
  const v1::ReprofileRequest& asked = daemon_->reprofile_request;
  EXPECT_EQ(asked.kernel(), "gemm_f32");
  EXPECT_EQ(asked.silicon_key(), "mp=4");
  EXPECT_EQ(asked.verify_digest(), digest());
  EXPECT_TRUE(asked.drift());
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("carried over, epoch 2: 1.3 times"),
                    HasSubstr("drift probe of table"), Not(HasSubstr("()"))));
  EXPECT_EQ(
      Run({"tables", "verify", "gemm_f32", "--device", "GPU-1", "--json"}),
      kExitOk);
  EXPECT_EQ(daemon_->reprofile_request.device_uuid(), "GPU-1");
  EXPECT_EQ(daemon_->reprofile_request.silicon_key(), "");
  EXPECT_EQ(Output()["jobs"][0]["id"], 5);
}

TEST_F(TablesVerifyCommandTest, FailsWhereTheTableDoesNotHold) {
  v1::JobInfo failed = Job(5, v1::FAILED);
  failed.set_message("table 3fa4c01b does NOT hold here");
  daemon_->watched = {failed};
  EXPECT_NE(Run({"tables", "verify", digest()}), kExitOk);
  EXPECT_THAT(out_.str() + err_.str(), HasSubstr("does NOT hold here"));
}

TEST_F(TablesVerifyCommandTest, AFileIsDecodedWithoutADaemon) {
  daemon_->error = absl::UnavailableError("no daemon");
  const std::string sound = ::testing::TempDir() + "verify_sound.table";
  std::ofstream(sound, std::ios::binary) << daemon_->payloads[0].payload();
  EXPECT_EQ(Run({"tables", "verify", sound}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("is sound: table " + digest()),
                                HasSubstr("of kernel gemm")));
  EXPECT_EQ(Run({"tables", "verify", sound, "--json"}), kExitOk);
  EXPECT_EQ(Output()["digest"], digest());
  const std::string damaged = ::testing::TempDir() + "verify_damaged.table";
  std::ofstream(damaged, std::ios::binary)
      << daemon_->payloads[0].payload().substr(0, 100);
  EXPECT_NE(Run({"tables", "verify", damaged}), kExitOk);
  EXPECT_THAT(err_.str(), HasSubstr("is no table"));
}

}  // namespace
}  // namespace wavetune::cli
