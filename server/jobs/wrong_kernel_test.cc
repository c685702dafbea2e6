// What becomes of a kernel that was shown to compute wrong results, and of its
// table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/digest.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "server/catalog/wrong_tables.h"
#include "server/jobs/job_queue_fixture.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class WrongKernelTest : public JobQueueFixture {
 protected:
  // The slowest but for the default: what is right is no slower than that.
  void ComputeWrong(size_t count) {
    const LatencyFunction latency_us = SyntheticLatency(&spec_, 64);
    const Problem& problem = spec_.representative_problems[0].problem;
    std::vector<Configuration> slowest = space_;
    std::erase(slowest, spec_.default_configuration);
    std::stable_sort(slowest.begin(), slowest.end(),
                     [&](const Configuration& a, const Configuration& b) {
                       return latency_us(a, problem) > latency_us(b, problem);
                     });
    for (size_t i = 0; i < count; ++i) device_.ComputeWrong(slowest[i]);
  }

  void ComputeAllWrong() {
    for (const Configuration& c : space_) device_.ComputeWrong(c);
  }

  std::vector<Configuration> Chosen() const {
    std::vector<Configuration> chosen;
    for (const auto current = tables_.snapshot();
         const ServingTable& serving : current->tables) {
      for (const SubTable& sub : serving.table->table().sub_tables) {
        for (const TableCandidate& candidate : sub.portfolio) {
          chosen.push_back(candidate.configuration);
        }
      }
    }
    return chosen;
  }

  const std::vector<Configuration> space_ = EnumerateConfigurations(spec_);
};

TEST_F(WrongKernelTest, NothingIsPromotedWhereMoreThanAQuarterIsWrong) {
  ComputeWrong(space_.size() / 4 + 1);
  const JobRecord job = Run(StartQueue());
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message,
              HasSubstr(absl::StrCat(space_.size() / 4 + 1, " of ",
                                     space_.size(), " checked candidates")));
  EXPECT_THAT(job.message, HasSubstr("wrong result: error 0.5"));
  EXPECT_THAT(job.message, HasSubstr("--promote-although-wrong"));
  EXPECT_THAT(tables_.snapshot()->tables, IsEmpty());
  EXPECT_EQ(device_.measured(), 0);  // Nothing would have come of it.
}

TEST_F(WrongKernelTest, ManyWrongOnesArePromotedBesideOnlyWhenAskedFor) {
  ComputeWrong(space_.size() / 2);
  JobQueue& queue = StartQueue();
  EXPECT_EQ(Run(queue).state, JobState::kFailed);
  const JobRecord job =
      Run(queue, {.options = {.promote_although_wrong = true}});
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_FALSE(job.digest.empty());
  EXPECT_THAT(job.message, HasSubstr("compute wrong results"));
}

TEST_F(WrongKernelTest, AFewWrongCandidatesAreCountedInTheMessage) {
  ComputeWrong(1);
  const JobRecord job = Run(StartQueue());
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message,
              HasSubstr(absl::StrCat("; 1 of ", space_.size(),
                                     " checked candidates computes wrong "
                                     "results, the first: ")));
}

TEST_F(WrongKernelTest, WrongCandidatesAreCountedAlsoWhereNoTableIsFitted) {
  ComputeWrong(1);
  JobServices services = Services();
  services.profiling.fit_table =
      [](const ProfileInput&) -> absl::StatusOr<FitResult> {
    return absl::InternalError("no fit");
  };
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  const JobRecord job = Run(queue);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("no fit; 1 of "));
}

TEST_F(WrongKernelTest, TheOthersOfAKernelWithAWrongCandidateAreCheckedAgain) {
  JobQueue& queue = StartQueue();
  ComputeWrong(1);
  Run(queue);
  const int64_t others = Candidates() - 1;
  EXPECT_EQ(device_.prepared(), Candidates() + 8 * others);
  // What was found right nine times is not checked by every later job.
  Run(queue);
  EXPECT_EQ(device_.prepared(), Candidates() + 8 * others);
}

TEST_F(WrongKernelTest, ARightKernelIsCheckedOnce) {
  Run(StartQueue());
  EXPECT_EQ(device_.prepared(), Candidates());
}

TEST_F(WrongKernelTest, ACandidateThatIsWrongNowAndThenIsFoundOut) {
  ASSERT_EQ(Run(StartQueue()).state, JobState::kSucceeded);
  const std::vector<Configuration> lucky = Chosen();
  ASSERT_FALSE(lucky.empty());
  ComputeWrong(1);
  device_.ComputeWrong(lucky[0], /*from_check=*/7);
  const JobRecord job = Run(*queue_, {.fresh = true});
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(Chosen(), Not(::testing::Contains(lucky[0])));
  EXPECT_THAT(job.excluded, SizeIs(2));
}

TEST_F(WrongKernelTest, ATableWhoseChoiceIsShownWrongIsWithdrawn) {
  JobQueue& queue = StartQueue();
  const JobRecord first = Run(queue);
  ASSERT_FALSE(first.digest.empty());
  ComputeAllWrong();
  const JobRecord job = Run(queue, {.fresh = true});
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("table " + ShortDigest(first.digest) +
                                     " was withdrawn"));
  EXPECT_THAT(tables_.snapshot()->tables, IsEmpty());
  ASSERT_THAT(tables_.snapshot()->withdrawn, SizeIs(1));
  EXPECT_EQ(tables_.snapshot()->withdrawn[0].record.digest, first.digest);
  const auto found = tables_.Find({.kernel = spec_.name});
  EXPECT_TRUE(absl::IsNotFound(found.status()));
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("was withdrawn: it chooses "));
}

TEST_F(WrongKernelTest, ATableOfAnAlikeDevicesJobIsNotReplacedUnseen) {
  JobServices services = Services();
  std::string other;
  const auto fit = services.profiling.fit_table;
  services.profiling.fit_table =
      [&](const ProfileInput& input) -> absl::StatusOr<FitResult> {
    absl::StatusOr<FitResult> fitted = fit(input);
    if (!fitted.ok()) return fitted;
    const ProfileKey key{spec_.name, input.fingerprint,
                         SiliconKey(input.device),
                         EnvironmentKey(input.device)};
    const Table table =
        FixedTable(spec_, key, spec_.default_configuration, 1000);
    other = tables_.Promote({.key = key}, EncodeTable(table).value())->digest;
    return fitted;
  };
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  const JobRecord job = Run(queue);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message, HasSubstr("not promoted, table " +
                                     ShortDigest(other) + " serves on"));
  EXPECT_THAT(job.message, HasSubstr("by another job"));
  EXPECT_EQ(tables_.snapshot()->tables[0].record.digest, other);
}

TEST_F(WrongKernelTest, AWithdrawnTableStaysWithdrawnAfterARestart) {
  JobQueue& queue = StartQueue();
  Run(queue);
  ComputeAllWrong();
  Run(queue, {.fresh = true});
  TableCatalog restarted(&table_store_, [](const std::string&) {});
  ASSERT_TRUE(restarted.Load().ok());
  EXPECT_THAT(restarted.snapshot()->tables, IsEmpty());
  EXPECT_TRUE(restarted.FindWithdrawn({.kernel = spec_.name}).has_value());
}

TEST_F(WrongKernelTest, AStartWithdrawsWhatAnEarlierDaemonLeftServing) {
  const JobRecord job = Run(StartQueue());
  const std::vector<Configuration> chosen = Chosen();
  WithdrawWrongTables(samples_, tables_, 7, Warn());
  EXPECT_THAT(tables_.snapshot()->tables, SizeIs(1));
  ASSERT_TRUE(samples_
                  .Append(job.key, job.generation, {},
                          {{.candidate = {.configuration = chosen.back(),
                                          .excluded_reason =
                                              "wrong result: error 0.5"}}})
                  .ok());
  WithdrawWrongTables(samples_, tables_, 7, Warn());
  EXPECT_THAT(tables_.snapshot()->tables, IsEmpty());
  ASSERT_THAT(tables_.snapshot()->withdrawn, SizeIs(1));
  EXPECT_EQ(tables_.snapshot()->withdrawn[0].record.withdrawn,
            "it chooses " + FormatConfiguration(spec_, chosen.back()) +
                ", which computes wrong results");
  EXPECT_THAT(warnings_, SizeIs(1));
}

TEST_F(WrongKernelTest, AWithdrawnTableIsWithdrawnAlsoWhereTheJobGoesOn) {
  JobQueue& queue = StartQueue();
  const JobRecord first = Run(queue);
  const std::vector<Configuration> chosen = Chosen();
  device_.ComputeWrong(chosen[0]);
  const JobRecord job = Run(queue, {.fresh = true});
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message, HasSubstr("was withdrawn"));
  // Another one took its place.
  EXPECT_NE(job.digest, first.digest);
  EXPECT_THAT(tables_.snapshot()->withdrawn, IsEmpty());
  EXPECT_THAT(Chosen(), Not(::testing::Contains(chosen[0])));
}

TEST_F(WrongKernelTest, ALuckyTableIsCheckedAlsoWhereNothingWillBePromoted) {
  JobQueue& queue = StartQueue();
  Run(queue);
  const std::vector<Configuration> chosen = Chosen();
  for (const Configuration& c : space_) {
    if (std::find(chosen.begin(), chosen.end(), c) == chosen.end()) {
      device_.ComputeWrong(c);
    }
  }
  // One check in the first profile, one in the next: lost at the fifth.
  for (const Configuration& c : chosen) device_.ComputeWrong(c, 5);
  const JobRecord job = Run(queue, {.fresh = true});
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(tables_.snapshot()->tables, IsEmpty());
  EXPECT_THAT(tables_.snapshot()->withdrawn, SizeIs(1));
}

TEST_F(WrongKernelTest, ATopUpOfWhatWasAllowedGoesOn) {
  ComputeWrong(space_.size() / 2);
  JobQueue& queue = StartQueue();
  const JobRecord allowed =
      Run(queue, {.options = {.promote_although_wrong = true}});
  ASSERT_FALSE(allowed.digest.empty()) << allowed.message;
  const JobRecord job = Run(queue, {.options = {.top_up = true}});
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
}

TEST_F(WrongKernelTest, RefittingDoesNotTrustWhatWasCheckedOnce) {
  JobQueue& queue = StartQueue();
  const JobRecord first = Run(queue);
  // As an earlier daemon has left it, or a job that was interrupted.
  ASSERT_TRUE(samples_
                  .Append(first.key, first.generation, {},
                          {{.candidate = {.configuration = space_.back(),
                                          .excluded_reason =
                                              "wrong result: error 0.5"}}})
                  .ok());
  const JobRecord refit = Run(queue, {.options = {.refit_only = true}});
  EXPECT_EQ(refit.state, JobState::kFailed);
  EXPECT_THAT(refit.message, HasSubstr("checked too seldom"));
  EXPECT_EQ(Run(queue).state, JobState::kSucceeded);
  EXPECT_EQ(Run(queue, {.options = {.refit_only = true}}).state,
            JobState::kSucceeded);
}

TEST_F(WrongKernelTest, ADefaultThatCannotRunIsSaidByTheJob) {
  device_.Refuse(spec_.default_configuration, "does not compile: line 3");
  const JobRecord job = Run(StartQueue());
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message, HasSubstr("the default configuration "));
  EXPECT_THAT(job.message, HasSubstr("cannot be used on this device"));
  EXPECT_THAT(job.message, HasSubstr("does not compile: line 3"));
}

}  // namespace
}  // namespace wavetune
