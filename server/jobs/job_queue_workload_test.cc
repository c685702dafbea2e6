// Workloads in jobs: what was declared when a job was queued is measured.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fit/plan/verification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/job_queue_fixture.h"

namespace wavetune {
namespace {

class JobQueueWorkloadTest : public JobQueueFixture {
 protected:
  JobQueue& StartWithWorkloads() { return Start(Services()); }
  // As StartWithWorkloads, with no device attached; jobs wait for it until the
  // queue ends.
  JobQueue& StartWaiting() {
    directory_.Detach(device_.device().uuid);
    JobServices services = Services();
    services.agent_wait_s = 1e9;
    return Start(std::move(services));
  }
  JobQueue& Start(JobServices services) {
    services.workload_problems = [this](const KernelSpec&) {
      return declared_;
    };
    services.await_turn = [this](JobControl*, const JobServices::OthersWait&) {
      return ProfileTurn{.demand = demand_};
    };
    queue_ = nullptr;
    queue_ = std::make_unique<JobQueue>(std::move(services));
    EXPECT_TRUE(queue_->Start().ok());
    return *queue_;
  }
  std::vector<SampleRecord> SamplesAt(const Problem& problem) {
    std::vector<SampleRecord> found;
    const SampleSet all = samples_.Load(job_.key, job_.generation).value();
    for (const SampleRecord& record : all.samples) {
      if (record.sample.problem == problem) found.push_back(record);
    }
    return found;
  }

  const Problem problem_{.extents = {48, 640, 256}};
  std::vector<WeightedProblem> declared_ = {{.problem = problem_, .weight = 1}};
  std::optional<ProfileDemand> demand_;  // Of a fleet.
  JobRecord job_;
};

TEST_F(JobQueueWorkloadTest, DeclaredProblemsAreMeasuredBesideTheAuthors) {
  JobQueue& queue = StartWithWorkloads();
  job_ = Run(queue);
  EXPECT_EQ(job_.state, JobState::kSucceeded) << job_.message;
  EXPECT_FALSE(SamplesAt(problem_).empty());
  EXPECT_FALSE(SamplesAt(spec_.representative_problems[0].problem).empty());
}

TEST_F(JobQueueWorkloadTest, AJobThatHasEndedKnowsHowManyThereWere) {
  job_ = Run(StartWithWorkloads());
  EXPECT_EQ(job_.workload_problem_count, 1);
  EXPECT_TRUE(job_.workload_problems.get().empty());
}

TEST_F(JobQueueWorkloadTest, WhatWasDeclaredSinceIsAnotherJob) {
  JobQueue& queue = StartWaiting();
  const ReprofileRequest request{.device_uuid = device_.device().uuid};
  const uint64_t first = queue.Reprofile(request)->front().id;
  EXPECT_EQ(queue.Reprofile(request)->front().id, first);
  declared_.push_back({.problem = {.extents = {96, 640, 256}}, .weight = 1});
  EXPECT_NE(queue.Reprofile(request)->front().id, first);
}

TEST_F(JobQueueWorkloadTest, AJobGoesOnWithWhatWasDeclaredWhenItWasQueued) {
  JobQueue& queue = StartWaiting();
  const uint64_t id =
      queue.Reprofile({.device_uuid = device_.device().uuid})->front().id;
  declared_.clear();
  directory_.Attach(&device_);
  // A restart goes on with it, too.
  job_ = Wait(StartWithWorkloads(), id);
  EXPECT_EQ(job_.state, JobState::kSucceeded) << job_.message;
  EXPECT_FALSE(SamplesAt(problem_).empty());
}

// An engine's file at every declared problem, and real verification.
class EngineFileTest : public JobQueueWorkloadTest {
 protected:
  // A job with what `configuration` is for `device`.
  JobRecord RunAgainst(const Configuration& configuration,
                       const std::string& device) {
    declared_.clear();
    for (int64_t m = 40; m < 52; ++m) {
      declared_.push_back({.problem = {.extents = {m, 640, 256}},
                           .rivals = {{"vllm's file", configuration, device}}});
    }
    JobServices services = Services();
    services.profiling.plan_verification = [](const ProfileInput& input,
                                              const Table& table,
                                              const Table* incumbent) {
      return PlanVerification(input, table, incumbent);
    };
    services.profiling.judge_verification = JudgeVerification;
    return Run(Start(std::move(services)));
  }
  // The fastest and the slowest candidate at the declared problems.
  std::pair<Configuration, Configuration> Extremes() const {
    std::map<double, Configuration> by_latency;
    const auto latency_us = SyntheticLatency(&spec_, 64);
    for (const Configuration& c : EnumerateConfigurations(spec_))
      by_latency[latency_us(c, problem_)] = c;
    return {by_latency.begin()->second, by_latency.rbegin()->second};
  }
};

TEST_F(EngineFileTest, ATableThatIsSlowerThanAnEnginesFileIsRefused) {
  // The fake fit chooses what is fastest on the whole, which this is not.
  const Configuration fastest = Extremes().first;
  const Configuration own = Extremes().second;
  const LatencyFunction latency_us = SyntheticLatency(&spec_, 64);
  FakeMeasurementExecutor device(
      {.facts = testing::H200(),
       .latency_us = [=](const Configuration& c, const Problem& problem) {
         if (c != own) return latency_us(c, problem);
         return problem.extents[1] == 640 ? latency_us(fastest, problem) / 2
                                          : 1e3 * latency_us(c, problem);
       }});
  directory_.Detach(device_.device().uuid);
  directory_.Attach(&device);
  job_ = RunAgainst(own, testing::H200().label);
  EXPECT_EQ(job_.state, JobState::kSucceeded) << job_.message;
  EXPECT_THAT(job_.message, ::testing::HasSubstr("not promoted"));
  EXPECT_THAT(job_.message,
              ::testing::HasSubstr("times as fast as vllm's file at "));
  // Of another device's file it hears nothing.
  job_ = RunAgainst(own, "another");
  EXPECT_THAT(job_.message,
              ::testing::Not(::testing::HasSubstr("vllm's file")));
  queue_ = nullptr;
}

TEST_F(EngineFileTest, ATableThatIsFasterThanAnEnginesFileIsPromoted) {
  job_ = RunAgainst(Extremes().second, testing::H200().label);
  EXPECT_THAT(job_.message, ::testing::HasSubstr("promoted: "));
  EXPECT_THAT(job_.message,
              ::testing::HasSubstr("times as fast as vllm's file at "));
  EXPECT_FALSE(job_.digest.empty());
}

TEST_F(JobQueueWorkloadTest, WhatAFleetIsAskedForTakesThePlaceOfThisNodes) {
  const Problem of_fleet{.extents = {24, 320, 128}};
  const Problem used{.extents = {40, 320, 128}};
  demand_ = {.used = {{.problem = used, .weight = 2}},
             .workloads = {{.problem = of_fleet, .weight = 1},
                           {.problem = problem_, .weight = 1}},
             .counts = {.nodes = 5, .workloads = 2}};
  JobQueue& queue = StartWaiting();
  const ReprofileRequest request{.device_uuid = device_.device().uuid};
  const uint64_t id = queue.Reprofile(request)->front().id;
  while (!queue.Get(id)->fleet_demand) std::this_thread::yield();
  EXPECT_EQ(queue.Get(id)->workload_problem_count, 2);
  // What this node has declared is the same, so it is the same job.
  EXPECT_EQ(queue.Reprofile(request)->front().id, id);
  // A restart goes on with it.
  demand_.reset();
  directory_.Attach(&device_);
  job_ = Wait(StartWithWorkloads(), id);
  EXPECT_EQ(job_.state, JobState::kSucceeded) << job_.message;
  EXPECT_EQ(job_.fleet_demand, (FleetDemandCounts{.nodes = 5, .workloads = 2}));
  EXPECT_FALSE(SamplesAt(of_fleet).empty());
  EXPECT_FALSE(SamplesAt(used).empty());
}

}  // namespace
}  // namespace wavetune
