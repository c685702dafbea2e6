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
  std::vector<uint8_t> Add(const std::vector<Relation>& relations) {
    return AddPredicates(relations, dimensions_, sub_);
  }

  const std::vector<Dimension> dimensions_ = {
      {.name = "m", .min = 1, .max = 1000}, {.name = "n", .min = 8, .max = 8}};
  SubTable sub_;
};

TEST_F(GroupPredicatesTest, AreKeptOnceForAllGroups) {
  EXPECT_THAT(Add({DividedBy(0, 8), DividedBy(0, 3)}), ElementsAre(0, 1));
  EXPECT_THAT(Add({DividedBy(0, 5), DividedBy(0, 3)}), ElementsAre(1, 2));
  EXPECT_THAT(Add({}), IsEmpty());
  EXPECT_THAT(sub_.predicates,
              ElementsAre(DividedBy(0, 8), DividedBy(0, 3), DividedBy(0, 5)));
}

TEST_F(GroupPredicatesTest, LeaveOutWhatEveryProblemFulfils) {
  const Relation positive{.left = {{.dimensions = {0}}},
                          .op = Relation::Operator::kGreater,
                          .right = {{.coefficient = 0}}};
  EXPECT_THAT(Add({positive, DividedBy(0, 1), DividedBy(1, 4)}), IsEmpty());
  EXPECT_THAT(sub_.predicates, IsEmpty());
}

TEST_F(GroupPredicatesTest, AreFoundAgain) {
  EXPECT_THAT(Add({DividedBy(0, 8), DividedBy(0, 3)}), ElementsAre(0, 1));
  EXPECT_THAT(Add({DividedBy(0, 3)}), ElementsAre(1));
}

}  // namespace
}  // namespace wavetune
