// Recordings: measuring jobs that take along what profiles can be replayed
// from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fit/plan/recording_plan.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"
#include "server/jobs/job_queue_fixture.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Pair = std::pair<Configuration, Problem>;

constexpr int kAnchors = 30;

// What a recording streamed.
struct Streamed {
  std::map<RecordedSet, std::map<Pair, Sample>> samples;
  std::vector<RecordedFailure> failures;
  std::vector<MeasuredProblem> results;
  std::vector<Recording> recordings;

  std::set<Pair> Pairs(RecordedSet set) const {
    std::set<Pair> pairs;
    const auto found = samples.find(set);
    if (found == samples.end()) return pairs;
    for (const auto& [pair, unused] : found->second) pairs.insert(pair);
    return pairs;
  }
  size_t Size() const {
    size_t size = 0;
    for (const auto& [unused, of_set] : samples) size += of_set.size();
    return size;
  }
};

class RecordingTest : public JobQueueFixture {
 protected:
  RecordingTest() { StartQueue(); }

  static MeasureRequest Request() {
    MeasureRequest request{.kernel = JobTestSpec().name};
    request.problems = {{.extents = {100, 512, 512}},
                        {.extents = {1000, 512, 514}}};
    request.chosen = true;
    request.record = true;
    request.anchors_per_candidate = kAnchors;
    return request;
  }

  JobRecord Record(const MeasureRequest& request, Streamed* streamed) {
    MeasureListener listener;
    listener.on_result = [streamed](const MeasuredProblem& result) {
      streamed->results.push_back(result);
    };
    listener.on_recorded = [streamed](const RecordedSamples& recorded) {
      EXPECT_THAT(streamed->recordings, IsEmpty());
      for (const Sample& sample : recorded.samples) {
        streamed->samples[recorded.set].insert_or_assign(
            {sample.configuration, sample.problem}, sample);
      }
      streamed->failures.insert(streamed->failures.end(),
                                recorded.failures.begin(),
                                recorded.failures.end());
    };
    listener.on_recording = [streamed](const Recording& recording) {
      streamed->recordings.push_back(recording);
    };
    const auto queued = queue_->Measure(request, listener);
    EXPECT_TRUE(queued.ok()) << queued.status();
    if (!queued.ok()) return {};
    id_ = queued->id;
    return Wait(*queue_, queued->id);
  }

  // What a recording of these candidates has to hold.
  RecordingPlan Plan(const std::vector<CandidateRecord>& candidates) const {
    ProfileInput input{.spec = &spec_, .device = device_.device()};
    input.candidates.emplace_back();
    for (const CandidateRecord& record : candidates) {
      input.candidates[0].push_back(record.candidate);
    }
    return PlanRecording(input, kAnchors).value();
  }

  static std::set<Pair> PairsOf(const std::vector<MeasureItem>& items) {
    std::set<Pair> pairs;
    for (const MeasureItem& item : items) {
      pairs.emplace(item.configuration, item.problem);
    }
    return pairs;
  }

  uint64_t id_ = 0;
};

TEST_F(RecordingTest, HasTheGridTheRepresentativesAndTheJudgedProblems) {
  Streamed streamed;
  const JobRecord job = Record(Request(), &streamed);
  ASSERT_EQ(job.state, JobState::kSucceeded) << job.message;
  ASSERT_THAT(streamed.recordings, SizeIs(1));
  const Recording& recording = streamed.recordings[0];
  EXPECT_EQ(recording.device, device_.device());
  EXPECT_EQ(recording.fingerprint, job.key.fingerprint);
  EXPECT_EQ(recording.samples_from_store, 0);
  const std::vector<Configuration> space = EnumerateConfigurations(spec_);
  EXPECT_EQ(recording.candidates.size(), space.size());
  const RecordingPlan plan = Plan(recording.candidates);
  EXPECT_EQ(streamed.Pairs(RecordedSet::kAnchors), PairsOf(plan.anchors));
  EXPECT_EQ(streamed.Pairs(RecordedSet::kRepresentative),
            PairsOf(plan.representatives));
  std::set<Pair> judged;
  for (const Problem& problem : Request().problems) {
    for (const Configuration& configuration : space) {
      if (IsLegal(spec_, configuration, problem.View())) {
        judged.emplace(configuration, problem);
      }
    }
  }
  EXPECT_EQ(streamed.Pairs(RecordedSet::kJudged), judged);
  // The report is that of an exhaustive pass.
  ASSERT_THAT(streamed.results, SizeIs(2));
  EXPECT_TRUE(streamed.results[0].best &&
              streamed.results[0].default_configuration);
  EXPECT_EQ(job.done, job.total);
  EXPECT_EQ(job.total, static_cast<int64_t>(streamed.Size()));
  EXPECT_THAT(job.message, HasSubstr("recorded "));
}

TEST_F(RecordingTest, NoFitReadsWhatWasRecorded) {
  Streamed streamed;
  const JobRecord job = Record(Request(), &streamed);
  ASSERT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(*samples_.Generations(job.key), ::testing::ElementsAre(0u));
  const auto jobs = queue_->Reprofile({});
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_EQ(Wait(*queue_, jobs->front().id).state, JobState::kSucceeded);
  const auto fitted = samples_.Load(job.key, 1);
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  EXPECT_THAT(fitted->samples, Not(IsEmpty()));
  for (const SampleRecord& record : fitted->samples) {
    EXPECT_EQ(record.job_id, jobs->front().id);
  }
}

TEST_F(RecordingTest, GoesOnWhereItWasCancelled) {
  {
    std::mutex mutex;
    device_.OnReport([&] {
      if (device_.measured() != 200) return;
      std::lock_guard lock(mutex);  // Until the id is known.
      EXPECT_TRUE(queue_->Cancel(id_).ok());
    });
    std::unique_lock lock(mutex);
    const auto queued = queue_->Measure(
        Request(), {.on_result = [](const MeasuredProblem&) {}});
    ASSERT_TRUE(queued.ok()) << queued.status();
    id_ = queued->id;
    lock.unlock();
    EXPECT_EQ(Wait(*queue_, id_).state, JobState::kCancelled);
    device_.OnReport(nullptr);
  }
  const int64_t measured = device_.measured();
  EXPECT_GE(measured, 200);

  Streamed second;
  const JobRecord job = Record(Request(), &second);
  ASSERT_EQ(job.state, JobState::kSucceeded) << job.message;
  const Recording& recording = second.recordings[0];
  // Only what was missing, and the leaders once more, in three rounds.
  const auto remeasured =
      static_cast<int64_t>(3 * 6 * Request().problems.size());
  EXPECT_GE(recording.samples_from_store, 200 - remeasured);
  EXPECT_LE(device_.measured() - measured, static_cast<int64_t>(second.Size()) -
                                               recording.samples_from_store +
                                               remeasured);
  EXPECT_EQ(second.Pairs(RecordedSet::kAnchors),
            PairsOf(Plan(recording.candidates).anchors));
  EXPECT_THAT(job.message, HasSubstr("of them from the store"));
}

TEST_F(RecordingTest, AFreshOneMeasuresEverythingAnew) {
  Streamed first;
  ASSERT_EQ(Record(Request(), &first).state, JobState::kSucceeded);
  const int64_t measured = device_.measured();
  MeasureRequest request = Request();
  request.fresh = true;
  Streamed second;
  ASSERT_EQ(Record(request, &second).state, JobState::kSucceeded);
  EXPECT_EQ(second.recordings[0].samples_from_store, 0);
  EXPECT_EQ(device_.measured(), 2 * measured);
}

TEST_F(RecordingTest, TakesNothingFromAnotherDeviceOfTheClass) {
  Streamed first;
  ASSERT_EQ(Record(Request(), &first).state, JobState::kSucceeded);
  DeviceFacts facts = device_.device();
  directory_.Detach(facts.uuid);
  facts.uuid = "GPU-2";
  FakeMeasurementExecutor twin(
      {.facts = facts, .latency_us = SyntheticLatency(&spec_, 64)});
  directory_.Attach(&twin);
  MeasureRequest request = Request();
  request.device_uuid = facts.uuid;
  Streamed second;
  const JobRecord job = Record(request, &second);
  ASSERT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_EQ(second.recordings[0].samples_from_store, 0);
  EXPECT_EQ(twin.measured(), device_.measured());
  // Its candidates compile for the twin, too.
  EXPECT_EQ(twin.prepared(), 0);
  queue_ = nullptr;  // Before the twin goes.
}

TEST_F(RecordingTest, ACandidateThatCrashesIsTriedNoMore) {
  const std::vector<Configuration> space = EnumerateConfigurations(spec_);
  device_.CrashOn(space[3]);
  device_.Refuse(space[5], "error: missing semicolon");
  Streamed streamed;
  const JobRecord job = Record(Request(), &streamed);
  ASSERT_EQ(job.state, JobState::kSucceeded) << job.message;
  int tried = 0;
  for (const MeasureItem& item : device_.items()) {
    tried += item.configuration == space[3] ? 1 : 0;
    EXPECT_NE(item.configuration, space[5]);
  }
  EXPECT_LE(tried, 2);
  ASSERT_THAT(streamed.recordings, SizeIs(1));
  std::map<Configuration, std::string> excluded;
  for (const CandidateRecord& r : streamed.recordings[0].candidates) {
    if (r.candidate.excluded()) {
      excluded[r.candidate.configuration] = r.candidate.excluded_reason;
    }
  }
  ASSERT_THAT(excluded, SizeIs(2));
  EXPECT_THAT(excluded[space[3]], HasSubstr("signal 11"));
  EXPECT_THAT(excluded[space[5]], HasSubstr("missing semicolon"));
  // The others have everything, also what depends on who is left.
  const std::set<Pair> anchors = streamed.Pairs(RecordedSet::kAnchors);
  for (const Pair& pair :
       PairsOf(Plan(streamed.recordings[0].candidates).anchors)) {
    EXPECT_TRUE(anchors.contains(pair));
  }
  EXPECT_THAT(streamed.failures, IsEmpty());
  EXPECT_THAT(job.message, Not(HasSubstr("could not be measured")));
}

TEST_F(RecordingTest, SaysWhatCouldNotBeMeasured) {
  const Problem problem = spec_.representative_problems[1].problem;
  device_.FailAt(problem, "out of memory: 9 GiB");
  Streamed streamed;
  const JobRecord job = Record(Request(), &streamed);
  ASSERT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message, HasSubstr("pairs could not be measured, the first: "
                                     "BLOCK_M="));
  EXPECT_THAT(job.message, HasSubstr("m=512 n=512 k=1024: out of memory"));
  ASSERT_THAT(streamed.failures, Not(IsEmpty()));
  for (const RecordedFailure& failure : streamed.failures) {
    EXPECT_EQ(failure.item.problem, problem);
    EXPECT_EQ(failure.reason, "out of memory: 9 GiB");
  }
  ASSERT_THAT(streamed.recordings, SizeIs(1));
}

TEST_F(RecordingTest, RefusesToJudgeWhereProfilingMayFit) {
  MeasureRequest request = Request();
  request.problems.push_back(spec_.representative_problems[0].problem);
  const auto refused = queue_->Measure(request, {});
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("m=64 n=512 k=512 is a representative problem"));
  // Without a recording one may look at them.
  request.record = false;
  request.exhaustive = true;
  EXPECT_TRUE(
      queue_->Measure(request, {.on_result = [](const MeasuredProblem&) {}})
          .ok());
}

TEST_F(RecordingTest, AnchorsAtJudgedProblemsAreLeftOut) {
  Streamed first;
  ASSERT_EQ(Record(Request(), &first).state, JobState::kSucceeded);
  const Problem anchor =
      first.samples[RecordedSet::kAnchors].begin()->first.second;
  MeasureRequest request = Request();
  request.problems = {anchor};
  Streamed second;
  const JobRecord job = Record(request, &second);
  ASSERT_EQ(job.state, JobState::kSucceeded) << job.message;
  for (const RecordedSet set :
       {RecordedSet::kAnchors, RecordedSet::kRepresentative}) {
    for (const auto& [configuration, problem] : second.Pairs(set)) {
      EXPECT_NE(problem, anchor);
    }
  }
  EXPECT_THAT(job.message, HasSubstr("anchors are left out, as quality is"));
}

}  // namespace
}  // namespace wavetune
