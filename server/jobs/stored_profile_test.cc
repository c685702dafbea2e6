#include "server/jobs/stored_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "server/store/fake_stores.h"
#include "server/store/faulty_stores.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StoredProfileTest : public ::testing::Test {
 protected:
  StoredProfileTest() {
    job_.id = 7;
    job_.key = {"gemm", "f", "silicon", "environment"};
    job_.generation = 2;
  }

  void Store(uint64_t generation, uint64_t job_id, double latency_us,
             bool throttled = false) {
    SampleRecord record;
    record.sample.latency_us = latency_us;
    record.sample.device_time_us = 10 * latency_us;
    record.sample.throttled = throttled;
    record.job_id = job_id;
    const CandidateRecord candidate{
        .candidate = {.configuration = Configuration{8},
                      .tiles_per_wave = static_cast<int64_t>(generation)}};
    ASSERT_TRUE(
        samples_.Append(job_.key, generation, {record}, {candidate}).ok());
  }
  StoredProfile Load() { return LoadStoredProfile(samples_, job_).value(); }
  static std::vector<double> Latencies(const std::vector<Sample>& samples) {
    std::vector<double> latencies;
    for (const Sample& s : samples) latencies.push_back(s.latency_us);
    return latencies;
  }

  FakeSampleStore fake_samples_;
  FaultySampleStore samples_{&fake_samples_};
  JobRecord job_;
};

TEST_F(StoredProfileTest, TellsTheJobsOwnSamplesFromOthers) {
  Store(2, 6, 1);
  Store(2, 7, 2);
  Store(2, 7, 3, /*throttled=*/true);
  const StoredProfile profile = Load();
  EXPECT_THAT(Latencies(profile.samples), ElementsAre(1, 2, 3));
  EXPECT_EQ(profile.own.samples, 2);
  EXPECT_EQ(profile.own.throttled_samples, 1);
  EXPECT_EQ(profile.own.device_time_us, 50);
  EXPECT_EQ(profile.of_other_jobs.samples, 1);
  EXPECT_EQ(profile.of_other_jobs.device_time_us, 10);
  EXPECT_THAT(profile.candidates, SizeIs(1));
}

TEST_F(StoredProfileTest, LeavesThrottledSamplesOfOtherJobsToBeMeasuredAnew) {
  Store(2, 6, 1, /*throttled=*/true);
  EXPECT_THAT(Load().samples, IsEmpty());
  EXPECT_EQ(Load().of_other_jobs.samples, 0);
  job_.options.refit_only = true;  // Nothing is measured: better than nothing.
  EXPECT_THAT(Load().samples, SizeIs(1));
}

TEST_F(StoredProfileTest, EarlierGenerationsAreApartAndLaterOnesAreNot) {
  Store(kMeasuredGeneration, 5, 9);
  Store(1, 5, 1);
  Store(2, 6, 2);
  Store(3, 8, 3);
  const StoredProfile profile = Load();
  EXPECT_THAT(Latencies(profile.earlier_samples), ElementsAre(1));
  EXPECT_THAT(Latencies(profile.samples), ElementsAre(2));
  ASSERT_THAT(profile.candidates, SizeIs(1));
  EXPECT_EQ(profile.candidates[0].candidate.tiles_per_wave, 2);
}

TEST_F(StoredProfileTest, NothingStoredIsAnEmptyProfile) {
  const StoredProfile profile = Load();
  EXPECT_THAT(profile.candidates, IsEmpty());
  EXPECT_THAT(profile.samples, IsEmpty());
  EXPECT_THAT(profile.earlier_samples, IsEmpty());
}

// A store that cannot be read is no store without samples.
TEST_F(StoredProfileTest, PassesOnWhatTheStoreSays) {
  Store(1, 5, 1);
  Store(2, 6, 2);
  for (int readable = 0; readable < 5; ++readable) {
    samples_.reads().Fail(absl::InternalError("I/O error"), readable, 1);
    EXPECT_TRUE(absl::IsInternal(LoadStoredProfile(samples_, job_).status()))
        << readable;
  }
  EXPECT_TRUE(LoadStoredProfile(samples_, job_).ok());
}

}  // namespace
}  // namespace wavetune
