// The fast decision against the slow obvious one, on random tables and
// problems, on every SIMD path that this CPU runs.
//
// WAVETUNE_DIFFERENTIAL_PROBLEMS: how many per path (scripts/soak.sh: ten
// million in all).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/digest.h"
#include "model/decide/compiled_table.h"
#include "model/decide/simd/simd_path.h"
#include "model/table/table_codec.h"
#include "tests/lib/lcg.h"
#include "tests/lib/random_table.h"
#include "tests/lib/reference_decision.h"

namespace wavetune {
namespace {

using testing::Lcg;
using testing::RandomLegalProblem;
using testing::RandomProblem;
using testing::RandomTable;
using testing::ReferenceDecision;
using testing::TableKind;

std::string Describe(const Problem& problem) {
  std::string text = "extents";
  for (const int64_t extent : problem.extents) {
    text += " " + std::to_string(extent);
  }
  text += "; repeated";
  for (const int64_t extent : problem.repeated) {
    text += " " + std::to_string(extent);
  }
  return text;
}

constexpr int kProblemsPerTable = 320;

int64_t ProblemsPerPath() {
  const char* const wanted = std::getenv("WAVETUNE_DIFFERENTIAL_PROBLEMS");
  int64_t problems = 0;
  if (wanted != nullptr && absl::SimpleAtoi(wanted, &problems)) return problems;
  return 128000;
}

void MakeTwoWaveRegimes(SubTable& sub) {
  sub.max_waves = {1, std::numeric_limits<int64_t>::max()};
  for (MacroGroup& group : sub.groups) {
    for (GroupModel& model : group.models) {
      const WaveSegment last = model.segments.back();
      model.segments.resize(2, last);
    }
  }
}

// RandomTable's, and what those do not have: many rows, row regimes that
// intervals of extents give, and extents beyond what SIMD lanes count to.
// Tiles of 16 to 256 rows, one height for each pair of the first two block
// sizes, so that who shares a row still does.
void UseManyTileHeights(Table& table) {
  for (SubTable& sub : table.sub_tables) {
    for (TableCandidate& candidate : sub.portfolio) {
      const Configuration& c = candidate.configuration;
      const int64_t height = 16 * (1 + (c[0] / 16 * 5 + c[1] / 32 * 3) % 16);
      candidate.configuration = {height, c[1], c[2], c[3], c[4]};
    }
  }
}

// A kind that RandomTable alone does not choose.
TableKind LaterKind(Lcg& random) {
  constexpr TableKind kKinds[] = {TableKind::kRowNorm,
                                  TableKind::kSelfAttention, TableKind::kSums,
                                  TableKind::kGroupedSums};
  return kKinds[random.Below(4)];
}

Table AnyTable(Lcg& random) {
  Table table = random.OneIn(8)
                    ? RandomTable(random, TableKind::kGemm, /*portfolio=*/100)
                : random.OneIn(16) ? testing::RandomLargeTable(random)
                : random.OneIn(3)  ? RandomTable(random, LaterKind(random), 12)
                                   : RandomTable(random);
  const bool intervals = random.OneIn(2);
  for (SubTable& sub : table.sub_tables) {
    for (RowRegime& regime : sub.row_regimes) {
      if (intervals && regime.max_rows > 1) regime.max_fill = 1;
    }
  }
  // The usual number of wave regimes, more often than at random.
  if (random.OneIn(2)) {
    for (SubTable& sub : table.sub_tables) MakeTwoWaveRegimes(sub);
  }
  if (random.OneIn(2)) UseManyTileHeights(table);
  for (SubTable& sub : table.sub_tables) {
    if (sub.form != WaveForm::kOverlap) continue;
    if (random.OneIn(3)) testing::MakeAlikeAcrossWaves(sub);
    if (random.OneIn(4)) testing::AddRankMargins(random, sub);
  }
  for (SubTable& sub : table.sub_tables) {
    if (random.OneIn(4)) testing::AddLayers(random, table, /*most=*/20, sub);
    if (random.OneIn(4)) testing::AddPowerLimitSlowdown(random, sub);
    if (random.OneIn(2)) testing::AddColdBytes(random, table, sub);
  }
  // A table and its decisions have limits (model/table/table_check.h).
  while (!EncodeTable(table).ok()) {
    for (SubTable& sub : table.sub_tables) {
      sub.groups.resize(sub.groups.size() - sub.groups.size() / 8);
      sub.layers.clear();
    }
  }
  if (random.OneIn(4)) testing::MakeWary(random, table);
  if (random.OneIn(8)) {
    for (Dimension& dimension : table.dimensions) {
      dimension.max = kExpressionLimit;
    }
  }
  return table;
}

// Whether the segments of each row are as FitTable makes overlaps (two wave
// regimes, one model), of tiles of more than eight heights.
bool IsAlikeWithManyHeights(const SubTable& sub) {
  if (sub.form != WaveForm::kOverlap || sub.max_waves.size() != 2) return false;
  std::set<int64_t> heights;
  for (const MacroGroup& group : sub.groups) {
    heights.insert(sub.portfolio[group.lead].configuration[0]);
    for (const GroupModel& model : group.models) {
      if (model.segments[0].coefficients != model.segments[1].coefficients ||
          model.segments[0].step_tiles != model.segments[1].step_tiles ||
          model.segments[1].min_wave > 1) {
        return false;
      }
    }
  }
  return heights.size() > 8;
}

// Takes the work from some elements, or from all, where the kernel allows it.
void EmptyElements(Lcg& random, const Table& table, Problem& problem) {
  for (const Dimension& dimension : table.dimensions) {
    if (!dimension.repeated || dimension.min > 0) continue;
    const int64_t share = random.Between(1, 4);
    for (int64_t& element : problem.repeated) {
      if (random.OneIn(share)) element = 0;
    }
  }
}

// What came up; all of it must, or the comparison shows little.
struct Tally {
  std::map<DecisionSource, int> sources;
  std::map<DefaultReason, int> reasons;
  std::map<WaveForm, int> forms;
  int alike = 0;  // Of overlaps with more than eight heights of tiles.
  int near_ties = 0;
  int of_layers = 0;
  int kept_defaults = 0;  // Though another row was predicted to be faster.
  int wary = 0;           // Extrapolated, but far enough from the default.
  int without_work = 0;   // With elements of 0.
  int cold = 0;           // Of sums that count what is read cold.
  size_t most_groups = 0;
};

class DecisionDifferentialTest : public ::testing::TestWithParam<SimdPath> {
 protected:
  // Compares problems of the table that follows from `seed`.
  void Compare(uint64_t seed, Tally& tally) {
    Lcg random(seed);
    const Table table = AnyTable(random);
    const auto payload = EncodeTable(table);
    ASSERT_TRUE(payload.ok()) << seed << ": " << payload.status();
    const auto compiled = CompiledTable::Create(*payload, GetParam());
    ASSERT_TRUE(compiled.ok()) << seed << ": " << compiled.status();
    for (int i = 0; i < kProblemsPerTable; ++i) {
      Problem problem = RandomProblem(random, table);
      if (random.OneIn(4)) EmptyElements(random, table, problem);
      const auto sub_tables = static_cast<int64_t>(table.sub_tables.size());
      const int sub =
          static_cast<int>(random.OneIn(100) ? -1 : random.Below(sub_tables));
      const bool stale = random.OneIn(10);
      if (sub >= 0 && random.OneIn(2)) {
        testing::PlaceInLayer(
            random, table.sub_tables[static_cast<size_t>(sub)], problem);
      }
      const Decision fast = (*compiled)->Resolve(sub, problem.View(), stale);
      const Decision slow = ReferenceDecision(table, (*compiled)->digest(), sub,
                                              problem.View(), stale);
      ASSERT_EQ(fast, slow)
          << "seed " << seed << ", " << Describe(problem) << "; predicted "
          << fast.latency_us << " and " << slow.latency_us;
      ASSERT_EQ((*compiled)->Resolve(sub, problem.View(), stale), slow)
          << "remembered; seed " << seed << ", " << Describe(problem);
      ++tally.sources[fast.source];
      ++tally.reasons[fast.reason];
      if (fast.source == DecisionSource::kDefault) continue;
      tally.without_work +=
          std::count(problem.repeated.begin(), problem.repeated.end(), 0) > 0;
      ASSERT_GT(fast.latency_us, 0);
      const SubTable& of = table.sub_tables[static_cast<size_t>(sub)];
      ++tally.forms[of.form];
      tally.cold += of.mapping.cold_bytes.has_value() ? 1 : 0;
      tally.alike += IsAlikeWithManyHeights(of) ? 1 : 0;
      tally.most_groups = std::max(tally.most_groups, of.groups.size());
      if (i % 8 != 0) continue;
      const auto rows = (*compiled)->Explain(sub, problem.View());
      const auto chosen =
          std::find_if(rows.begin(), rows.end(),
                       [](const ExplainedGroup& row) { return row.chosen; });
      ASSERT_NE(chosen, rows.end());
      tally.of_layers += chosen->of_layer ? 1 : 0;
      tally.kept_defaults += chosen->kept_default && !rows[0].chosen ? 1 : 0;
      tally.wary += of.wary && fast.source == DecisionSource::kExtrapolated &&
                            !chosen->kept_default
                        ? 1
                        : 0;
      tally.near_ties +=
          chosen->of_layer || chosen->kept_default || rows[0].chosen ? 0 : 1;
    }
  }
};

TEST_P(DecisionDifferentialTest, ResolveAnswersAsTheReference) {
  Tally tally;
  const int64_t tables = ProblemsPerPath() / kProblemsPerTable;
  for (int64_t seed = 0; seed < tables; ++seed) {
    Compare(static_cast<uint64_t>(seed), tally);
    if (HasFatalFailure()) return;
  }
  for (const auto source :
       {DecisionSource::kFitted, DecisionSource::kExtrapolated,
        DecisionSource::kStale, DecisionSource::kDefault}) {
    EXPECT_GT(tally.sources[source], 500) << ToString(source);
  }
  for (const auto reason :
       {DefaultReason::kWrongDimensionCount, DefaultReason::kExtentOutOfRange,
        DefaultReason::kNoLegalCandidate, DefaultReason::kPreconditionBroken,
        DefaultReason::kUnknownSpecialisation}) {
    EXPECT_GT(tally.reasons[reason], 100) << ToString(reason);
  }
  EXPECT_GT(tally.forms[WaveForm::kSum], 10000);
  EXPECT_GT(tally.forms[WaveForm::kOverlap], 10000);
  EXPECT_GT(tally.alike, 100);
  EXPECT_GT(tally.near_ties, 100);
  EXPECT_GT(tally.without_work, 500);
  EXPECT_GT(tally.cold, 1000);
  EXPECT_GT(tally.of_layers, 100);
  EXPECT_GT(tally.kept_defaults, 100);
  EXPECT_GT(tally.wary, 100);
  EXPECT_GT(tally.most_groups, 64u);  // Beyond one word of a mask.
}

// Two to four problems of a table, mostly legal, and what they agree on.
struct JointQuestion {
  std::vector<Problem> problems;
  std::vector<TableProblem> of_table;  // Views of them.
  uint32_t shared = ~uint32_t{0};
};

JointQuestion RandomJointQuestion(Lcg& random, const Table& table) {
  JointQuestion question;
  const int64_t count = random.Between(1, 3);
  const auto sub_tables = static_cast<int64_t>(table.sub_tables.size());
  for (int64_t i = 0; i <= count; ++i) {
    question.problems.push_back(random.OneIn(20)
                                    ? RandomProblem(random, table)
                                    : RandomLegalProblem(random, table));
    if (random.OneIn(4)) {
      testing::PlaceInLayer(
          random,
          table.sub_tables[static_cast<size_t>(random.Below(sub_tables))],
          question.problems.back());
    }
  }
  for (const Problem& problem : question.problems) {
    question.of_table.push_back(
        {static_cast<int>(random.OneIn(100) ? -1 : random.Below(sub_tables)),
         problem.View()});
  }
  if (random.OneIn(2))
    question.shared = static_cast<uint32_t>(random.Below(1 << 5));
  return question;
}

TEST_P(DecisionDifferentialTest, ResolveTogetherAnswersAsTheReference) {
  std::map<DefaultReason, int> reasons;
  int unlike = 0;  // Where a launch alone would have had another candidate.
  for (int seed = 0; seed < 200; ++seed) {
    Lcg random(static_cast<uint64_t>(seed));
    const Table table = AnyTable(random);
    const auto compiled =
        CompiledTable::Create(EncodeTable(table).value(), GetParam()).value();
    for (int i = 0; i < 40; ++i) {
      const JointQuestion question = RandomJointQuestion(random, table);
      const bool stale = random.OneIn(10);
      const std::vector<TableCandidate>& some = table.sub_tables[0].portfolio;
      const Configuration incumbent =
          some[random.Below(some.size())].configuration;
      const Configuration* const kept = random.OneIn(2) ? &incumbent : nullptr;
      std::vector<Decision> fast(question.of_table.size());
      compiled->ResolveTogether(question.of_table, question.shared,
                                absl::MakeSpan(fast), stale,
                                TableOrigin::kDefaults, kept);
      const std::vector<Decision> slow = testing::ReferenceDecisionsTogether(
          table, compiled->digest(), question.of_table, question.shared, stale,
          kept);
      ASSERT_EQ(fast, slow)
          << "seed " << seed << ", " << Describe(question.problems[0]);
      ++reasons[fast[0].reason];
      if (fast[0].source == DecisionSource::kDefault) continue;
      for (size_t p = 0; p < fast.size(); ++p) {
        for (int of = 0; of < fast[p].configuration.size(); ++of) {
          if ((question.shared >> of & 1) == 0) continue;
          ASSERT_EQ(fast[p].configuration[of], fast[0].configuration[of]);
        }
      }
      const TableProblem& first = question.of_table[0];
      unlike += compiled->Resolve(first.sub_table, first.problem).candidate !=
                        fast[0].candidate
                    ? 1
                    : 0;
    }
  }
  EXPECT_GT(reasons[DefaultReason::kNone], 1000);
  EXPECT_GT(reasons[DefaultReason::kNoLegalCandidate], 10);
  EXPECT_GT(reasons[DefaultReason::kUnknownSpecialisation], 10);
  EXPECT_GT(unlike, 100);
}

TEST_P(DecisionDifferentialTest, OneProblemTogetherIsDecidedAsAlone) {
  for (int seed = 0; seed < 100; ++seed) {
    Lcg random(static_cast<uint64_t>(seed));
    Table table = RandomTable(random);
    for (SubTable& sub : table.sub_tables) sub.layers.clear();
    const auto compiled =
        CompiledTable::Create(EncodeTable(table).value(), GetParam()).value();
    for (int i = 0; i < 40; ++i) {
      const Problem problem = RandomProblem(random, table);
      const TableProblem asked = {0, problem.View()};
      Decision together;
      compiled->ResolveTogether({asked}, /*shared=*/~uint32_t{0},
                                absl::MakeSpan(&together, 1));
      ASSERT_EQ(together, compiled->Resolve(0, problem.View()))
          << "seed " << seed << ", " << Describe(problem);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, DecisionDifferentialTest,
                         ::testing::ValuesIn(SupportedSimdPaths()),
                         [](const auto& test) {
                           return std::string(ToString(test.param));
                         });

TEST(DecisionExplanationTest, ShowsTheRowsOfTheDecision) {
  for (int seed = 0; seed < 200; ++seed) {
    Lcg random(static_cast<uint64_t>(seed));
    Table table = RandomTable(random);
    const PowerLimitSlowdown& power_limit = table.sub_tables[0].power_limit;
    if (random.OneIn(4)) {
      testing::AddPowerLimitSlowdown(random, table.sub_tables[0]);
    }
    if (random.OneIn(4)) testing::MakeWary(random, table);
    // The choice compares short launches: what is beyond counts more here.
    const double most_apart = table.near_tie * (1 + power_limit.slowdown);
    const auto compiled = CompiledTable::Create(EncodeTable(table).value());
    ASSERT_TRUE(compiled.ok());
    for (int i = 0; i < 20; ++i) {
      const Problem problem = RandomLegalProblem(random, table);
      const Decision decision = (*compiled)->Resolve(0, problem.View());
      const auto rows = (*compiled)->Explain(0, problem.View());
      ASSERT_EQ(rows.size(), table.sub_tables[0].groups.size());
      int chosen = 0;
      for (size_t r = 0; r < rows.size(); ++r) {
        if (r > 0 && rows[r].legal == rows[r - 1].legal) {
          ASSERT_GE(rows[r].rank_us, rows[r - 1].rank_us);
        }
        if (!rows[r].chosen) continue;
        ++chosen;
        ASSERT_TRUE(rows[r].legal);
        ASSERT_EQ(rows[r].latency_us, decision.latency_us);
        ASSERT_EQ(rows[r].configuration, decision.configuration);
        ASSERT_EQ(rows[r].relative_bound, decision.relative_bound);
        if (rows[r].kept_default) {
          ASSERT_EQ(rows[r].configuration, table.default_configuration);
          continue;
        }
        ASSERT_LE(rows[r].rank_us,
                  rows[0].rank_us * (1 + most_apart) * (1 + 1e-12));
      }
      ASSERT_EQ(chosen, decision.source == DecisionSource::kDefault ? 0 : 1);
    }
  }
}

}  // namespace
}  // namespace wavetune
