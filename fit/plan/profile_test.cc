// PlanNext and FitTable together, driven by a synthetic device until nothing is
// left to measure.
#include "fit/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/digest.h"
#include "fit/build/fit_table.h"
#include "fit/plan/plan_next.h"
#include "fit/plan/verification.h"
#include "fit/testing/synthetic_device.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using testing::LayersOfDecodeAndPrefill;
using testing::SyntheticDevice;
using testing::SyntheticDeviceOptions;

// So many that twelve leaders at each are more than refining may measure.
KernelSpec GemmOfManyProblems() {
  KernelSpec spec = testing::GemmSpec();
  spec.representative_problems.clear();
  for (int64_t m = 1; m <= 3000; m += 1 + m / 4) {
    for (const int64_t n : {576, 1536, 4096}) {
      for (const int64_t k : {576, 2560}) {
        spec.representative_problems.push_back(
            {.problem = {.extents = {m, n, k}}});
      }
    }
  }
  return spec;
}

// Problems that no profile has measured.
std::vector<Problem> Unseen() {
  std::vector<Problem> problems;
  for (const int64_t m : {2, 8, 17, 33, 65, 128, 700}) {
    for (const int64_t n : {960, 3072}) {
      for (const int64_t k : {768, 2048})
        problems.push_back({{m, n, k}, {}, {}});
    }
  }
  return problems;
}

std::string Payload(const ProfileInput& input) {
  const auto fit = FitTable(input);
  EXPECT_TRUE(fit.ok()) << fit.status();
  return fit.ok() ? EncodeTable(fit->table).value() : "";
}

struct Quality {
  double mean = 0;  // Of oracle / chosen.
  double worst = 1;
  double inside = 0;  // Share of latencies within their bounds.
};

Quality Judge(const SyntheticDevice& device, const std::string& payload,
              const std::vector<Problem>& problems) {
  const auto table = CompiledTable::Create(payload).value();
  Quality quality;
  for (const Problem& problem : problems) {
    const Decision d = table->Resolve(
        table->SubTableIndex(problem.specialisation), problem.View());
    const double latency_us = device.TrueLatencyUs(d.configuration, problem);
    const double efficiency = device.OracleUs(problem) / latency_us;
    const double error = latency_us / d.latency_us - 1;
    const double n = static_cast<double>(problems.size());
    quality.mean += efficiency / n;
    quality.worst = std::min(quality.worst, efficiency);
    quality.inside +=
        (error < 0 ? -error : error) <= d.relative_bound ? 1 / n : 0;
  }
  return quality;
}

// Both kinds of device: capacities of hundreds of tiles, and of two.
class ProfileTest : public ::testing::TestWithParam<int32_t> {
 protected:
  ProfileTest()
      : device_(LayersOfDecodeAndPrefill(),
                SyntheticDeviceOptions{.multiprocessors = GetParam(),
                                       .blocks = 2}) {}

  // A whole profile of the device.
  struct Whole {
    explicit Whole(const SyntheticDevice& like)
        : device(like), done(Profile(device, device.Input(), &steps)) {}

    const SyntheticDevice device;  // That `done` points to.
    std::vector<ProfileStep> steps;
    const ProfileInput done;
  };

  // Made once in a process, as every test begins with it.
  const Whole& WholeProfile() const {
    static auto* const profiles = new std::map<int32_t, Whole>;
    return profiles->try_emplace(GetParam(), device_).first->second;
  }

  const SyntheticDevice device_;
};

std::string DeviceName(const ::testing::TestParamInfo<int32_t>& device) {
  return device.param == 132 ? "Gpu" : "Cpu";
}

INSTANTIATE_TEST_SUITE_P(Devices, ProfileTest, ::testing::Values(132, 1),
                         DeviceName);

TEST_P(ProfileTest, ChoosesNearlyTheBestForProblemsThatNobodyMeasured) {
  const ProfileInput& done = WholeProfile().done;
  const Quality quality = Judge(device_, Payload(done), Unseen());
  EXPECT_GE(quality.mean, 0.97);
  EXPECT_GE(quality.worst, 0.85);
  // The device's memory law is none that the model can follow: on the small
  // device three rows of tiles take up to a quarter longer than predicted.
  EXPECT_GE(quality.inside, 0.75);
}

TEST_P(ProfileTest, StaysWithinItsBudgetsAndRepeatsNothing) {
  const ProfileInput& done = WholeProfile().done;
  EXPECT_LE(done.samples.size(), 32 * done.candidates[0].size());
  std::set<std::pair<Configuration, Problem>> seen;
  ProfilePhase phase = ProfilePhase::kScreening;
  for (const ProfileStep& step : WholeProfile().steps) {
    EXPECT_LE(step.items.size(), 512u);
    EXPECT_GE(step.phase, phase);  // Never back.
    phase = step.phase;
    EXPECT_GE(step.samples_planned,
              static_cast<int64_t>(seen.size() + step.items.size()));
    for (const MeasureItem& item : step.items) {
      EXPECT_TRUE(seen.insert({item.configuration, item.problem}).second);
      EXPECT_TRUE(
          IsLegal(device_.spec(), item.configuration, item.problem.View()));
    }
  }
  EXPECT_EQ(phase, ProfilePhase::kRefining);
  EXPECT_EQ(PlanNext(done).phase, ProfilePhase::kDone);
}

TEST_P(ProfileTest, GoesOnFromAnyPrefixOfItsSamples) {
  const ProfileInput& done = WholeProfile().done;
  for (const size_t kept : {size_t{1}, size_t{70}, size_t{250}}) {
    ProfileInput prefix = done;
    ASSERT_GT(done.samples.size(), kept);
    prefix.samples.resize(kept);
    prefix = Profile(device_, std::move(prefix));
    EXPECT_EQ(Payload(prefix), Payload(done)) << kept;
  }
}

TEST_P(ProfileTest, TheOrderOfSamplesAndCandidatesDoesNotMatter) {
  const ProfileInput& done = WholeProfile().done;
  ProfileInput shuffled = done;
  std::reverse(shuffled.samples.begin(), shuffled.samples.end());
  std::rotate(shuffled.candidates[0].begin(),
              shuffled.candidates[0].begin() + 7, shuffled.candidates[0].end());
  std::reverse(shuffled.samples.begin() + 20, shuffled.samples.end());
  EXPECT_EQ(Payload(shuffled), Payload(done));
  shuffled.samples.resize(200);
  ProfileInput sorted = shuffled;
  std::sort(sorted.samples.begin(), sorted.samples.end(),
            [](const Sample& a, const Sample& b) {
              return a.latency_us < b.latency_us;
            });
  EXPECT_EQ(PlanNext(shuffled).items, PlanNext(sorted).items);
}

TEST_P(ProfileTest, WhatAnEarlierProfileMeasuredIsMeasuredAnew) {
  ProfileInput again = device_.Input();
  again.earlier_samples = WholeProfile().done.samples;
  EXPECT_EQ(PlanNext(again).items, PlanNext(device_.Input()).items);
  const ProfileInput done = Profile(device_, std::move(again));
  EXPECT_GE(done.samples.size(), done.earlier_samples.size() / 2);
  EXPECT_GT(FitTable(done)->report.earlier_samples, 0);
}

TEST_P(ProfileTest, FailedPairsAreNotAskedForAgain) {
  ProfileInput input = device_.Input();
  std::vector<MeasureItem> failed;
  for (int i = 0; i < 1000; ++i) {
    const ProfileStep step = PlanNext(input, failed);
    if (step.items.empty()) break;
    for (const MeasureItem& item : step.items) {
      EXPECT_EQ(std::count(failed.begin(), failed.end(), item), 0);
      // A macro configuration that crashes on everything, another on some.
      const bool crashes =
          item.configuration[0] == 16 &&
          (item.configuration[1] == 32 || item.problem.extents[2] > 1000);
      if (crashes) {
        failed.push_back(item);
      } else {
        input.samples.push_back(device_.Measure(item));
      }
    }
  }
  EXPECT_TRUE(PlanNext(input, failed).items.empty());
  EXPECT_TRUE(FitTable(input).ok());
}

// Runs a whole profile whose steps are planned while the ones before are
// measured, from what was known when those began.
ProfileInput ProfileBeside(const SyntheticDevice& device, ProfilePhase last) {
  ProfileInput input = device.Input();
  input.options.devices = 2;
  std::vector<MeasureItem> pending;
  ProfilePhase phase = ProfilePhase::kScreening;
  for (;;) {
    const ProfileStep next = PlanNext(input, {}, pending);
    for (const MeasureItem& item : pending) {
      EXPECT_EQ(std::count(next.items.begin(), next.items.end(), item), 0);
      input.samples.push_back(device.Measure(item));
    }
    EXPECT_TRUE(next.items.empty() || !next.awaits_pending);
    if (next.items.empty() && pending.empty()) return input;
    if (next.items.empty()) {
      pending.clear();
      continue;
    }
    EXPECT_GE(next.phase, phase);
    phase = next.phase;
    if (phase > last) return input;
    pending = next.items;
  }
}

TEST_P(ProfileTest, AnchorsAreTheSameWherePlanningDoesNotWaitForMeasuring) {
  std::set<std::pair<Configuration, Problem>> anchors;
  for (const ProfileStep& step : WholeProfile().steps) {
    if (step.phase > ProfilePhase::kSampling) break;
    for (const MeasureItem& item : step.items) {
      anchors.insert({item.configuration, item.problem});
    }
  }
  std::set<std::pair<Configuration, Problem>> beside;
  const ProfileInput input = ProfileBeside(device_, ProfilePhase::kSampling);
  for (const Sample& sample : input.samples) {
    EXPECT_TRUE(beside.insert({sample.configuration, sample.problem}).second);
  }
  EXPECT_EQ(beside, anchors);
}

TEST_P(ProfileTest, ChoosesAsWellWherePlanningDoesNotWaitForMeasuring) {
  const ProfileInput input = ProfileBeside(device_, ProfilePhase::kDone);
  EXPECT_LE(input.samples.size(), 32 * input.candidates[0].size());
  const Quality quality = Judge(device_, Payload(input), Unseen());
  const Quality usual = Judge(device_, Payload(WholeProfile().done), Unseen());
  EXPECT_GE(quality.mean, usual.mean - 0.003);
  EXPECT_GE(quality.worst, 0.85);
}

TEST(ProfilePlanTest, OfSeveralDevicesRefiningHasFewerSteps) {
  const SyntheticDevice device(LayersOfDecodeAndPrefill(),
                               {.multiprocessors = 1, .blocks = 2});
  std::map<int, int> steps_of;  // By the number of devices.
  for (const int devices : {1, 2}) {
    ProfileInput input = device.Input();
    input.options.devices = devices;
    input.options.samples_per_candidate = 100;  // As many as it wants.
    input.options.target_regret = 0;
    std::vector<ProfileStep> steps;
    Profile(device, std::move(input), &steps);
    for (const ProfileStep& step : steps) {
      if (step.phase != ProfilePhase::kRefining) continue;
      ++steps_of[devices];
      std::set<std::pair<Configuration, Problem>> pairs;
      for (const MeasureItem& item : step.items) {
        EXPECT_TRUE(pairs.insert({item.configuration, item.problem}).second);
      }
    }
  }
  EXPECT_LT(steps_of[2], steps_of[1]);
}

TEST_P(ProfileTest, EndsWhenItsDeviceTimeIsSpent) {
  ProfileInput input = device_.Input();
  input.options.device_time_budget_us = 20000;
  const ProfileInput done = Profile(device_, std::move(input));
  double time_us = 0;
  for (const Sample& sample : done.samples) time_us += sample.device_time_us;
  EXPECT_GE(time_us, 20000);
  EXPECT_LT(done.samples.size(), 32 * done.candidates[0].size());
}

TEST_P(ProfileTest, VerifiesAtProblemsThatNoSampleHasSeen) {
  const ProfileInput& done = WholeProfile().done;
  const Table table = FitTable(done).value().table;
  const VerificationPlan plan = PlanVerification(done, table, nullptr);
  const size_t named = WithoutRagged(plan).points.size();
  EXPECT_GE(named, 6u);
  EXPECT_LE(named, 12u);
  EXPECT_GT(plan.points.size(), named);
  EXPECT_LE(plan.points.size(), 18u);
  for (const VerificationPlan::Point& point : plan.points) {
    for (const Sample& sample : done.samples) {
      EXPECT_NE(sample.problem, point.problem);
    }
    EXPECT_EQ(point.incumbent, device_.spec().default_configuration);
  }
  std::vector<Sample> measured;
  for (const MeasureItem& item : plan.items) {
    measured.push_back(device_.Measure(item));
  }
  const Verdict verdict = JudgeVerification(plan, measured);
  EXPECT_TRUE(verdict.promote) << verdict.reason;
  EXPECT_GT(verdict.geomean_vs_default, 1);
}

TEST(ProfilePlanTest, NoisyDevicesGetUsefulTables) {
  const SyntheticDevice device(
      LayersOfDecodeAndPrefill(),
      {.multiprocessors = 2, .blocks = 1, .noise = 0.1});
  const Quality quality =
      Judge(device, Payload(Profile(device, device.Input())), Unseen());
  EXPECT_GE(quality.mean, 0.95);
  EXPECT_GE(quality.inside, 0.90);
}

// How many candidates refining measured at each problem.
std::map<Problem, size_t> Refined(const std::vector<ProfileStep>& steps) {
  std::map<Problem, size_t> samples;
  for (const ProfileStep& step : steps) {
    if (step.phase != ProfilePhase::kRefining) continue;
    for (const MeasureItem& item : step.items) ++samples[item.problem];
  }
  return samples;
}

TEST(ProfilePlanTest, HoweverManyProblemsAreNamedEachGetsAFewLeaders) {
  const SyntheticDevice device(GemmOfManyProblems(), {});
  ProfileInput input = device.Input();
  input.options.target_regret = 0;
  std::vector<ProfileStep> steps;
  Profile(device, std::move(input), &steps);
  const std::map<Problem, size_t> refined = Refined(steps);
  size_t samples = 0;
  size_t most = 0;
  for (const auto& [unused, count] : refined) {
    samples += count;
    most = std::max(most, count);
  }
  ASSERT_LT(samples, 12 * device.spec().representative_problems.size());
  // Four leaders, and as many again that these brought up.
  EXPECT_LE(most, 8u);
  EXPECT_GE(refined.size(), samples / 8);
}

TEST(ProfilePlanTest, ATopUpRefinesWhatIsNewBehindAWholeProfile) {
  const SyntheticDevice device(LayersOfDecodeAndPrefill(), {});
  ProfileInput input = device.Input();
  input.options.target_regret = 0;
  input = Profile(device, std::move(input));
  const size_t candidates = input.candidates[0].size();
  input.options.samples_per_candidate =
      static_cast<int>(input.samples.size() / candidates) + 8;
  input.options.refinement_samples = 4;
  input.representative_problems = device.spec().representative_problems;
  for (const int64_t m : {24, 48, 200, 500}) {
    input.representative_problems.push_back(
        {.problem = {.extents = {m, 2048, 1024}}, .weight = 20});
  }
  std::vector<ProfileStep> steps;
  Profile(device, std::move(input), &steps);
  const std::map<Problem, size_t> refined = Refined(steps);
  // Some problems are left for verification.
  EXPECT_GE(std::count_if(refined.begin(), refined.end(),
                          [](const auto& entry) {
                            return entry.first.extents[1] == 2048;
                          }),
            2);
}

TEST(ProfilePlanTest, SpecialisationsAreRefinedInTurns) {
  const SyntheticDevice device(testing::CausalAttentionSpec(), {});
  ProfileInput input = device.Input();
  input.options.target_regret = 0;
  std::vector<ProfileStep> steps;
  Profile(device, std::move(input), &steps);
  std::vector<std::string> turns;
  for (const ProfileStep& step : steps) {
    if (step.phase != ProfilePhase::kRefining) continue;
    turns.push_back(step.items[0].problem.specialisation);
  }
  ASSERT_GE(turns.size(), 2u);
  EXPECT_NE(turns[0], turns[1]);
}

TEST(ProfilePlanTest, SpecialisationsAreProfiledEach) {
  const SyntheticDevice device(testing::CausalAttentionSpec(), {});
  const ProfileInput done = Profile(device, device.Input());
  std::map<std::string, int> samples;
  for (const Sample& sample : done.samples) {
    ++samples[sample.problem.specialisation];
  }
  EXPECT_EQ(samples.size(), 2u);
  const Table table = FitTable(done).value().table;
  ASSERT_EQ(table.sub_tables.size(), 2u);
  EXPECT_EQ(table.sub_tables[0].specialisation, "causal");
  EXPECT_EQ(table.sub_tables[1].specialisation, "full");
}

TEST(ProfilePlanTest, ARepeatedDimensionIsProfiledToo) {
  const SyntheticDevice device(testing::GroupedGemmSpec(), {});
  const ProfileInput done = Profile(device, device.Input());
  EXPECT_GT(done.samples.size(), 100u);
  const Quality quality = Judge(device, Payload(done),
                                {{{0, 768, 2048}, {2, 5, 1, 7}, {}},
                                 {{0, 768, 1024}, {1, 4, 4, 1}, {}},
                                 {{0, 768, 2048}, {40, 30, 100, 9}, {}}});
  EXPECT_GE(quality.mean, 0.9);
}

TEST(ProfilePlanTest, AKernelWithoutALoopIsProfiledToo) {
  const SyntheticDevice device(testing::RowNormSpec(), {});
  const std::string payload = Payload(Profile(device, device.Input()));
  std::vector<Problem> unseen;
  for (const int64_t rows : {2, 20, 150, 1000, 3000}) {
    unseen.push_back({{rows, 4096}, {}, {}});
  }
  const Quality quality = Judge(device, payload, unseen);
  EXPECT_GE(quality.mean, 0.97);
  EXPECT_GE(quality.inside, 0.8);
  const Table table = DecodeTable(payload).value();
  EXPECT_EQ(table.sub_tables[0].loop_anchors, std::vector<double>{1});
}

TEST(ProfilePlanTest, AnExtentOnAxesAndInTheLoopIsProfiledToo) {
  const SyntheticDevice attention(testing::SelfAttentionSpec(), {});
  const std::string of_attention =
      Payload(Profile(attention, attention.Input()));
  std::vector<Problem> unseen;
  for (const char* name : {"full", "causal"}) {
    for (const int64_t seq : {60, 300, 1000, 4000}) {
      unseen.push_back({{1, 16, seq}, {}, name});
      unseen.push_back({{4, 32, seq}, {}, name});
    }
  }
  EXPECT_GE(Judge(attention, of_attention, unseen).mean, 0.95);

  const SyntheticDevice square(testing::SquareSpec(), {});
  const std::string of_square = Payload(Profile(square, square.Input()));
  EXPECT_GE(Judge(square, of_square,
                  {{{100}, {}, {}}, {{300}, {}, {}}, {{2000}, {}, {}}})
                .mean,
            0.95);
}

TEST(ProfilePlanTest, WithoutRepresentativeProblemsThePlanIsStable) {
  KernelSpec spec = LayersOfDecodeAndPrefill();
  spec.representative_problems.clear();
  const SyntheticDevice device(spec, {});
  const ProfileInput done = Profile(device, device.Input());
  EXPECT_LE(done.samples.size(), 32 * done.candidates[0].size());
  const auto fit = FitTable(done);
  ASSERT_TRUE(fit.ok());
  EXPECT_GE(Judge(device, EncodeTable(fit->table).value(), Unseen()).mean,
            0.93);
}

TEST(ProfilePlanTest, AnInconsistentInputPlansNothing) {
  EXPECT_EQ(PlanNext({}).phase, ProfilePhase::kDone);
  const SyntheticDevice device(LayersOfDecodeAndPrefill(), {});
  ProfileInput input = device.Input();
  input.candidates.clear();
  EXPECT_TRUE(PlanNext(input).items.empty());
  input = device.Input();
  for (Candidate& c : input.candidates[0]) c.excluded_reason = "too large";
  EXPECT_TRUE(PlanNext(input).items.empty());
}

// Experts of a mixture, a few with tokens or many, whose weights take the time.
KernelSpec ColdExperts(bool counts_bytes) {
  KernelSpec spec = testing::GroupedGemmSpec();
  spec.dimensions[0].min = 0;
  spec.representative_problems.clear();
  const auto add = [&](std::vector<int64_t> rows, int64_t n, int64_t k) {
    spec.representative_problems.push_back(
        {.problem = {.extents = {0, n, k}, .repeated = std::move(rows)}});
  };
  for (const int64_t n : {768, 2048}) {
    for (const int64_t k : {512, 1024}) {
      add({1, 0, 0, 2}, n, k);
      add({128, 0, 0, 0}, n, k);
      add({16, 16, 16, 16, 16, 16, 16, 16}, n, k);
      add({40, 0, 200, 3, 0, 9, 70, 30}, n, k);
    }
  }
  if (counts_bytes) {
    spec.mapping.cold_bytes = Expression::Product(
        {Expression::Constant(4),
         Expression::SumOver(0, Expression::Constant(1)),
         Expression::OfDimension(1), Expression::OfDimension(2)});
  }
  return spec;
}

std::vector<Problem> UnseenExperts() {
  std::vector<Problem> problems;
  for (const int64_t n : {960, 1536}) {
    for (const int64_t k : {640, 896}) {
      for (const std::vector<int64_t>& rows :
           {std::vector<int64_t>{64, 0, 0, 0, 0, 0, 0, 0},
            std::vector<int64_t>{8, 8, 8, 8, 8, 8, 8, 8},
            std::vector<int64_t>{0, 3, 0, 0, 1},
            std::vector<int64_t>{256, 0, 16, 0},
            std::vector<int64_t>{30, 30, 30, 30, 30, 30},
            std::vector<int64_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}) {
        problems.push_back({{0, n, k}, rows, {}});
      }
    }
  }
  return problems;
}

// The mean over devices whose noise differs.
double QualityOfColdExperts(bool counts_bytes) {
  double mean = 0;
  for (const uint64_t seed : {1, 2, 3}) {
    const SyntheticDevice device(
        ColdExperts(counts_bytes),
        {.multiprocessors = 16, .seed = seed, .cold_us_per_mib = 12});
    const std::string payload = Payload(Profile(device, device.Input()));
    const Table table = DecodeTable(payload).value();
    EXPECT_EQ(table.sub_tables[0].mapping.cold_bytes.has_value(), counts_bytes);
    mean += Judge(device, payload, UnseenExperts()).mean / 3;
  }
  return mean;
}

TEST(ColdBytesTest, CountingThemMovesChoicesNearerToTheBest) {
  const double without = QualityOfColdExperts(/*counts_bytes=*/false);
  const double with = QualityOfColdExperts(/*counts_bytes=*/true);
  EXPECT_GE(with, 0.97);
  EXPECT_GE(with, without + 0.04);
}

TEST(ColdBytesTest, ATableHasNoExpressionThatNothingIsMultipliedWith) {
  std::string payloads[2];
  for (const bool counts_bytes : {false, true}) {
    KernelSpec spec = ColdExperts(counts_bytes);
    spec.wave_form = WaveForm::kOverlap;  // Which does not read it.
    const SyntheticDevice device(std::move(spec), {.multiprocessors = 16});
    payloads[counts_bytes] = Payload(Profile(device, device.Input()));
  }
  EXPECT_EQ(payloads[0], payloads[1]);
}

}  // namespace
}  // namespace wavetune
