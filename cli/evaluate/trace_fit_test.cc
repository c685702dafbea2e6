#include "cli/evaluate/trace_fit.h"

#include <set>
#include <string>
#include <utility>

#include "fit/plan/recording_plan.h"
#include "fit/testing/synthetic_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/testing/kernels.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A recording of a made-up GEMM; nothing is recorded yet.
class TraceFitTest : public ::testing::Test {
 protected:
  TraceFitTest() {
    const ProfileInput input = device_.Input();
    trace_.manifest = "a manifest";
    trace_.spec = device_.spec();
    trace_.device = input.device;
    for (const Candidate& candidate : input.candidates[0])
      trace_.candidates.push_back({"", candidate});
  }

  // Every candidate, at `m` rows.
  std::vector<Sample> At(int64_t m) const {
    std::vector<Sample> samples;
    for (const TraceCandidate& candidate : trace_.candidates)
      samples.push_back(
          device_.Measure({.configuration = candidate.candidate.configuration,
                           .problem = {.extents = {m, 512, 512}}}));
    return samples;
  }

  void RecordPlan() {
    const RecordingPlan plan = PlanRecording(device_.Input()).value();
    for (const MeasureItem& item : plan.anchors)
      trace_.anchors.push_back(device_.Measure(item));
    for (const MeasureItem& item : plan.representatives)
      trace_.representative.push_back(device_.Measure(item));
  }

  const wavetune::testing::SyntheticDevice device_{
      wavetune::testing::GemmSpec(), {.multiprocessors = 4}};
  TraceFolder trace_;
};

std::string Notes(const TraceFit& fit) {
  std::string notes;
  for (const std::string& note : fit.report.notes) notes += note + "\n";
  return notes;
}

TEST_F(TraceFitTest, FitsWhatProfilingWouldMeasure) {
  RecordPlan();
  const auto fit = FitTrace(trace_, {.from = TraceSamples::kPlanned,
                                     .profile = {.samples_per_candidate = 12}});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->candidates, trace_.candidates.size());
  EXPECT_LE(fit->SamplesPerCandidate(), 12);
  EXPECT_LT(fit->samples.size(), trace_.anchors.size());
  EXPECT_FALSE(fit->table->table().sub_tables.empty());
  EXPECT_THAT(Notes(*fit), Not(HasSubstr("were not recorded")));
}

TEST_F(TraceFitTest, PlannedSamplesThatWereNotRecordedAreANote) {
  RecordPlan();
  const TraceFitOptions options{.from = TraceSamples::kPlanned,
                                .profile = {.samples_per_candidate = 12}};
  const auto complete = FitTrace(trace_, options);
  ASSERT_TRUE(complete.ok()) << complete.status();
  const Sample lost = complete->samples.front();
  std::erase_if(trace_.anchors, [&lost](const Sample& sample) {
    return sample.configuration == lost.configuration &&
           sample.problem == lost.problem;
  });
  const auto fit = FitTrace(trace_, options);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_THAT(Notes(*fit), HasSubstr("1 planned samples were not recorded"));
  EXPECT_THAT(Notes(*fit), HasSubstr("--all-anchors"));
}

TEST_F(TraceFitTest, AFailedFitSaysWhatWasNotRecorded) {
  trace_.anchors = At(64);
  const auto planned = FitTrace(trace_, {.from = TraceSamples::kPlanned});
  EXPECT_FALSE(planned.ok());
  EXPECT_THAT(std::string(planned.status().message()),
              HasSubstr("planned samples were not recorded"));
  const auto anchors = FitTrace(trace_, {.from = TraceSamples::kAnchors});
  EXPECT_THAT(std::string(anchors.status().message()),
              Not(HasSubstr("were not recorded")));
}

TEST_F(TraceFitTest, EveryAnchorIsFittedWhereAskedFor) {
  RecordPlan();
  const auto anchors = FitTrace(trace_, {.from = TraceSamples::kAnchors});
  ASSERT_TRUE(anchors.ok()) << anchors.status();
  EXPECT_EQ(anchors->samples.size(), trace_.anchors.size());
  const auto all =
      FitTrace(trace_, {.from = TraceSamples::kAnchorsAndRepresentative});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->samples.size(),
            trace_.anchors.size() + trace_.representative.size());
}

TEST_F(TraceFitTest, WhatIsJudgedIsNeverFitted) {
  trace_.anchors = At(64);
  trace_.representative = At(128);
  trace_.exhaustive = At(256);
  EXPECT_EQ(FittableSamples(trace_, TraceSamples::kAnchors).size(),
            trace_.anchors.size());
  for (const TraceSamples from :
       {TraceSamples::kAnchorsAndRepresentative, TraceSamples::kPlanned}) {
    std::set<int64_t> rows;
    for (const Sample& sample : FittableSamples(trace_, from))
      rows.insert(sample.problem.extents[0]);
    EXPECT_EQ(rows, (std::set<int64_t>{64, 128}));
  }
}

TEST_F(TraceFitTest, WithoutAnchorsThereIsNothingToFit) {
  trace_.representative = At(128);
  const auto fit =
      FitTrace(trace_, {.from = TraceSamples::kAnchorsAndRepresentative});
  EXPECT_TRUE(absl::IsNotFound(fit.status())) << fit.status();
  EXPECT_THAT(std::string(fit.status().message()),
              HasSubstr("record the kernel again"));
}

}  // namespace
}  // namespace wavetune::cli
