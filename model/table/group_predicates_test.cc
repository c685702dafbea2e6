#include "model/table/group_predicates.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Relation DividedBy(int32_t dimension, int64_t divisor) {
  return {.left = {{.dimensions = {dimension}}},
          .op = Relation::Operator::kMultipleOf,
          .right = {{.coefficient = divisor}}};
}

class GroupPredicatesTest : public ::testing::Test {
 protected:
  MacroGroup With(const std::vector<Relation>& relations) {
    MacroGroup group;
    SetPredicates(relations, dimensions_, sub_, group);
    return group;
  }

  const std::vector<Dimension> dimensions_ = {
      {.name = "m", .min = 1, .max = 1000}, {.name = "n", .min = 8, .max = 8}};
  SubTable sub_;
};

TEST_F(GroupPredicatesTest, AreKeptOnceForAllGroups) {
  EXPECT_THAT(With({DividedBy(0, 8), DividedBy(0, 3)}).predicates,
              ElementsAre(0, 1));
  EXPECT_THAT(With({DividedBy(0, 5), DividedBy(0, 3)}).predicates,
              ElementsAre(1, 2));
  EXPECT_THAT(With({}).predicates, IsEmpty());
  EXPECT_THAT(sub_.predicates,
              ElementsAre(DividedBy(0, 8), DividedBy(0, 3), DividedBy(0, 5)));
}

TEST_F(GroupPredicatesTest, LeaveOutWhatEveryProblemFulfils) {
  const Relation positive{.left = {{.dimensions = {0}}},
                          .op = Relation::Operator::kGreater,
                          .right = {{.coefficient = 0}}};
  EXPECT_THAT(With({positive, DividedBy(0, 1), DividedBy(1, 4)}).predicates,
              IsEmpty());
  EXPECT_THAT(sub_.predicates, IsEmpty());
}

TEST_F(GroupPredicatesTest, ReplaceThoseOfBefore) {
  MacroGroup group = With({DividedBy(0, 8), DividedBy(0, 3)});
  SetPredicates({DividedBy(0, 3)}, dimensions_, sub_, group);
  EXPECT_THAT(group.predicates, ElementsAre(1));
}

}  // namespace
}  // namespace wavetune
