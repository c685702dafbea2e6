#include "cli/no_table.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class NoTableTest : public ::testing::Test {
 protected:
  // Newest first.
  v1::JobInfo& Add(uint64_t id, v1::JobState state) {
    v1::JobInfo& job = *jobs_.add_jobs();
    job.set_id(id);
    job.set_kind("reprofile");
    job.set_kernel("gemm");
    job.set_device_uuid("GPU-1");
    job.set_state(state);
    return job;
  }
  std::string Text(const std::string& device = "") {
    return NoTableText("gemm", LastProfile(jobs_, "gemm", device));
  }

  v1::ListJobsResponse jobs_;
};

TEST_F(NoTableTest, AKernelThatNobodyProfiledSaysHowTo) {
  EXPECT_EQ(Text(), "never profiled; run `wavetune reprofile --kernel gemm`");
  Add(3, v1::SUCCEEDED).set_kernel("other");
  Add(2, v1::FAILED).set_kind("measure");
  EXPECT_THAT(Text(), HasSubstr("never profiled"));
}

TEST_F(NoTableTest, ATableThatWasRefusedSaysWhyAndWhereItsEvidenceIs) {
  v1::JobInfo& job = Add(4, v1::SUCCEEDED);
  job.set_message(
      "not promoted, the default configuration serves on: 0.981 times as fast "
      "as it; 320 samples of 30 candidates");
  EXPECT_EQ(Text(),
            "refused: job 4: not promoted, the default configuration serves "
            "on: 0.981 times as fast as it; see `wavetune tables rejected "
            "gemm`");
  EXPECT_TRUE(WasRefused(job));
  job.set_digest("abc");  // Retired since.
  EXPECT_FALSE(WasRefused(job));
  EXPECT_THAT(Text(), AllOf(HasSubstr("run `wavetune reprofile"),
                            Not(HasSubstr("never"))));
}

TEST_F(NoTableTest, AProfileThatFailedOrIsUnderWaySaysSo) {
  Add(7, v1::RUNNING);
  Add(6, v1::FAILED).set_message("the budget of 2 s was too small");
  EXPECT_THAT(Text(), HasSubstr("job 7 profiles it"));
  jobs_.mutable_jobs()->DeleteSubrange(0, 1);
  EXPECT_EQ(Text(), "job 6 failed: the budget of 2 s was too small");
  EXPECT_TRUE(WasRefused(jobs_.jobs(0)));
  EXPECT_THAT(Text("GPU-2"), HasSubstr("never profiled"));
  jobs_.mutable_jobs(0)->add_device_uuids("GPU-2");
  EXPECT_THAT(Text("GPU-2"), HasSubstr("job 6 failed"));
}

}  // namespace
}  // namespace wavetune::cli
