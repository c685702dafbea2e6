#include "fit/plan/drift_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fit/build/fit_table.h"
#include "fit/plan/verification.h"
#include "fit/testing/synthetic_device.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/configuration_text.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "model/table/table_codec.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LayersOfDecodeAndPrefill;
using ::testing::Not;
using ::testing::SizeIs;
using testing::SyntheticDevice;

// One profile, which all tests read.
struct Profiled {
  Profiled()
      : device(LayersOfDecodeAndPrefill(), {.multiprocessors = 132}),
        input(testing::Profile(device, device.Input())),
        table(CompiledTable::Create(EncodeTable(FitTable(input)->table).value())
                  .value()) {}

  const SyntheticDevice device;
  const ProfileInput input;
  const std::shared_ptr<const CompiledTable> table;
};

const Profiled& Before() {
  static const Profiled& before = *new Profiled();
  return before;
}

class DriftProbeTest : public ::testing::Test {
 protected:
  // How many times as long a pair takes as it did.
  using Slower = std::function<double(const MeasureItem&)>;

  static std::vector<DriftProbePair> Plan(const DriftProbeLimits& limits = {}) {
    return PlanDriftProbe(
        {.table = Before().table.get(), .before = Before().input.samples},
        WithoutRagged(
            PlanVerification(Before().input, Before().table->table(), nullptr))
            .items,
        limits);
  }

  // Measured by a device with other noise.
  static std::vector<Sample> Measure(const std::vector<DriftProbePair>& pairs,
                                     const Slower& slower) {
    const SyntheticDevice now(LayersOfDecodeAndPrefill(),
                              {.multiprocessors = 132, .seed = 2});
    std::vector<Sample> measured;
    for (const DriftProbePair& pair : pairs) {
      measured.push_back(now.Measure(pair.item));
      measured.back().latency_us *= slower(pair.item);
    }
    return measured;
  }

  static DriftReport Judge(const Slower& slower) {
    const std::vector<DriftProbePair> pairs = Plan();
    return JudgeDriftProbe(pairs, Measure(pairs, slower));
  }

  static bool HasOneRow(const MeasureItem& item) {
    return MapProblem(Before().table->table().sub_tables[0].mapping,
                      item.problem.View(), item.configuration)
               .rows == 1;
  }
};

// The default, say, where it is no member: it was measured before, and is no
// pair.
TEST_F(DriftProbeTest, LeavesRoomForTheRestOfTheVerification) {
  const std::vector<TableCandidate>& portfolio =
      Before().table->table().sub_tables[0].portfolio;
  std::vector<MeasureItem> verification;
  std::vector<MeasureItem> others;
  for (const Sample& sample : Before().input.samples) {
    const bool member = std::any_of(
        portfolio.begin(), portfolio.end(), [&](const TableCandidate& c) {
          return c.configuration == sample.configuration;
        });
    std::vector<MeasureItem>& list = member ? verification : others;
    if (list.size() < 12)
      list.push_back({sample.configuration, sample.problem});
  }
  ASSERT_THAT(others, SizeIs(12));
  verification.insert(verification.end(), others.begin(), others.end());
  const std::vector<DriftProbePair> pairs = PlanDriftProbe(
      {.table = Before().table.get(), .before = Before().input.samples},
      verification);
  EXPECT_THAT(pairs, SizeIs(64 - 12));
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(pairs[i].item, verification[i]);
}

TEST_F(DriftProbeTest, AsksForPairsOfThePortfolioThatWereMeasuredBefore) {
  const std::vector<DriftProbePair> pairs = Plan();
  EXPECT_THAT(pairs, SizeIs(40));  // Beside 24 of the verification.
  std::set<std::string> regimes;
  std::set<std::pair<Configuration, Problem>> distinct;
  const std::vector<TableCandidate>& portfolio =
      Before().table->table().sub_tables[0].portfolio;
  for (const DriftProbePair& pair : pairs) {
    regimes.insert(pair.structure);
    distinct.emplace(pair.item.configuration, pair.item.problem);
    EXPECT_TRUE(std::any_of(
        portfolio.begin(), portfolio.end(), [&](const TableCandidate& member) {
          return member.configuration == pair.item.configuration;
        }));
    EXPECT_GT(pair.before.latency_us, 0);
  }
  EXPECT_THAT(distinct, SizeIs(40));
  EXPECT_GT(regimes.size(), 2U);
  EXPECT_THAT(Plan({.measurements = 44}), SizeIs(20));
}

TEST_F(DriftProbeTest, KeepsToItsTime) {
  double time_us = 0;
  for (const DriftProbePair& pair : Plan({.device_time_us = 50e3})) {
    time_us += pair.before.device_time_us;
  }
  EXPECT_LE(time_us, 50e3);
}

TEST_F(DriftProbeTest, AsksForNothingWhereNothingWasMeasured) {
  EXPECT_THAT(PlanDriftProbe({.table = Before().table.get()}, {}), IsEmpty());
}

TEST_F(DriftProbeTest, CarriesOverWhatIsAsItWas) {
  const DriftReport report = Judge([](const MeasureItem&) { return 1; });
  EXPECT_EQ(report.action, DriftAction::kCarryOver) << report.reason;
  EXPECT_THAT(report.reason, HasSubstr("40 pairs"));
}

// As on a busy host, whose pairs scatter whatever the driver.
TEST_F(DriftProbeTest, CarriesOverWhatScattersAboutWhatItWas) {
  int pairs = 0;
  const DriftReport report = Judge([&](const MeasureItem&) {
    const double scatter[] = {1, 1.12, 0.9};
    return scatter[pairs++ % 3];
  });
  EXPECT_EQ(report.action, DriftAction::kCarryOver) << report.reason;
}

TEST_F(DriftProbeTest, ProfilesWhereAllBecameSlowerAlike) {
  for (const double slower : {1.05, 1.2, 0.8}) {
    const DriftReport report =
        Judge([&](const MeasureItem&) { return slower; });
    EXPECT_EQ(report.action, DriftAction::kProfile) << report.reason;
  }
}

TEST_F(DriftProbeTest, ProfilesWhereOneKindOfProblemsDrifted) {
  const DriftReport report =
      Judge([](const MeasureItem& item) { return HasOneRow(item) ? 1.3 : 1; });
  EXPECT_EQ(report.action, DriftAction::kProfile) << report.reason;
  ASSERT_THAT(report.regimes, Not(IsEmpty()));
  EXPECT_TRUE(report.regimes[0].drifted);
  EXPECT_TRUE(std::any_of(
      report.regimes.begin(), report.regimes.end(), [](const DriftRegime& r) {
        return r.drifted && r.name.find("one row of tiles") == 0;
      }));
  EXPECT_NEAR(report.regimes[0].median_ratio, 1.3, 0.05);
}

// Its pairs are a part of each kind of problems.
TEST_F(DriftProbeTest, ProfilesWhereAConfigurationDrifted) {
  const Configuration slow = Plan()[0].item.configuration;
  const DriftReport report = Judge([&](const MeasureItem& item) {
    return item.configuration == slow ? 3 : 1;
  });
  EXPECT_EQ(report.action, DriftAction::kProfile) << report.reason;
  const std::string name =
      FormatConfiguration(Before().table->table().parameters, slow);
  EXPECT_THAT(report.reason, HasSubstr(name));
  ASSERT_THAT(report.regimes, Not(IsEmpty()));
  EXPECT_EQ(report.regimes[0].name, name);
  EXPECT_NEAR(report.regimes[0].median_ratio, 3, 0.1);
  EXPECT_EQ(std::count_if(report.regimes.begin(), report.regimes.end(),
                          [](const DriftRegime& r) { return r.drifted; }),
            1);
}

TEST_F(DriftProbeTest, ProfilesWhereWhatDriftedIsOfNoKind) {
  int pairs = 0;
  const DriftReport report =
      Judge([&](const MeasureItem&) { return ++pairs % 3 == 0 ? 1.5 : 1; });
  EXPECT_EQ(report.action, DriftAction::kProfile) << report.reason;
}

// As on a busy host. Pairs that are alone at their problem: of two the order
// would have changed.
TEST_F(DriftProbeTest, CarriesOverWhereSinglePairsAreFarOff) {
  const std::vector<DriftProbePair> pairs = Plan();
  std::map<Problem, int> rivals;
  for (const DriftProbePair& pair : pairs) ++rivals[pair.item.problem];
  std::set<std::string> regimes;
  std::vector<MeasureItem> off;
  for (const DriftProbePair& pair : pairs) {
    if (rivals[pair.item.problem] == 1 && !regimes.contains(pair.structure) &&
        regimes.insert(pair.configuration).second) {
      regimes.insert(pair.structure);
      off.push_back(pair.item);
    }
  }
  ASSERT_GE(off.size(), 2U);
  const DriftReport report = Judge([&](const MeasureItem& item) {
    return std::find(off.begin(), off.end(), item) == off.end() ? 1 : 3;
  });
  EXPECT_EQ(report.action, DriftAction::kCarryOver) << report.reason;
}

TEST_F(DriftProbeTest, CannotJudgeWhereTooFewPairsCouldBeMeasured) {
  const std::vector<DriftProbePair> pairs = Plan();
  std::vector<Sample> measured =
      Measure(pairs, [](const MeasureItem&) { return 1; });
  for (size_t i = 7; i < measured.size(); ++i) measured[i].throttled = true;
  const DriftReport report = JudgeDriftProbe(pairs, measured);
  EXPECT_EQ(report.action, DriftAction::kUndecided);
  EXPECT_THAT(report.reason,
              AllOf(HasSubstr(absl::StrCat("7 of ", pairs.size(), " pairs")),
                    HasSubstr("was throttled for")));
  for (Sample& sample : measured) {
    sample.throttled = false;
    sample.latency_us = 0;
  }
  EXPECT_THAT(JudgeDriftProbe(pairs, measured).reason, HasSubstr("failed"));
}

TEST_F(DriftProbeTest, ProfilesWhereThereIsTooLittleToCompareWith) {
  std::vector<DriftProbePair> pairs = Plan();
  pairs.resize(7);
  const DriftReport report = JudgeDriftProbe(
      pairs, Measure(pairs, [](const MeasureItem&) { return 1; }));
  EXPECT_EQ(report.action, DriftAction::kProfile);
  EXPECT_THAT(report.reason, HasSubstr("7 of 7 pairs"));
  EXPECT_EQ(JudgeDriftProbe({}, {}).action, DriftAction::kProfile);
}

}  // namespace
}  // namespace wavetune
