#include "model/table/table_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "model/table/table_check_mapping.h"
#include "model/table/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

using testing::TinyTable;
using testing::TwoGroupTable;

struct Fault {
  const char* name;
  std::function<void(Table&)> make;
};

SubTable& Sub(Table& table) { return table.sub_tables[0]; }
WaveSegment& Segment(Table& table) {
  return Sub(table).groups[0].models[0].segments[0];
}
LayerChoices& Layer(Table& table) { return Sub(table).layers[0]; }
// Dimension number `dimension` is a multiple of `divisor`.
Relation MultipleOf(int32_t dimension, int64_t divisor) {
  return {.left = {{1, {dimension}}},
          .op = Relation::Operator::kMultipleOf,
          .right = {{divisor, {}}}};
}
// Gives the table two preconditions, and a predicate of its first group.
void AddPredicates(Table& table) {
  SubTable& sub = Sub(table);
  sub.predicates = {MultipleOf(0, 2), MultipleOf(1, 2), MultipleOf(2, 8)};
  sub.preconditions = 2;
  sub.groups[0].predicates = {0, 1, 2};
  sub.groups[1].predicates = {0, 1};
}
Expression Nested(int depth) {
  return depth <= 1 ? Expression::Constant(1)
                    : Expression::Product({Nested(depth - 1)});
}

// Each breaks one rule of a valid GEMM table.
std::vector<Fault> Faults() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {
      {"no kernel", [](Table& t) { t.kernel.clear(); }},
      {"control character", [](Table& t) { t.kernel = "a\nb"; }},
      {"long key", [](Table& t) { t.silicon_key.assign(2000, 'x'); }},
      {"fingerprint", [](Table& t) { t.fingerprint = "abc"; }},
      {"no dimensions", [](Table& t) { t.dimensions.clear(); }},
      {"dimension range",
       [](Table& t) {
         t.dimensions[0].min = 0;
         t.dimensions[0].max = -1;
       }},
      {"two repeated",
       [](Table& t) {
         t.dimensions[0].repeated = t.dimensions[1].repeated = true;
       }},
      {"name used twice", [](Table& t) { t.parameters[0] = "m"; }},
      {"default size", [](Table& t) { t.default_configuration = {1}; }},
      {"near_tie above 1", [](Table& t) { t.near_tie = 1.5; }},
      {"near_tie NaN", [](Table& t) { t.near_tie = std::nan(""); }},
      {"predicate index",
       [](Table& t) { Sub(t).predicates[0].left[0].dimensions = {3}; }},
      {"predicate side", [](Table& t) { Sub(t).predicates[0].right.clear(); }},
      {"predicate operator",
       [](Table& t) {
         Sub(t).predicates[0].op = static_cast<Relation::Operator>(9);
       }},
      {"predicate terms",
       [](Table& t) { Sub(t).predicates[0].left.resize(kMaxTerms + 1); }},
      {"predicate factors",
       [](Table& t) {
         Sub(t).predicates[0].left[0].dimensions.assign(kMaxFactors + 1, 0);
       }},
      {"predicate coefficient",
       [](Table& t) {
         Sub(t).predicates[0].left[0].coefficient = kExpressionLimit + 1;
       }},
      {"predicate twice",
       [](Table& t) { Sub(t).predicates[2] = Sub(t).predicates[1]; }},
      {"too many predicates",
       [](Table& t) {
         for (int64_t i = 2; Sub(t).predicates.size() <= kMaxPredicates; ++i) {
           Sub(t).predicates.push_back(MultipleOf(0, 10 * i));
         }
       }},
      {"more preconditions than predicates",
       [](Table& t) { Sub(t).preconditions = 4; }},
      {"preconditions below 0", [](Table& t) { Sub(t).preconditions = -1; }},
      {"group without any precondition",
       [](Table& t) { Sub(t).groups[0].predicates.clear(); }},
      {"group without the first precondition",
       [](Table& t) {
         Sub(t).groups[0].predicates = {1, 2};
       }},
      {"group without the second precondition",
       [](Table& t) {
         Sub(t).groups[0].predicates = {0, 2};
       }},
      {"group's predicate out of range",
       [](Table& t) {
         Sub(t).groups[0].predicates = {0, 1, 3};
       }},
      {"group's predicates not ascending",
       [](Table& t) {
         Sub(t).groups[0].predicates = {0, 1, 2, 2};
       }},
      {"no sub-table", [](Table& t) { t.sub_tables.clear(); }},
      {"sub-tables unsorted",
       [](Table& t) { t.sub_tables.push_back(t.sub_tables[0]); }},
      {"expression dimension",
       [](Table& t) { Sub(t).mapping.tiles = Expression::OfDimension(3); }},
      {"expression parameter",
       [](Table& t) { Sub(t).mapping.tiles = Expression::OfParameter(2); }},
      {"expression constant",
       [](Table& t) { Sub(t).mapping.tiles = Expression::Constant(0); }},
      {"expression depth",
       [](Table& t) {
         Sub(t).mapping.tiles = Nested(kMaxExpressionDepth + 1);
       }},
      {"expression size",
       [](Table& t) {
         Sub(t).mapping.tiles = Expression::Product(
             std::vector<Expression>(80, Expression::Constant(1)));
       }},
      {"divisor is a dimension",
       [](Table& t) {
         Sub(t).mapping.tiles = Expression::CeilDiv(
             {Expression::OfDimension(0)}, {Expression::OfDimension(1)});
       }},
      {"no divisor",
       [](Table& t) {
         Sub(t).mapping.tiles =
             Expression::CeilDiv({Expression::OfDimension(0)}, {});
       }},
      {"sum over a plain dimension",
       [](Table& t) {
         Sub(t).mapping.tiles =
             Expression::SumOver(0, Expression::OfDimension(0));
       }},
      {"repeated outside of a sum",
       [](Table& t) { t.dimensions[0].repeated = true; }},
      {"both loops",
       [](Table& t) {
         Sub(t).mapping.total_iterations = Expression::Constant(1);
       }},
      {"no loop", [](Table& t) { Sub(t).mapping.iterations_per_tile.reset(); }},
      {"row axis", [](Table& t) { Sub(t).mapping.rows->tile = 2; }},
      {"no portfolio", [](Table& t) { Sub(t).portfolio.clear(); }},
      {"mapping parameter below 1",
       [](Table& t) {
         Sub(t).portfolio[1].configuration = {0, 2};
       }},
      {"duplicate candidate",
       [](Table& t) { Sub(t).portfolio[2] = Sub(t).portfolio[0]; }},
      {"candidate capacity",
       [](Table& t) { Sub(t).portfolio[0].tiles_per_wave = 0; }},
      {"no row regime", [](Table& t) { Sub(t).row_regimes.clear(); }},
      {"row regime fill", [](Table& t) { Sub(t).row_regimes[0].max_fill = 2; }},
      {"waves not ascending",
       [](Table& t) {
         Sub(t).max_waves = {4, 4};
       }},
      {"anchors not ascending",
       [](Table& t) {
         Sub(t).loop_anchors = {8, 8};
       }},
      {"no groups", [](Table& t) { Sub(t).groups.clear(); }},
      {"lead", [](Table& t) { Sub(t).groups[0].lead = 3; }},
      {"group capacity",
       [](Table& t) { Sub(t).groups[0].tiles_per_wave = 99; }},
      {"member of another row", [](Table& t) { Segment(t).micro[0] = 1; }},
      {"rows missing", [](Table& t) { Sub(t).groups[0].models.clear(); }},
      {"segments missing",
       [](Table& t) { Sub(t).groups[0].models[0].segments.pop_back(); }},
      {"micro missing", [](Table& t) { Segment(t).micro.pop_back(); }},
      {"micro out of range", [](Table& t) { Segment(t).micro[0] = 3; }},
      {"coefficient infinite",
       [](Table& t) { Segment(t).coefficients.alpha = kInfinity; }},
      {"coefficient too large",
       [](Table& t) { Segment(t).coefficients.delta = 1e31; }},
      {"coefficient that a sum does not read",
       [](Table& t) { Segment(t).coefficients.alpha_row = 1; }},
      {"rank margin that a sum does not read",
       [](Table& t) { Segment(t).rank_margin = 1; }},
      {"no floor", [](Table& t) { Segment(t).floor_us = 0; }},
      {"no step", [](Table& t) { Segment(t).step_tiles = 0; }},
      {"negative bound", [](Table& t) { Segment(t).relative_bound = -1; }},
      {"wave range", [](Table& t) { Segment(t).min_wave = 9; }},
      {"iteration range", [](Table& t) { Segment(t).min_iterations = 65; }},
      {"slowdown of no launches",
       [](Table& t) {
         Sub(t).power_limit = {0, 0.25};
       }},
      {"long launches that are not slowed down",
       [](Table& t) {
         Sub(t).power_limit = {250, 0};
       }},
      {"slowdown above 1",
       [](Table& t) {
         Sub(t).power_limit = {250, 1.25};
       }},
      {"slowdown below 0",
       [](Table& t) {
         Sub(t).power_limit = {250, -0.25};
       }},
      {"long from below 0",
       [](Table& t) {
         Sub(t).power_limit = {-1, 0.25};
       }},
      {"slowdown that is no number",
       [](Table& t) {
         Sub(t).power_limit = {250, std::numeric_limits<double>::quiet_NaN()};
       }},
      {"wary without a group of the default",
       [](Table& t) { Sub(t).wary = true; }},
      {"layer without spans", [](Table& t) { Layer(t).spans.clear(); }},
      {"layer of other dimensions",
       [](Table& t) { Layer(t).extents.pop_back(); }},
      {"layer with rows", [](Table& t) { Layer(t).extents[0] = 1; }},
      {"layer out of range",
       [](Table& t) { Layer(t).extents[1] = kExpressionLimit + 1; }},
      {"layers not ascending",
       [](Table& t) { Sub(t).layers.push_back(Layer(t)); }},
      {"span before its layer", [](Table& t) { Layer(t).first = 17; }},
      {"layer from below 0", [](Table& t) { Layer(t).first = -1; }},
      {"spans not ascending", [](Table& t) { Layer(t).spans[1].last = 16; }},
      {"span beyond the limit",
       [](Table& t) {
         Layer(t).spans[1].last = std::numeric_limits<int64_t>::max();
         Layer(t).spans.push_back(Layer(t).spans[1]);
       }},
      {"span of no group", [](Table& t) { Layer(t).spans[0].group = 2; }},
      {"layer without rows' axis",
       [](Table& t) { Sub(t).mapping.rows.reset(); }},
      {"iterations infinite",
       [](Table& t) { Segment(t).max_iterations = kInfinity; }},
  };
}

// A table whose sum counts what a problem reads cold.
Table ColdTable() {
  Table table = TwoGroupTable();
  table.dimensions.push_back({.name = "experts", .repeated = true, .min = 0});
  Sub(table).mapping.cold_bytes =
      Expression::Product({Expression::OfDimension(1),
                           Expression::SumOver(3, Expression::Constant(4))});
  Segment(table).coefficients.cold = 0.5;
  return table;
}

TEST(TableCheckTest, ACoefficientAndWhatItIsMultipliedWithComeTogether) {
  ASSERT_TRUE(CheckTable(ColdTable()).ok()) << CheckTable(ColdTable());
  Table table = ColdTable();
  Sub(table).mapping.cold_bytes.reset();
  EXPECT_EQ(CheckTable(table).message(),
            "table: sub_tables[0]: coefficient cold, but its mapping lacks the "
            "expression that it is multiplied with");
  table = ColdTable();
  Segment(table).coefficients.cold = 0;
  EXPECT_EQ(CheckTable(table).message(),
            "table: sub_tables[0]: its mapping has the expression of "
            "coefficient cold, which no segment has");
  table = ColdTable();
  Sub(table).form = WaveForm::kOverlap;
  EXPECT_EQ(CheckTable(table).message(),
            "table: sub_tables[0].groups[0]: a coefficient that the wave form "
            "does not read");
}

TEST(TableCheckTest, BytesReadColdFollowFromTheProblemAlone) {
  Table table = ColdTable();
  Sub(table).mapping.cold_bytes =
      Expression::Product({Expression::OfParameter(0),
                           Expression::SumOver(3, Expression::OfDimension(3))});
  EXPECT_EQ(CheckTable(table).message(),
            "table: sub_tables[0].mapping: cold_bytes: a parameter in what "
            "problems alone give");
  // Nothing else of a decision would see that the term is there.
  table = ColdTable();
  Sub(table).mapping.cold_bytes = Expression::OfDimension(1);
  EXPECT_EQ(CheckTable(table).message(),
            "table: sub_tables[0].mapping: cold_bytes: needs a sum over the "
            "repeated dimension");
}

TEST(TableCheckTest, WhatFollowsFromTheProblemCountsOnceInADecision) {
  const Mapping cold = ColdTable().sub_tables[0].mapping;
  Mapping without = cold;
  without.cold_bytes.reset();
  const auto of_cold =
      static_cast<size_t>(CountNodes(cold) - CountNodes(without));
  EXPECT_GT(of_cold, 1u);
  for (const size_t groups : {1, 128}) {
    EXPECT_EQ(CountDecisionNodes(cold, groups),
              CountDecisionNodes(without, groups) + of_cold);
  }
  EXPECT_EQ(CountDecisionNodes(without, 128),
            128 * static_cast<size_t>(CountNodes(without)));
}

TEST(TableCheckTest, AcceptsValidTables) {
  EXPECT_TRUE(CheckTable(TinyTable()).ok()) << CheckTable(TinyTable());
  EXPECT_TRUE(CheckTable(TwoGroupTable()).ok()) << CheckTable(TwoGroupTable());
}

TEST(TableCheckTest, RefusesEachFaultAndSoDoesTheEncoder) {
  for (const Fault& fault : Faults()) {
    Table table = TwoGroupTable();
    Sub(table).layers = {
        {.extents = {0, 4096, 512},
         .first = 4,
         .spans = {{.last = 16, .group = 1}, {.last = 64, .group = 0}}}};
    AddPredicates(table);
    ASSERT_TRUE(CheckTable(table).ok()) << CheckTable(table);
    fault.make(table);
    const absl::Status status = CheckTable(table);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << fault.name;
    EXPECT_EQ(EncodeTable(table).status(), status) << fault.name;
  }
}

TEST(TableCheckTest, LimitsWhatOneDecisionEvaluates) {
  Table table = TwoGroupTable();
  const std::vector<Expression> constants(40, Expression::Constant(1));
  Sub(table).mapping.tiles = Expression::Product(constants);
  ASSERT_TRUE(CheckTable(table).ok());
  const MacroGroup group = Sub(table).groups[0];
  Sub(table).groups.assign(80, group);
  EXPECT_EQ(CheckTable(table).code(), absl::StatusCode::kInvalidArgument);
}

TEST(TableCheckTest, NamesThePlaceOfTheFault) {
  Table table = TwoGroupTable();
  Sub(table).groups[1].lead = 9;
  EXPECT_EQ(CheckTable(table).message(),
            "table: sub_tables[0].groups[1]: lead out of range");
}

}  // namespace
}  // namespace wavetune
