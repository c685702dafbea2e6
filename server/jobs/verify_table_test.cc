// Jobs that verify a table (JobRecord::verify_digest).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "model/kernel/throttling.h"
#include "model/table/table_codec.h"
#include "server/catalog/table_staleness.h"
#include "server/jobs/drift_fixture.h"
#include "server/jobs/profiling_functions.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class VerifyTableTest : public DriftFixture {
 protected:
  ProfileKey KeyHere() {
    const DeviceFacts facts = testing::H200();
    return {spec_.name, *kernels_.Fingerprint(spec_.name, facts),
            SiliconKey(facts), EnvironmentKey(facts)};
  }
  // A table that came with its kernel and always chooses a configuration.
  TableRecord Ship(const ProfileKey& key, const Configuration& choice) {
    const auto shipped = tables_.Ship(
        {.key = key}, *EncodeTable(FixedTable(spec_, key, choice, 10)));
    EXPECT_TRUE(shipped.ok()) << shipped.status();
    return shipped.ok() ? *shipped : TableRecord();
  }
  JobRecord Verify(const TableRecord& table) {
    return Run(StartQueue(), {.kernel = spec_.name,
                              .options = {.drift_probe = true,
                                          .verify_digest = table.digest}});
  }
  // Of all that are at least as fast as the default wherever they may be
  // measured the slowest.
  Configuration SlowestThatBeatsTheDefault() const {
    const LatencyFunction latency_us = SyntheticLatency(&spec_, 64);
    const Configuration best = Ranked(/*fastest=*/true);
    std::pair<double, Configuration> slowest = {0, best};
    for (const Configuration& one : EnumerateConfigurations(spec_)) {
      double sum = 0;
      bool beats = true;
      for (const WeightedProblem& weighted : spec_.representative_problems) {
        for (const int64_t more : {0, 1}) {
          Problem problem = weighted.problem;
          problem.extents[0] += more;
          const double us = latency_us(one, problem);
          beats =
              beats && us <= latency_us(spec_.default_configuration, problem);
          sum += us / latency_us(best, problem);
        }
      }
      if (beats && sum > slowest.first) slowest = {sum, one};
    }
    return slowest.second;
  }
  // The fastest of all over the problems of a verification, or the slowest.
  Configuration Ranked(bool fastest) const {
    const LatencyFunction latency_us = SyntheticLatency(&spec_, 64);
    const auto sum_us = [&](const Configuration& configuration) {
      double sum = 0;
      for (const WeightedProblem& weighted : spec_.representative_problems) {
        Problem problem = weighted.problem;
        problem.extents[0] += 1;
        sum += latency_us(configuration, problem);
      }
      return sum;
    };
    std::vector<Configuration> all = EnumerateConfigurations(spec_);
    std::sort(all.begin(), all.end(),
              [&](const Configuration& a, const Configuration& b) {
                return sum_us(a) < sum_us(b);
              });
    return fastest ? all.front() : all.back();
  }
};

TEST_F(VerifyTableTest, AShippedTableThatHoldsIsStaleNoLonger) {
  const TableRecord shipped = Ship(KeyHere(), Ranked(/*fastest=*/true));
  EXPECT_TRUE(shipped.unverified);
  const JobRecord job = Verify(shipped);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message, HasSubstr("carried over, epoch 2: chosen"));
  EXPECT_LE(device_.measured(), 64);
  EXPECT_EQ(Serving().digest, shipped.digest);
  EXPECT_EQ(Serving().how, PromotionKind::kCarriedOver);
  EXPECT_FALSE(Serving().unverified);
  EXPECT_EQ(StaleReason(Serving(), testing::H200(), kernels_), "");
  // Again, it says so and changes nothing.
  const JobRecord again = Verify(Serving());
  EXPECT_EQ(again.state, JobState::kSucceeded) << again.message;
  EXPECT_THAT(again.message, HasSubstr("holds, and was current"));
  EXPECT_EQ(Serving().epoch, 2u);
}

TEST_F(VerifyTableTest, OneThatIsSlowerThanTheDefaultServesOnAndSaysSo) {
  const TableRecord shipped = Ship(KeyHere(), Ranked(/*fastest=*/false));
  const JobRecord job = Verify(shipped);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message,
              AllOf(HasSubstr("does NOT hold"), HasSubstr("refused: chosen"),
                    HasSubstr("wavetune reprofile --kernel")));
  EXPECT_EQ(Serving(), shipped);
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kProfile);
}

TEST_F(VerifyTableTest, OneThatIsSlowerThanWhatItReplacesDoesNotHold) {
  const TableRecord replaced = Ship(KeyHere(), Ranked(/*fastest=*/true));
  TableRecord record{.key = KeyHere()};
  record.how = PromotionKind::kTrial;
  const auto on_trial = tables_.Import(
      record, *EncodeTable(FixedTable(spec_, KeyHere(),
                                      SlowestThatBeatsTheDefault(), 10)));
  ASSERT_TRUE(on_trial.ok()) << on_trial.status();
  const std::string digest = on_trial->table.digest;
  ASSERT_NE(digest, replaced.digest);
  JobServices services = Services();
  const ProfilingFunctions model = ModelProfilingFunctions();
  services.profiling.plan_verification = model.plan_verification;
  services.profiling.judge_verification = model.judge_verification;
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  // Than the default alone it is faster.
  const JobRecord alone =
      Run(queue, {.kernel = spec_.name,
                  .options = {.drift_probe = true, .verify_digest = digest}});
  EXPECT_EQ(alone.state, JobState::kSucceeded) << alone.message;
  const JobRecord job =
      Run(queue, {.kernel = spec_.name,
                  .options = {.drift_probe = true,
                              .verify_digest = digest,
                              .against_digest = replaced.digest}});
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, AllOf(HasSubstr("does NOT hold"),
                                 HasSubstr("slower than table " +
                                           ShortDigest(replaced.digest) +
                                           ", which it is to replace")));
  EXPECT_LE(device_.measured(), 2 * 64);
}

TEST_F(VerifyTableTest, OneThatCannotBeJudgedIsNotSaidToFail) {
  Run(StartQueue());
  device_.Throttle(kThermal);
  const TableRecord before = Serving();
  const JobRecord job = Verify(before);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(
      job.message,
      AllOf(HasSubstr("could not be judged"), HasSubstr("throttled"),
            HasSubstr("wavetune tables verify"), Not(HasSubstr("NOT hold"))));
  EXPECT_EQ(Serving(), before);
}

TEST_F(VerifyTableTest, NorIsAShippedOneWithTooFewPointsBesideTheDefault) {
  const TableRecord shipped = Ship(KeyHere(), Ranked(/*fastest=*/true));
  JobServices services = Services();
  services.profiling.judge_verification = [](const VerificationPlan&,
                                             const std::vector<Sample>&) {
    return Verdict{.judged = false, .reason = "refused: 1 of 12 points"};
  };
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  const JobRecord job =
      Run(queue,
          {.kernel = spec_.name,
           .options = {.drift_probe = true, .verify_digest = shipped.digest}});
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("serves on: 1 of 12 points. Try again"));
  EXPECT_EQ(job.drift->action, DriftAction::kUndecided);
  EXPECT_EQ(Serving(), shipped);
}

TEST_F(VerifyTableTest, ATableOfAnotherDriverIsComparedWithItsSamples) {
  Run(StartQueue());
  Upgrade([](const Configuration&) { return 1.25; });
  const TableRecord before = Serving();
  const JobRecord drifted = Verify(before);
  EXPECT_EQ(drifted.state, JobState::kFailed);
  EXPECT_THAT(drifted.message, HasSubstr("1.25"));
  EXPECT_EQ(Serving(), before);
  EXPECT_LE(upgraded_->measured(), 64);
  UpgradeAsFast();
  EXPECT_THAT(Verify(before).message, HasSubstr("carried over, epoch 2"));
  EXPECT_EQ(Serving().carried_from, EnvironmentKey(testing::H200()));
}

TEST_F(VerifyTableTest, ATableThatIsRetiredMeanwhileIsNotSaidToHold) {
  Run(StartQueue());
  const TableRecord before = Serving();
  bool retired = false;
  Upgrade([&](const Configuration&) {
    if (!retired) retired = tables_.Retire(before.key).ok();
    return 1.0;
  });
  const JobRecord job = Verify(before);
  EXPECT_TRUE(retired);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("not carried over"));
}

TEST_F(VerifyTableTest, ATableStaysWithTheAttachedClassThatItWasCarriedTo) {
  Run(StartQueue());
  UpgradeAsFast();
  EXPECT_THAT(Verify(Serving()).message, HasSubstr("carried over"));
  DeviceFacts other = Upgraded();
  other.uuid = "GPU-other";
  other.driver = "888.1";
  FakeMeasurementExecutor third(FakeMeasurementExecutor::Options{
      .facts = other, .latency_us = SyntheticLatency(&spec_, 64)});
  directory_.Attach(&third);
  ASSERT_TRUE(devices_.Put({.facts = other}).ok());
  const JobRecord job = Run(
      *queue_,
      {.kernel = spec_.name,
       .device_uuid = other.uuid,
       .options = {.drift_probe = true, .verify_digest = Serving().digest}});
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message,
              AllOf(HasSubstr("holds"), HasSubstr("it stays stale here")));
  EXPECT_EQ(Serving().key.environment_key, EnvironmentKey(Upgraded()));
  queue_ = nullptr;
  directory_.Detach(other.uuid);
}

TEST_F(VerifyTableTest, WhatIsOfAnotherBuildHoldsAndStaysStale) {
  ProfileKey key = KeyHere();
  key.fingerprint = std::string(64, 'e');
  const TableRecord shipped = Ship(key, Ranked(/*fastest=*/true));
  const JobRecord job = Verify(shipped);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message,
              AllOf(HasSubstr("holds"), HasSubstr("it stays stale")));
  EXPECT_EQ(Serving(), shipped);
}

TEST_F(VerifyTableTest, JudgesNoOtherTableThanTheOneThatIsMeant) {
  const TableRecord shipped = Ship(KeyHere(), Ranked(/*fastest=*/true));
  TableRecord other = shipped;
  other.digest = std::string(64, 'b');
  const JobRecord job = Verify(other);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, AllOf(HasSubstr("is not what answers"),
                                 HasSubstr(ShortDigest(shipped.digest))));
  EXPECT_EQ(device_.measured(), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(
      queue_->Reprofile({.options = {.verify_digest = shipped.digest}})
          .status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      queue_
          ->Reprofile(
              {.kernel = spec_.name,
               .options = {.drift_probe = true,
                           .verify_digest = ShortDigest(shipped.digest)}})
          .status()));
}

TEST_F(VerifyTableTest, AProfileVerifiesTheTableThatItsFitGivesAgain) {
  Run(StartQueue());
  Run(*queue_, {.options = {.refit_only = true}});
  const TableRecord own = Serving();
  const std::string payload = table_store_.Get(own.digest)->payload;
  TableRecord imported{.key = own.key};
  imported.how = PromotionKind::kImported;
  imported.unverified = true;
  ASSERT_TRUE(tables_.Retire(own.key).ok());
  ASSERT_TRUE(tables_.Import(imported, payload).ok());
  const JobRecord job = Run(*queue_, {.options = {.refit_only = true}});
  EXPECT_THAT(job.message, HasSubstr("promoted"));
  EXPECT_EQ(Serving().digest, own.digest);
  EXPECT_FALSE(Serving().unverified);
}

}  // namespace
}  // namespace wavetune
