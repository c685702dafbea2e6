// FitTable on input that is bad, thin or odd: it says what it did, widens
// bounds, or refuses.
#include "fit/build/fit_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/strings/str_join.h"
#include "fit/build/fit_notes.h"
#include "fit/profile.h"
#include "fit/testing/synthetic_device.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using testing::SyntheticDevice;

class FitTableTest : public ::testing::Test {
 protected:
  FitTableTest() : device_(testing::GemmSpec(), {}) {}

  // A finished profile.
  const ProfileInput& Done() {
    if (done_.spec == nullptr) done_ = Profile(device_, device_.Input());
    return done_;
  }

  static std::string Notes(const FitResult& fit) {
    return absl::StrJoin(fit.report.notes, "\n");
  }

  static double LargestBound(const Table& table) {
    double largest = 0;
    for (const MacroGroup& group : table.sub_tables[0].groups) {
      for (const GroupModel& model : group.models) {
        for (const WaveSegment& segment : model.segments) {
          largest = std::max(largest, segment.relative_bound);
        }
      }
    }
    return largest;
  }

  static double SmallestBound(const Table& table) {
    double smallest = 1;
    for (const MacroGroup& group : table.sub_tables[0].groups) {
      for (const GroupModel& model : group.models) {
        for (const WaveSegment& segment : model.segments) {
          smallest = std::min(smallest, segment.relative_bound);
        }
      }
    }
    return smallest;
  }

  const SyntheticDevice device_;
  ProfileInput done_;
};

TEST_F(FitTableTest, CountsWhatItUsed) {
  const FitResult fit = FitTable(Done()).value();
  EXPECT_EQ(fit.report.samples_used,
            static_cast<int64_t>(Done().samples.size()));
  EXPECT_EQ(fit.report.samples_dropped, 0);
  EXPECT_GT(fit.report.samples_within_8_waves, fit.report.samples_used / 2);
  EXPECT_GT(fit.report.median_relative_error, 0);
  EXPECT_LT(fit.report.median_relative_error, 0.05);
  EXPECT_THAT(Notes(fit), HasSubstr("portfolio of"));
}

TEST_F(FitTableTest, BadSamplesDoNotMoveTheTable) {
  ProfileInput input = Done();
  for (const double latency_us :
       {std::numeric_limits<double>::quiet_NaN(), 0.0, -1.0, 1e15,
        std::numeric_limits<double>::infinity()}) {
    Sample bad = input.samples[3];
    bad.latency_us = latency_us;
    input.samples.push_back(bad);
  }
  Sample stranger = input.samples[0];
  stranger.configuration = {1, 2, 3, 4, 5};
  input.samples.push_back(stranger);
  Sample wrong = input.samples[0];
  wrong.problem.extents.pop_back();
  input.samples.push_back(wrong);
  const FitResult fit = FitTable(input).value();
  EXPECT_EQ(fit.table, FitTable(Done()).value().table);
  EXPECT_EQ(fit.report.samples_dropped, 7);
  EXPECT_THAT(Notes(fit), HasSubstr("5 samples dropped: latency not a number"));
  EXPECT_THAT(Notes(fit), HasSubstr("2 samples dropped: of candidates"));
}

TEST_F(FitTableTest, RepeatedSamplesCountOnce) {
  ProfileInput input = Done();
  input.samples.push_back(input.samples[5]);
  input.samples.push_back(input.samples[5]);
  const FitResult fit = FitTable(input).value();
  EXPECT_EQ(fit.table, FitTable(Done()).value().table);
  EXPECT_THAT(Notes(fit), HasSubstr("2 repeated samples merged"));
}

TEST_F(FitTableTest, EarlierSamplesThatAgreeAreFittedToo) {
  ProfileInput input = Done();
  input.earlier_samples = input.samples;
  for (size_t i = 0; i < input.earlier_samples.size(); ++i) {
    input.earlier_samples[i].latency_us *= i % 2 == 0 ? 1.01 : 0.99;
  }
  const FitResult fit = FitTable(input).value();
  EXPECT_GT(fit.report.earlier_samples, fit.report.samples_used / 3);
  EXPECT_NE(fit.table, FitTable(Done()).value().table);
  EXPECT_THAT(Notes(fit), HasSubstr("samples of earlier profiles fitted, too"));
}

TEST_F(FitTableTest, EarlierSamplesOfASlowerDeviceDoNotMoveTheTable) {
  ProfileInput input = Done();
  input.earlier_samples = input.samples;
  for (Sample& sample : input.earlier_samples) sample.latency_us *= 1.1;
  const FitResult fit = FitTable(input).value();
  EXPECT_EQ(fit.report.earlier_samples, 0);
  EXPECT_EQ(fit.table, FitTable(Done()).value().table);
  EXPECT_THAT(Notes(fit), HasSubstr("samples of earlier profiles left out"));
}

TEST_F(FitTableTest, OneWildSamplePerCandidateHardlyMatters) {
  ProfileInput input = Done();
  for (size_t i = 0; i < input.samples.size(); i += 23) {
    input.samples[i].latency_us *= i % 2 == 0 ? 0.001 : 50;
  }
  const FitResult fit = FitTable(input).value();
  EXPECT_GT(fit.report.samples_dropped, 0);
  EXPECT_LT(fit.report.median_relative_error, 0.05);
}

TEST_F(FitTableTest, WhereEverythingIsSuspectBoundsAreWider) {
  ProfileInput input = Done();
  for (Sample& sample : input.samples) sample.suspect = true;
  const FitResult fit = FitTable(input).value();
  EXPECT_THAT(Notes(fit), HasSubstr("samples doubted"));
  EXPECT_GE(SmallestBound(fit.table),
            kUnmeasuredMargin + kSigmas * kLeastSigma);
}

TEST_F(FitTableTest, SaysHowMuchIsKnownFromAThrottledDeviceAlone) {
  ProfileInput input = Done();
  EXPECT_EQ(FitTable(input)->report.throttled_share, 0);
  for (Sample& sample : input.samples) {
    sample.suspect = sample.throttled = true;
  }
  const FitResult fit = FitTable(input).value();
  EXPECT_EQ(fit.report.throttled_share, 1);
  EXPECT_THAT(Notes(fit), HasSubstr("while the device was throttled"));
}

TEST_F(FitTableTest, RefusesWithTooFewSamples) {
  ProfileInput input = Done();
  input.samples.resize(3);
  const absl::Status status = FitTable(input).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("usable samples"));
  input.samples.clear();
  EXPECT_EQ(FitTable(input).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(FitTableTest, RefusesWhereNothingCompiled) {
  ProfileInput input = Done();
  for (Candidate& c : input.candidates[0]) c.excluded_reason = "no registers";
  EXPECT_EQ(FitTable(input).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(FitTableTest, RefusesInconsistentInput) {
  ProfileInput input;
  EXPECT_EQ(FitTable(input).status().code(),
            absl::StatusCode::kInvalidArgument);
  input = Done();
  input.candidates.emplace_back();
  EXPECT_EQ(FitTable(input).status().code(),
            absl::StatusCode::kInvalidArgument);
  input = Done();
  input.candidates[0][0].tiles_per_wave = 0;
  EXPECT_EQ(FitTable(input).status().code(),
            absl::StatusCode::kInvalidArgument);
  input = Done();
  input.candidates[0][0].configuration = {1};
  EXPECT_EQ(FitTable(input).status().code(),
            absl::StatusCode::kInvalidArgument);
  input = Done();
  input.options.portfolio_size = -1;
  EXPECT_EQ(FitTable(input).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(FitTableTest, OneSamplePerRegimeFitsWithWideBounds) {
  ProfileInput input = device_.Input();
  for (const Candidate& candidate : input.candidates[0]) {
    for (const Problem& problem :
         {Problem{{1, 4096, 1024}, {}, {}}, Problem{{80, 512, 1024}, {}, {}},
          Problem{{512, 512, 512}, {}, {}},
          Problem{{4096, 4096, 512}, {}, {}}}) {
      input.samples.push_back(
          device_.Measure({candidate.configuration, problem}));
    }
  }
  const FitResult fit = FitTable(input).value();
  EXPECT_THAT(Notes(fit), HasSubstr("no samples of their own"));
  EXPECT_GE(LargestBound(fit.table), 0.2);
}

TEST_F(FitTableTest, AKernelWhoseLatencyKnowsNoWavesIsSaidToBePoor) {
  ProfileInput input = Done();
  uint64_t state = 1;
  for (Sample& sample : input.samples) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    sample.latency_us = 50 + static_cast<double>(state >> 56);
  }
  const auto fit = FitTable(input);
  ASSERT_TRUE(fit.ok());
  EXPECT_THAT(Notes(*fit), HasSubstr("does not follow waves"));
  ASSERT_FALSE(fit->report.warnings.empty());
  EXPECT_THAT(fit->report.warnings[0], HasSubstr("does not follow waves"));
  EXPECT_GE(LargestBound(fit->table), 0.25);
}

TEST_F(FitTableTest, ASpaceWithOneConfigurationHasAPortfolioOfOne) {
  KernelSpec spec = testing::GemmSpec();
  for (Parameter& parameter : spec.parameters) parameter.values.resize(1);
  spec.default_configuration = {16, 32, 16, 1, 1};
  const SyntheticDevice device(spec, {});
  const ProfileInput done = Profile(device, device.Input());
  EXPECT_LE(done.samples.size(), 32u);
  const FitResult fit = FitTable(done).value();
  EXPECT_EQ(fit.table.sub_tables[0].portfolio.size(), 1u);
  EXPECT_TRUE(EncodeTable(fit.table).ok());
}

TEST_F(FitTableTest, CandidatesThatScreeningDroppedAreNotChosen) {
  ProfileInput input = Done();
  // A candidate with few, marvellous samples.
  const Configuration lucky = input.candidates[0][0].configuration;
  std::vector<Sample> kept;
  int count = 0;
  for (Sample sample : input.samples) {
    if (sample.configuration == lucky) {
      if (++count > 6) continue;
      sample.latency_us *= 0.3;
    }
    kept.push_back(sample);
  }
  input.samples = kept;
  const FitResult fit = FitTable(input).value();
  for (const TableCandidate& c : fit.table.sub_tables[0].portfolio) {
    EXPECT_NE(c.configuration, lucky);
  }
}

TEST_F(FitTableTest, EveryTableCanDecideEveryLegalProblem) {
  const auto table =
      CompiledTable::Create(EncodeTable(FitTable(Done()).value().table).value())
          .value();
  // k = 577 is a multiple of no vector but 1.
  EXPECT_NE(table->Resolve(0, {3, 576, 577}).source, DecisionSource::kDefault);
}

TEST_F(FitTableTest, RowsAreSharedOnlyByEqualPredicates) {
  const Table table = FitTable(Done()).value().table;
  const SubTable& sub = table.sub_tables[0];
  for (const MacroGroup& group : sub.groups) {
    for (const GroupModel& model : group.models) {
      for (const WaveSegment& segment : model.segments) {
        for (const uint8_t member : segment.micro) {
          EXPECT_EQ(sub.portfolio[member].configuration[4],
                    sub.portfolio[group.lead].configuration[4]);
        }
      }
    }
  }
}

TEST_F(FitTableTest, TheKernelSaysHowManyCandidatesWhereTheCallerDoesNot) {
  ProfileInput input = Done();
  KernelSpec spec = *input.spec;
  input.spec = &spec;
  spec.portfolio_size = 2;
  EXPECT_THAT(FitTable(input)->table.sub_tables[0].portfolio, SizeIs(2));
  input.options.portfolio_size = 3;
  EXPECT_THAT(FitTable(input)->table.sub_tables[0].portfolio, SizeIs(3));
}

TEST_F(FitTableTest, LargePortfoliosAreCutToWhatAPayloadHolds) {
  ProfileInput input = Done();
  input.options.portfolio_size = 1000;
  const auto fit = FitTable(input);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_TRUE(EncodeTable(fit->table).ok());
}

// Beyond what was measured a prediction of a noisy device says little.
TEST(WaryTableTest, AVeryNoisyDeviceKeepsTheDefaultWhereItIsTheBetterGuess) {
  const SyntheticDevice device(testing::GemmSpec(WaveForm::kOverlap),
                               {.noise = 0.6, .seed = 6});
  const FitResult fit = FitTable(Profile(device, device.Input())).value();
  EXPECT_THAT(absl::StrJoin(fit.report.notes, "\n"),
              HasSubstr("beyond what was measured the default answers"));
  Table plain = fit.table;
  ASSERT_TRUE(plain.sub_tables[0].wary);
  plain.sub_tables[0].wary = false;
  const auto compile = [](const Table& table) {
    return CompiledTable::Create(EncodeTable(table).value()).value();
  };
  const auto wary = compile(fit.table);
  const auto bold = compile(plain);
  int kept = 0;
  double wary_regret = 0;
  double bold_regret = 0;
  for (const int64_t m : {1, 64, 1024, 16384}) {
    for (const int64_t n : {256, 4096, 16384}) {
      for (const int64_t k : {64, 4096, 65536}) {
        const Problem problem = {{m, n, k}, {}, {}};
        const Decision usual = bold->Resolve(0, problem.View());
        const Decision decision = wary->Resolve(0, problem.View());
        if (decision.configuration == usual.configuration) continue;
        ++kept;
        EXPECT_EQ(usual.source, DecisionSource::kExtrapolated);
        EXPECT_EQ(decision.configuration, fit.table.default_configuration);
        const double best_us = device.OracleUs(problem);
        const auto regret = [&](const Decision& d) {
          return device.TrueLatencyUs(d.configuration, problem) / best_us - 1;
        };
        wary_regret += regret(decision);
        bold_regret += regret(usual);
      }
    }
  }
  EXPECT_GT(kept, 5);
  EXPECT_LT(2 * wary_regret, bold_regret);
}

TEST_F(FitTableTest, AQuietDeviceGivesATableThatIsNotWary) {
  EXPECT_FALSE(FitTable(Done()).value().table.sub_tables[0].wary);
}

TEST(FitNotesTest, WarningsAreTheWorstNotesAndFew) {
  EXPECT_THAT(Warnings({{"for information"}}), ::testing::IsEmpty());
  EXPECT_THAT(Warnings({{"bad", 1}, {"for information"}, {"worse", 2}}),
              ::testing::ElementsAre("worse", "bad"));
  const std::vector<std::string> many =
      Warnings({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 2}});
  ASSERT_EQ(many.size(), kMostWarnings + 1);
  EXPECT_EQ(many[0], "f");
  EXPECT_THAT(many.back(), HasSubstr("2 more"));
}

}  // namespace
}  // namespace wavetune
