#include "model/decide/compiled_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "base/digest.h"
#include "model/table/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

using testing::TinyTable;
using testing::TwoGroupTable;

std::unique_ptr<const CompiledTable> Compile(const Table& table) {
  auto compiled = CompiledTable::Create(EncodeTable(table).value());
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return *std::move(compiled);
}

double& Delta(Table& table, size_t group) {
  return table.sub_tables[0]
      .groups[group]
      .models[0]
      .segments[0]
      .coefficients.delta;
}

TEST(CompiledTableTest, KeepsTableDigestAndPayload) {
  const std::string payload = EncodeTable(TinyTable()).value();
  const auto compiled = CompiledTable::Create(payload).value();
  EXPECT_EQ(compiled->payload(), payload);
  EXPECT_EQ(compiled->digest(), Sha256Hex(payload));
  EXPECT_EQ(compiled->table(), TinyTable());
  EXPECT_EQ(compiled->Resolve(0, {100}).digest_prefix,
            DigestPrefix(compiled->digest()));
}

TEST(CompiledTableTest, RefusesWhatTheDecoderRefuses) {
  EXPECT_EQ(CompiledTable::Create("").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(CompiledTableTest, PredictsFromTheCoefficients) {
  const auto compiled = Compile(TinyTable());
  const Decision decision = compiled->Resolve(0, {1024});  // G = 4, w = 1.
  EXPECT_EQ(decision.latency_us, 2 + 0.25 * 4);
  EXPECT_EQ(decision.configuration, (Configuration{256}));
  EXPECT_EQ(decision.source, DecisionSource::kFitted);
  EXPECT_EQ(decision.relative_bound, 0.125);
  EXPECT_EQ(decision.candidate, 0);
}

// Tiles of 64 and of 128; whoever counts fewer of them would win.
Table TableOfHugeProblems() {
  Table table = TwoGroupTable();
  for (Dimension& dimension : table.dimensions) {
    dimension.max = kExpressionLimit;
  }
  for (MacroGroup& group : table.sub_tables[0].groups) {
    for (WaveSegment& segment : group.models[0].segments) {
      segment.coefficients.beta = 1;
    }
    group.models[0].segments[1].coefficients.delta = 0;
  }
  return table;
}

TEST(CompiledTableTest, CountsUpToTheLimitAreDecided) {
  const auto compiled = Compile(TableOfHugeProblems());
  const int64_t side = int64_t{1} << 31;  // 2^50 tiles of 64.
  const Decision decision = compiled->Resolve(0, {2 * side, side, 64});
  EXPECT_EQ(decision.configuration, (Configuration{128, 2}));
  EXPECT_EQ(decision.source, DecisionSource::kExtrapolated);
}

TEST(CompiledTableTest, OneCountBeyondTheLimitIsDefault) {
  const auto compiled = Compile(TableOfHugeProblems());
  const int64_t side = int64_t{1} << 32;  // 2^50 tiles of 128, 2^52 of 64.
  const Decision decision = compiled->Resolve(0, {side, side, 64});
  EXPECT_EQ(decision.source, DecisionSource::kDefault);
  EXPECT_EQ(decision.reason, DefaultReason::kNoLegalCandidate);
  for (const ExplainedGroup& row : compiled->Explain(0, {side, side, 64})) {
    EXPECT_FALSE(row.legal);
    EXPECT_FALSE(row.chosen);
  }
}

// More than the lanes have room for, as one number of each lane.
TEST(CompiledTableTest, MappingsOfManyFactorsAreDecided) {
  Table table = TwoGroupTable();
  Mapping& mapping = table.sub_tables[0].mapping;
  std::vector<Expression> factors = {mapping.tiles};
  for (int i = 0; i < 9; ++i) {
    factors.push_back(Expression::CeilDiv({Expression::OfDimension(2)},
                                          {Expression::Constant(100 + i)}));
  }
  mapping.tiles = Expression::Product(factors);
  const auto compiled = Compile(table);
  for (const int64_t k : {64, 128, 250}) {
    const std::vector<int64_t> extents = {700, 300, k};
    const Decision decision = compiled->Resolve(0, ProblemView{extents, {}});
    const auto rows = compiled->Explain(0, ProblemView{extents, {}});
    ASSERT_EQ(rows.size(), 2u);
    const auto& chosen = rows[rows[0].chosen ? 0 : 1];
    EXPECT_TRUE(chosen.chosen);
    EXPECT_EQ(decision.latency_us, chosen.latency_us);
    EXPECT_EQ(decision.configuration, chosen.configuration);
    EXPECT_NE(decision.source, DecisionSource::kDefault);
  }
}

TEST(CompiledTableTest, LessThanHalfATileIsExtrapolated) {
  const auto compiled = Compile(TwoGroupTable());
  EXPECT_EQ(compiled->Resolve(0, {5, 64, 128}).source, DecisionSource::kFitted);
  for (const std::vector<int64_t>& extents :
       {std::vector<int64_t>{5, 5, 5}, {5, 31, 128}, {5, 64, 31}}) {
    const Decision decision =
        compiled->Resolve(0, absl::MakeConstSpan(extents));
    EXPECT_EQ(decision.source, DecisionSource::kExtrapolated);
    EXPECT_EQ(decision.relative_bound, 0.5);
    const auto rows = compiled->Explain(0, absl::MakeConstSpan(extents));
    EXPECT_TRUE(rows[0].extrapolated);
  }
}

TEST(CompiledTableTest, AMeasuredLayerIsFittedHoweverSmall) {
  Table table = TwoGroupTable();
  table.sub_tables[0].form = WaveForm::kOverlap;
  table.sub_tables[0].layers = {
      {.extents = {0, 16, 16}, .first = 1, .spans = {{.last = 8, .group = 0}}}};
  const auto compiled = Compile(table);
  EXPECT_EQ(compiled->Resolve(0, {5, 16, 16}).source, DecisionSource::kFitted);
  EXPECT_EQ(compiled->Resolve(0, {9, 16, 16}).source,
            DecisionSource::kExtrapolated);
}

TEST(CompiledTableTest, TheFastestRowWins) {
  Table table = TwoGroupTable();
  Delta(table, 1) = 9;
  EXPECT_EQ(Compile(table)->Resolve(0, {64, 64, 512}).configuration,
            (Configuration{128, 2}));
}

TEST(CompiledTableTest, ExactTiesGoToTheEarlierRow) {
  EXPECT_EQ(Compile(TwoGroupTable())->Resolve(0, {64, 64, 512}).configuration,
            (Configuration{64, 2}));
}

TEST(CompiledTableTest, NearTiesGoToTheEarlierRowUpToTheMargin) {
  Table table = TwoGroupTable();
  table.near_tie = 0.25;
  Delta(table, 1) = 8;  // 10 == 8 * 1.25: still a near-tie.
  EXPECT_EQ(Compile(table)->Resolve(0, {64, 64, 512}).configuration,
            (Configuration{64, 2}));
  Delta(table, 1) = 7.9;
  EXPECT_EQ(Compile(table)->Resolve(0, {64, 64, 512}).configuration,
            (Configuration{128, 2}));
}

TEST(CompiledTableTest, TheMicroTableIsReadAtTheNearestLoopAnchor) {
  const auto compiled = Compile(TwoGroupTable());
  // 20 iterations lie half-way between the anchors 8 and 32: the lower.
  EXPECT_EQ(compiled->Resolve(0, {64, 64, 64 * 20}).configuration,
            (Configuration{64, 2}));
  EXPECT_EQ(compiled->Resolve(0, {64, 64, 64 * 21}).configuration,
            (Configuration{64, 4}));
}

TEST(CompiledTableTest, IsExtrapolatedOutsideOfTheMeasuredRange) {
  const auto compiled = Compile(TwoGroupTable());
  const Decision inside = compiled->Resolve(0, {64, 64, 64 * 64});
  EXPECT_EQ(inside.source, DecisionSource::kFitted);
  EXPECT_EQ(inside.relative_bound, 0.125);
  const Decision loop = compiled->Resolve(0, {64, 64, 64 * 65});
  EXPECT_EQ(loop.source, DecisionSource::kExtrapolated);
  EXPECT_EQ(loop.relative_bound, 0.5);
  const Decision waves = compiled->Resolve(0, {64 * 401, 64, 512});
  EXPECT_EQ(waves.source, DecisionSource::kExtrapolated);
}

TEST(CompiledTableTest, StaleReplacesFittedAndExtrapolatedOnly) {
  const auto compiled = Compile(TwoGroupTable());
  EXPECT_EQ(compiled->Resolve(0, {64, 64, 512}, /*stale=*/true).source,
            DecisionSource::kStale);
  EXPECT_EQ(compiled->Resolve(0, {64, 64, 1 << 20}, /*stale=*/true).source,
            DecisionSource::kStale);
  EXPECT_EQ(compiled->Resolve(0, {64}, /*stale=*/true).source,
            DecisionSource::kDefault);
}

TEST(CompiledTableTest, IllegalProblemsAnswerTheDefaultWithTheReason) {
  const auto compiled = Compile(TwoGroupTable());
  const auto reason = [&](int sub, const ProblemView& problem) {
    const Decision decision = compiled->Resolve(sub, problem);
    EXPECT_EQ(decision.source, DecisionSource::kDefault);
    EXPECT_EQ(decision.configuration, (Configuration{32, 1}));
    EXPECT_EQ(decision.candidate, 0xff);
    EXPECT_EQ(decision.latency_us, 0);
    EXPECT_TRUE(compiled->Explain(sub, problem).empty());
    return decision.reason;
  };
  const std::vector<int64_t> extents = {1, 1, 1};
  EXPECT_EQ(reason(-1, {1, 1, 1}), DefaultReason::kUnknownSpecialisation);
  EXPECT_EQ(reason(1, {1, 1, 1}), DefaultReason::kUnknownSpecialisation);
  EXPECT_EQ(reason(0, {1, 1}), DefaultReason::kWrongDimensionCount);
  EXPECT_EQ(reason(0, {1, 1, 1, 1}), DefaultReason::kWrongDimensionCount);
  EXPECT_EQ(reason(0, {extents, extents}), DefaultReason::kWrongDimensionCount);
  EXPECT_EQ(reason(0, {1, 0, 1}), DefaultReason::kExtentOutOfRange);
  EXPECT_EQ(reason(0, {1, 1, std::numeric_limits<int64_t>::max()}),
            DefaultReason::kExtentOutOfRange);
}

TEST(CompiledTableTest, ARepeatedDimensionNeedsElementsInRange) {
  Table table = TwoGroupTable();
  table.dimensions[0].repeated = true;
  Mapping& mapping = table.sub_tables[0].mapping;
  mapping.tiles = Expression::SumOver(0, mapping.tiles);
  const auto compiled = Compile(table);
  const std::vector<int64_t> extents = {-7, 64, 512};  // Slot 0 is ignored.
  const std::vector<int64_t> good = {1, 200};
  const std::vector<int64_t> bad = {1, 0};
  EXPECT_EQ(compiled->Resolve(0, {extents, good}).reason, DefaultReason::kNone);
  EXPECT_EQ(compiled->Resolve(0, {extents, bad}).reason,
            DefaultReason::kExtentOutOfRange);
  EXPECT_EQ(compiled->Resolve(0, {extents, {}}).reason,
            DefaultReason::kWrongDimensionCount);
  EXPECT_EQ(compiled->Resolve(0, ProblemView()).reason,
            DefaultReason::kWrongDimensionCount);
}

TEST(CompiledTableTest, PredicatesExcludeRowsAndMayExcludeAll) {
  Table table = TwoGroupTable();
  // Of BLOCK = 64 and of BLOCK = 128.
  SubTable& sub = table.sub_tables[0];
  for (const int64_t block : {64, 128}) {
    sub.predicates.push_back({.left = {{.dimensions = {2}}},
                              .op = Relation::Operator::kMultipleOf,
                              .right = {{.coefficient = block}}});
  }
  sub.groups[0].predicates = {0};
  sub.groups[1].predicates = {1};
  const auto compiled = Compile(table);
  Delta(table, 0) = 8;
  const Decision both = compiled->Resolve(0, {64, 64, 128});
  EXPECT_EQ(both.configuration, (Configuration{64, 2}));
  const auto rows = compiled->Explain(0, {64, 64, 64});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].legal && rows[0].chosen);
  EXPECT_TRUE(rows[0].broken.empty());
  EXPECT_FALSE(rows[1].legal || rows[1].chosen);
  EXPECT_EQ(rows[1].broken, std::vector<std::string>{"k % 128 == 0"});
  EXPECT_EQ(compiled->Resolve(0, {64, 64, 65}).reason,
            DefaultReason::kNoLegalCandidate);
}

TEST(CompiledTableTest, HugeProblemsStayFinite) {
  Table table = TwoGroupTable();
  for (Dimension& dimension : table.dimensions) {
    dimension.max = kExpressionLimit;
  }
  for (MacroGroup& group : table.sub_tables[0].groups) {
    for (WaveSegment& segment : group.models[0].segments) {
      segment.coefficients = {1e30, 1e30, 1e30, 1e30, 1e30, 1e30};
    }
  }
  const Decision decision =
      Compile(table)->Resolve(0, {kExpressionLimit, 64, kExpressionLimit});
  EXPECT_EQ(decision.source, DecisionSource::kExtrapolated);
  EXPECT_LT(decision.latency_us, std::numeric_limits<double>::infinity());
}

TEST(CompiledTableTest, FindsSubTablesByName) {
  Table table = TwoGroupTable();
  table.sub_tables.push_back(table.sub_tables[0]);
  table.sub_tables[0].specialisation = "causal";
  table.sub_tables[1].specialisation = "full";
  const auto compiled = Compile(table);
  EXPECT_EQ(compiled->SubTableIndex("full"), 1);
  EXPECT_EQ(compiled->SubTableIndex("causal"), 0);
  EXPECT_EQ(compiled->SubTableIndex(""), -1);
}

TEST(CompiledTableTest, ExplainGivesTheFactsOfEveryRow) {
  const auto rows = Compile(TwoGroupTable())->Explain(0, {640, 640, 512});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].chosen);
  EXPECT_EQ(rows[0].coordinates.tiles, 100);
  EXPECT_EQ(rows[0].coordinates.rows, 10);
  EXPECT_EQ(rows[0].waves, 1);
  EXPECT_EQ(rows[0].tiles_per_wave, 100);
  EXPECT_EQ(rows[1].coordinates.tiles, 25);
  EXPECT_EQ(rows[1].relative_bound, 0.125);
  EXPECT_FALSE(rows[1].extrapolated);
}

// Beyond 64 iterations or four waves; {64, 2} leads a group, as does {128, 2}.
class WaryTableTest : public ::testing::Test {
 protected:
  explicit WaryTableTest(Configuration usual = {128, 2}) {
    table_.default_configuration = std::move(usual);
    table_.sub_tables[0].wary = true;
  }

  // Asks twice: the second answer is remembered.
  Decision Resolve(const std::vector<int64_t>& extents) {
    const auto compiled = Compile(table_);
    const ProblemView problem(extents, {});
    const Decision decision = compiled->Resolve(0, problem);
    EXPECT_EQ(compiled->Resolve(0, problem), decision);
    return decision;
  }

  const std::vector<int64_t> inside_ = {64, 64, 64 * 64};
  const std::vector<int64_t> beyond_ = {64, 64, 64 * 65};
  Table table_ = TwoGroupTable();
};

TEST_F(WaryTableTest, AGainWithinItsBoundIsNoReasonToLeaveTheDefault) {
  Delta(table_, 1) = 15;  // 10 * 1.5: as slow as may be.
  const Decision decision = Resolve(beyond_);
  EXPECT_EQ(decision.configuration, (Configuration{128, 2}));
  EXPECT_EQ(decision.latency_us, 15);
  // 33 iterations of tiles of 128 were measured.
  EXPECT_EQ(decision.source, DecisionSource::kFitted);
  EXPECT_EQ(decision.relative_bound, 0.125);
  EXPECT_EQ(Resolve({5, 5, 5}).configuration, (Configuration{128, 2}))
      << "less than half a tile";
}

TEST_F(WaryTableTest, AGainAboveItsBoundIsAReason) {
  Delta(table_, 1) = 15.1;
  const Decision decision = Resolve(beyond_);
  EXPECT_EQ(decision.configuration, (Configuration{64, 4}));
  EXPECT_EQ(decision.source, DecisionSource::kExtrapolated);
}

TEST_F(WaryTableTest, InsideOfTheMeasuredRangeTheFastestRowWins) {
  Delta(table_, 1) = 10.1;
  EXPECT_EQ(Resolve(inside_).configuration, (Configuration{64, 4}));
}

TEST_F(WaryTableTest, OtherTablesTakeTheFastestRowEverywhere) {
  table_.sub_tables[0].wary = false;
  Delta(table_, 1) = 10.1;
  EXPECT_EQ(Resolve(beyond_).configuration, (Configuration{64, 4}));
}

TEST_F(WaryTableTest, ADefaultThatIsNotLegalIsNotKept) {
  SubTable& sub = table_.sub_tables[0];
  sub.predicates = {{.left = {{.dimensions = {2}}},
                     .op = Relation::Operator::kMultipleOf,
                     .right = {{.coefficient = 128}}}};
  sub.groups[1].predicates = {0};
  EXPECT_EQ(Resolve(beyond_).configuration, (Configuration{64, 4}));
}

TEST_F(WaryTableTest, AMeasuredLayerDecidesAsItDoes) {
  table_.sub_tables[0].layers = {{.extents = {0, 64, 64 * 65},
                                  .first = 1,
                                  .spans = {{.last = 64, .group = 0}}}};
  EXPECT_EQ(Resolve(beyond_).configuration, (Configuration{64, 4}));
}

TEST_F(WaryTableTest, ExplainSaysThatTheDefaultWasKept) {
  Delta(table_, 1) = 15;
  const auto rows = Compile(table_)->Explain(0, absl::MakeSpan(beyond_));
  EXPECT_FALSE(rows[0].chosen || rows[0].kept_default);
  EXPECT_TRUE(rows[1].chosen && rows[1].kept_default);
  EXPECT_EQ(rows[1].configuration, table_.default_configuration);
  for (const ExplainedGroup& row :
       Compile(table_)->Explain(0, absl::MakeSpan(inside_))) {
    EXPECT_FALSE(row.kept_default);
  }
}

class WaryRowTest : public WaryTableTest {
 protected:
  WaryRowTest() : WaryTableTest({64, 2}) {}
};

// The micro table names {64, 4} there.
TEST_F(WaryRowTest, TheDefaultAnswersForItsOwnRowToo) {
  const Decision decision = Resolve(beyond_);
  EXPECT_EQ(decision.configuration, (Configuration{64, 2}));
  EXPECT_EQ(decision.source, DecisionSource::kExtrapolated);
  EXPECT_EQ(decision.relative_bound, 0.5);
  const auto rows = Compile(table_)->Explain(0, absl::MakeSpan(beyond_));
  EXPECT_TRUE(rows[0].kept_default);
  EXPECT_EQ(rows[0].configuration, (Configuration{64, 2}));
}

}  // namespace
}  // namespace wavetune
