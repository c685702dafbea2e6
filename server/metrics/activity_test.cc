#include "server/metrics/activity.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

JobRecord EndedJob() {
  JobRecord job;
  job.state = JobState::kSucceeded;
  job.device_uuid = "GPU-1";
  job.samples = 10;
  job.throttled_samples = 3;
  job.device_time_us = 2e6;
  return job;
}

TEST(ActivityTest, CountsAJobOnceItHasEnded) {
  Activity activity;
  JobRecord job = EndedJob();
  job.state = JobState::kRunning;
  activity.Add(job);
  EXPECT_TRUE(activity.counts().jobs.empty());
  EXPECT_EQ(activity.counts().clean_samples, 0u);
  activity.Add(EndedJob());
  const Activity::Counts counts = activity.counts();
  EXPECT_EQ(counts.jobs.at(JobState::kSucceeded), 1u);
  EXPECT_EQ(counts.clean_samples, 7u);
  EXPECT_EQ(counts.throttled_samples, 3u);
  EXPECT_DOUBLE_EQ(counts.device_seconds.at("GPU-1"), 2);
}

TEST(ActivityTest, DevicesThatShareAJobShareItsTime) {
  Activity activity;
  JobRecord job = EndedJob();
  job.device_uuids = {"GPU-1", "GPU-2"};
  activity.Add(job);
  const Activity::Counts counts = activity.counts();
  EXPECT_DOUBLE_EQ(counts.device_seconds.at("GPU-1"), 1);
  EXPECT_DOUBLE_EQ(counts.device_seconds.at("GPU-2"), 1);
}

TEST(ActivityTest, CountsEventsByKind) {
  Activity activity;
  activity.Add(EventRecord{.kind = EventKind::kPromoted});
  activity.Add(EventRecord{.kind = EventKind::kPromoted});
  EXPECT_EQ(activity.counts().events.at(EventKind::kPromoted), 2u);
}

TEST(ActivityTest, ATableThatDoesNotHoldIsCountedAsThat) {
  Activity activity;
  JobRecord job = EndedJob();
  job.state = JobState::kFailed;
  activity.Add(job);
  EXPECT_TRUE(activity.counts().disproving_jobs.empty());
  job.kernel = "gemm";
  job.options.verify_digest = "d1";
  job.drift.emplace().action = DriftAction::kProfile;
  activity.Add(job);
  const Activity::Counts counts = activity.counts();
  EXPECT_EQ(counts.jobs.at(JobState::kFailed), 2u);
  EXPECT_EQ(counts.disproving_jobs.at("gemm"), 1u);
}

TEST(ActivityTest, NamesThatAnybodyMayReportAreBounded) {
  Activity activity;
  UsageReport report;
  report.counts.fitted = 2;
  for (size_t i = 0; i < Activity::kMostKernels + 10; ++i) {
    report.kernel = absl::StrCat("kernel ", i);
    activity.Add(report);
  }
  const Activity::Counts counts = activity.counts();
  EXPECT_EQ(counts.decisions.size(), Activity::kMostKernels + 1);
  EXPECT_EQ(counts.decisions.at(Activity::kOthers).fitted, 20);
  // Those that were there count on.
  report.kernel = "kernel 0";
  activity.Add(report);
  EXPECT_EQ(activity.counts().decisions.at("kernel 0").fitted, 4);
}

TEST(ActivityTest, KnowsWhatTheLastDriftProbeOfAKernelFound) {
  Activity activity;
  JobRecord job;
  job.key.kernel = "gemm";
  job.key.silicon_key = "mp=4";
  activity.AddDriftProbe(job);
  job.drift.emplace();  // Nothing was compared.
  activity.AddDriftProbe(job);
  EXPECT_TRUE(activity.counts().drift_probe_ratios.empty());
  job.drift->regimes = {{.median_ratio = 1.25, .drifted = true},
                        {.median_ratio = 1.0}};
  activity.AddDriftProbe(job);
  job.drift->regimes.front().median_ratio = 0.9;
  activity.AddDriftProbe(job);
  const Activity::Counts counts = activity.counts();
  ASSERT_EQ(counts.drift_probe_ratios.size(), 1u);
  EXPECT_DOUBLE_EQ(counts.drift_probe_ratios.at({"gemm", "mp=4"}), 0.9);
}

}  // namespace
}  // namespace wavetune
