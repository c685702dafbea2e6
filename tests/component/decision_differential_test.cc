// The fast decision against the slow obvious one, on random tables and
// problems.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "model/compiled_table.h"
#include "model/digest.h"
#include "model/table_codec.h"
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

TEST(DecisionDifferentialTest, ResolveAnswersAsTheReference) {
  constexpr int kTables = 400;
  constexpr int kProblems = 320;
  std::map<DecisionSource, int> sources;
  std::map<DefaultReason, int> reasons;
  int near_ties = 0;
  for (int seed = 0; seed < kTables; ++seed) {
    Lcg random(static_cast<uint64_t>(seed));
    const Table table = RandomTable(random);
    const auto payload = EncodeTable(table);
    ASSERT_TRUE(payload.ok()) << seed << ": " << payload.status();
    const auto compiled = CompiledTable::Create(*payload);
    ASSERT_TRUE(compiled.ok()) << seed << ": " << compiled.status();
    for (int i = 0; i < kProblems; ++i) {
      const Problem problem = RandomProblem(random, table);
      const auto sub_tables = static_cast<int64_t>(table.sub_tables.size());
      const int sub =
          static_cast<int>(random.OneIn(100) ? -1 : random.Below(sub_tables));
      const bool stale = random.OneIn(10);
      const Decision fast = (*compiled)->Resolve(sub, problem.View(), stale);
      const Decision slow = ReferenceDecision(table, (*compiled)->digest(), sub,
                                              problem.View(), stale);
      ASSERT_EQ(fast, slow)
          << "seed " << seed << ", " << Describe(problem) << "; predicted "
          << fast.latency_us << " and " << slow.latency_us;
      ++sources[fast.source];
      ++reasons[fast.reason];
      if (fast.source == DecisionSource::kDefault) continue;
      ASSERT_GT(fast.latency_us, 0);
      const auto rows = (*compiled)->Explain(sub, problem.View());
      near_ties += rows[0].chosen ? 0 : 1;
    }
  }
  // All kinds of answers came up, or the comparison shows little.
  for (const auto source :
       {DecisionSource::kFitted, DecisionSource::kExtrapolated,
        DecisionSource::kStale, DecisionSource::kDefault}) {
    EXPECT_GT(sources[source], 500) << ToString(source);
  }
  for (const auto reason :
       {DefaultReason::kWrongDimensionCount, DefaultReason::kExtentOutOfRange,
        DefaultReason::kNoLegalCandidate,
        DefaultReason::kUnknownSpecialisation}) {
    EXPECT_GT(reasons[reason], 100) << ToString(reason);
  }
  EXPECT_GT(near_ties, 1000);
}

TEST(DecisionDifferentialTest, ExplainShowsTheRowsOfTheDecision) {
  for (int seed = 0; seed < 200; ++seed) {
    Lcg random(static_cast<uint64_t>(seed));
    const Table table = RandomTable(random);
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
        ASSERT_LE(rows[r].rank_us, rows[0].rank_us * (1 + table.near_tie));
      }
      ASSERT_EQ(chosen, decision.source == DecisionSource::kDefault ? 0 : 1);
    }
  }
}

}  // namespace
}  // namespace wavetune
