// Jobs that measure problems for people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "server/jobs/job_queue_fixture.h"

namespace wavetune {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class JobQueueMeasuringTest : public JobQueueFixture {
 protected:
  // Measures to the end; returns the job, and what it found in `results`.
  JobRecord Measure(JobQueue& queue, const MeasureRequest& request,
                    std::vector<MeasuredProblem>* results) {
    std::mutex mutex;
    const auto queued = queue.Measure(
        request, {.on_result = [&](const MeasuredProblem& result) {
          std::lock_guard lock(mutex);
          results->push_back(result);
        }});
    EXPECT_TRUE(queued.ok()) << queued.status();
    return queued.ok() ? Wait(queue, queued->id) : JobRecord{};
  }
};

TEST_F(JobQueueMeasuringTest, MeasuresExhaustivelyAndJudgesByTheSecondPass) {
  JobQueue& queue = StartQueue();
  ASSERT_EQ(Run(queue).state, JobState::kSucceeded);
  const int64_t samples_before = StoredSamples();
  std::vector<MeasuredProblem> results;
  MeasureRequest request{.kernel = spec_.name, .exhaustive = true};
  request.problems = {{.extents = {100, 512, 512}},
                      {.extents = {1000, 512, 514}}};
  const JobRecord job = Measure(queue, request, &results);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  ASSERT_THAT(results, SizeIs(2));
  for (const MeasuredProblem& result : results) {
    ASSERT_TRUE(result.best && result.chosen && result.default_configuration);
    EXPECT_TRUE(result.best->remeasured);
    EXPECT_TRUE(result.chosen->remeasured);
    EXPECT_GE(result.regret, 0);
    // Three rounds: a best picked in two is judged in the third.
    EXPECT_GT(result.held_out_fraction, 0.5);
    EXPECT_LT(result.held_out_fraction, 1.5);
    EXPECT_LE(result.best->latency_us, result.all.back().latency_us);
    EXPECT_FALSE(result.digest.empty());
  }
  // Two rounds are too few to pick a best in some and judge it in others.
  std::vector<MeasuredProblem> in_two;
  MeasureRequest twice = request;
  twice.rounds = 2;
  ASSERT_EQ(Measure(queue, twice, &in_two).state, JobState::kSucceeded);
  EXPECT_THAT(in_two, Each(Field(&MeasuredProblem::held_out_fraction, 0)));
  // k = 514 is no multiple of 4: half of the space is not legal.
  EXPECT_GT(results[0].all.size(), results[1].all.size());
  EXPECT_GT(StoredSamples(), samples_before);
  // No fit reads what quality is judged by.
  EXPECT_THAT(samples_.Load(job.key, 1)->samples,
              Each(Field(&SampleRecord::job_id, 1u)));
}

// The first problem is one of the cheapest, the second takes nearly all of the
// time.
TEST_F(JobQueueMeasuringTest, TheTimeLeftIsOfTheWorkAndNotOfTheProblems) {
  const LatencyFunction latency_us = SyntheticLatency(&spec_, 64);
  FakeMeasurementExecutor device(
      {.facts = testing::H200(),
       .latency_us = [&](const Configuration& configuration,
                         const Problem& problem) {
         const double us = latency_us(configuration, problem);
         clock_.Advance(1e-5 * us);  // Of ten launches.
         return us;
       }});
  directory_.Attach(&device);
  JobQueue& queue = StartQueue();
  const JobRecord profile = Run(queue);
  ASSERT_EQ(profile.state, JobState::kSucceeded);
  // What was left at a moment, as was said and as it came.
  struct Moment {
    int64_t at_us;
    double said_s;
  };
  std::vector<Moment> moments;
  device.OnReport([&] {
    const auto job = queue.Get(profile.id + 1);
    if (job.ok() && job->seconds_left > 0)
      moments.push_back({clock_.NowUs(), job->seconds_left});
  });
  MeasureRequest request{.kernel = spec_.name, .exhaustive = true};
  request.problems = {{.extents = {16, 512, 512}},
                      {.extents = {4096, 4096, 4096}}};
  std::vector<MeasuredProblem> results;
  ASSERT_EQ(Measure(queue, request, &results).state, JobState::kSucceeded);
  queue_ = nullptr;
  ASSERT_GT(moments.size(), static_cast<size_t>(Candidates()));
  const double whole_s =
      static_cast<double>(clock_.NowUs() - moments[0].at_us) * 1e-6;
  // Counting problems it would be a thousandth of it, after the first. By
  // samples of few waves it is several times too much at first, and falls.
  for (size_t i = static_cast<size_t>(Candidates()) / 2; i < moments.size();
       ++i) {
    const double left_s =
        static_cast<double>(clock_.NowUs() - moments[i].at_us) * 1e-6;
    // Candidates of a problem are not told apart: at its end that shows.
    if (left_s < 0.4 * whole_s) break;
    EXPECT_GT(moments[i].said_s, left_s / 4);
    EXPECT_LT(moments[i].said_s, left_s * 10);
  }
}

TEST_F(JobQueueMeasuringTest,
       AProblemThatTakesEveryWorkerDownIsMissingThereAndNowhereElse) {
  const Problem killer{.extents = {100, 512, 512}};
  device_.CrashAt(killer);
  MeasureRequest request{
      .kernel = spec_.name, .default_configuration = true, .exhaustive = true};
  request.problems = {killer, {.extents = {1000, 512, 512}}};
  JobQueue& queue = StartQueue();
  // The second job finds nothing stored against the candidates.
  for (int i = 0; i < 2; ++i) {
    std::vector<MeasuredProblem> results;
    const JobRecord job = Measure(queue, request, &results);
    EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
    EXPECT_THAT(job.message,
                HasSubstr(absl::StrCat(Candidates(), " pairs could not be")));
    ASSERT_THAT(results, SizeIs(2));
    EXPECT_FALSE(results[0].best.has_value());
    EXPECT_FALSE(results[0].default_configuration.has_value());
    EXPECT_THAT(results[0].failed, SizeIs(Candidates()));
    EXPECT_THAT(results[0].failed[0].reason, HasSubstr("signal 11"));
    EXPECT_TRUE(results[1].best.has_value());
    EXPECT_THAT(results[1].all, SizeIs(Candidates()));
    EXPECT_THAT(results[1].failed, SizeIs(0));
  }
}

TEST_F(JobQueueMeasuringTest,
       ACandidateThatCrashesEverywhereIsNotTriedForEver) {
  const Configuration bad = EnumerateConfigurations(spec_).back();
  device_.CrashOn(bad);
  MeasureRequest request{.kernel = spec_.name, .exhaustive = true};
  for (const int64_t m : {64, 128, 256, 512, 1024}) {
    request.problems.push_back({.extents = {m, 512, 512}});
  }
  std::vector<MeasuredProblem> results;
  const JobRecord job = Measure(StartQueue(), request, &results);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  ASSERT_THAT(results, SizeIs(5));
  for (const MeasuredProblem& result : results) {
    ASSERT_THAT(result.failed, SizeIs(1));
    EXPECT_EQ(result.failed[0].configuration, bad);
  }
  EXPECT_THAT(results[2].failed[0].reason, HasSubstr("signal 11"));
  EXPECT_THAT(results[3].failed[0].reason, HasSubstr("not tried"));
}

TEST_F(JobQueueMeasuringTest, OfSeveralRoundsTheMedianCounts) {
  // The default takes 10, 30, 20 us: neither the luckiest nor the last counts.
  int measured = 0;
  FakeMeasurementExecutor device(
      {.facts = testing::H200(),
       .latency_us = [&](const Configuration&, const Problem&) {
         return std::array{10, 30, 20}[static_cast<size_t>(measured++ % 3)];
       }});
  directory_.Attach(&device);
  JobQueue& queue = StartQueue();
  std::vector<MeasuredProblem> results;
  MeasureRequest request{
      .kernel = spec_.name, .default_configuration = true, .rounds = 3};
  request.problems = {{.extents = {100, 512, 512}}};
  const JobRecord job = Measure(queue, request, &results);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_DOUBLE_EQ(results[0].default_configuration->latency_us, 20);
  EXPECT_EQ(measured, 3);
  EXPECT_EQ(StoredSamples(), 3);
  queue_ = nullptr;  // Before its device.
}

TEST_F(JobQueueMeasuringTest, WhatCrashesIsNotMeasuredInALaterRound) {
  device_.CrashOn(spec_.default_configuration);
  JobQueue& queue = StartQueue();
  std::vector<MeasuredProblem> results;
  MeasureRequest request{
      .kernel = spec_.name, .default_configuration = true, .rounds = 5};
  request.problems = {{.extents = {100, 512, 512}}};
  Measure(queue, request, &results);
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_FALSE(results[0].default_configuration.has_value());
  EXPECT_THAT(device_.items(), SizeIs(1));
}

TEST_F(JobQueueMeasuringTest, MeasuresPeersAndStoresNoSampleOfThem) {
  KernelSpec spec = spec_;
  spec.implementations = {{.backend = device_.device().backend,
                           .vendor_baselines = {{.library = "cublaslt"}}}};
  kernels_.Add(spec);
  JobQueue& queue = StartQueue();
  std::vector<MeasuredProblem> results;
  MeasureRequest request{.kernel = spec_.name,
                         .default_configuration = true,
                         .vendor_baselines = true};
  request.problems = {{.extents = {100, 512, 512}}};
  const JobRecord job = Measure(queue, request, &results);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  ASSERT_THAT(results, SizeIs(1));
  ASSERT_THAT(results[0].vendor_baselines, SizeIs(1));
  EXPECT_EQ(results[0].vendor_baselines[0].library, "cublaslt");
  EXPECT_DOUBLE_EQ(results[0].vendor_baselines[0].latency_us, 42);
  EXPECT_THAT(results[0].all, SizeIs(1));
  EXPECT_EQ(StoredSamples(), 3);  // A round each.
}

TEST_F(JobQueueMeasuringTest, MeasuresWhatOthersWouldLaunchUnderTheirNames) {
  JobQueue& queue = StartQueue();
  const Problem first = {.extents = {100, 512, 512}};
  const Problem second = {.extents = {1000, 512, 514}};
  Configuration other = spec_.default_configuration;
  for (const Configuration& one : EnumerateConfigurations(spec_)) {
    if (one != other && IsLegal(spec_, one, first.View())) other = one;
  }
  const Configuration outside(
      std::vector<int64_t>(spec_.parameters.size(), int64_t{1} << 20));
  MeasureRequest request{.kernel = spec_.name, .default_configuration = true};
  request.problems = {first, second};
  request.rivals[first] = {{"vllm's file", other}, {"another's", outside}};
  std::vector<MeasuredProblem> results;
  const JobRecord job = Measure(queue, request, &results);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  ASSERT_THAT(results, SizeIs(2));
  // What is not in the kernel's space is left out.
  ASSERT_THAT(results[0].vendor_baselines, SizeIs(1));
  EXPECT_EQ(results[0].vendor_baselines[0].library, "vllm's file");
  const MeasuredConfiguration& same =
      *std::find_if(results[0].all.begin(), results[0].all.end(),
                    [&](const MeasuredConfiguration& measured) {
                      return measured.configuration == other;
                    });
  EXPECT_EQ(results[0].vendor_baselines[0].latency_us, same.latency_us);
  EXPECT_THAT(results[1].vendor_baselines, SizeIs(0));
}

TEST_F(JobQueueMeasuringTest, AKernelWithoutPeersSaysSo) {
  JobQueue& queue = StartQueue();
  MeasureRequest request{.kernel = spec_.name,
                         .default_configuration = true,
                         .vendor_baselines = true};
  request.problems = {{.extents = {100, 512, 512}}};
  const auto queued =
      queue.Measure(request, {.on_result = [](const MeasuredProblem&) {}});
  ASSERT_TRUE(queued.ok()) << queued.status();
  const JobRecord job = Wait(queue, queued->id);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("names no vendor library"));
}

TEST_F(JobQueueMeasuringTest, MeasuringWithoutATableStillMeasuresTheDefault) {
  JobQueue& queue = StartQueue();
  std::vector<MeasuredProblem> results;
  MeasureRequest request{
      .kernel = spec_.name, .chosen = true, .default_configuration = true};
  request.problems = {{.extents = {100, 512, 512}}};
  EXPECT_EQ(Measure(queue, request, &results).state, JobState::kSucceeded);
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_FALSE(results[0].chosen.has_value());
  EXPECT_TRUE(results[0].default_configuration.has_value());
  EXPECT_FALSE(results[0].best.has_value());
}

TEST_F(JobQueueMeasuringTest, AnInterruptedMeasuringJobFailsAfterARestart) {
  JobRecord record{.kind = JobKind::kMeasure, .kernel = spec_.name};
  record.device_uuid = device_.device().uuid;
  record.state = JobState::kRunning;
  const uint64_t id = fake_jobs_.Create(record)->id;
  JobQueue& queue = StartQueue();
  const JobRecord job = *queue.Get(id);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("start the measurement again"));
}

}  // namespace
}  // namespace wavetune
