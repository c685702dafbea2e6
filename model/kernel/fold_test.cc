#include "model/kernel/fold.h"

#include <gtest/gtest.h>

#include "tests/lib/lcg.h"
#include "tests/lib/random_table.h"
#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

using testing::Lcg;

TEST(FoldTest, FoldedTreesAndRelationsMeanTheSame) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Lcg random(seed);
    const Table table = testing::RandomTable(random);
    const SubTable& sub = table.sub_tables[0];
    int repeated = -1;
    for (size_t i = 0; i < table.dimensions.size(); ++i) {
      if (table.dimensions[i].repeated) repeated = static_cast<int>(i);
    }
    for (const TableCandidate& candidate : sub.portfolio) {
      const Configuration& configuration = candidate.configuration;
      const Problem problem = testing::RandomLegalProblem(random, table);
      EXPECT_EQ(Evaluate(FoldExpression(sub.mapping.tiles, configuration),
                         problem.View(), Configuration()),
                Evaluate(sub.mapping.tiles, problem.View(), configuration));
      for (const Relation& relation : table.problem_predicates) {
        EXPECT_EQ(Holds(FoldRelation(relation, configuration), problem.View(),
                        Configuration(), repeated),
                  Holds(relation, problem.View(), configuration, repeated));
      }
    }
  }
}

TEST(FoldTest, CoefficientsSaturate) {
  const Relation relation{.left = {{kExpressionLimit, {0, 0}, {}}},
                          .op = Relation::Operator::kLess,
                          .right = {{-kExpressionLimit, {0}, {}}}};
  const Relation folded = FoldRelation(relation, {1000});
  EXPECT_EQ(folded.left[0].coefficient, kExpressionLimit);
  EXPECT_EQ(folded.right[0].coefficient, -kExpressionLimit);
}

TEST(FoldTest, MacroGroupsAreToldApartByMappingRowsAndPredicates) {
  const Table table = testing::TwoGroupTable();
  const Mapping& mapping = table.sub_tables[0].mapping;
  EXPECT_TRUE(SameMacroGroup(mapping, {}, {64, 2}, {64, 4}));
  EXPECT_FALSE(SameMacroGroup(mapping, {}, {64, 2}, {128, 2}));
  const Relation stages{.left = {{1, {}, {2}}},
                        .op = Relation::Operator::kMultipleOf,
                        .right = {{1, {1}, {}}}};
  EXPECT_FALSE(SameMacroGroup(mapping, {stages}, {64, 2}, {64, 4}));
  Mapping rows;
  rows.iterations_per_tile = Expression::Constant(1);
  rows.rows = RowAxis{.dimension = 0, .tile = 0};
  EXPECT_FALSE(SameMacroGroup(rows, {}, {64, 2}, {128, 2}));
}

}  // namespace
}  // namespace wavetune
