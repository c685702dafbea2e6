#include "model/kernel/condition.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/testing/kernels.h"
#include "model/testing/relation_terms.h"

namespace wavetune {
namespace {

using testing::Dim;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Par;
using Kind = Expression::Kind;
using Operator = Relation::Operator;
using Relations = std::vector<Relation>;
using Term = Relation::Term;
using testing::ConstantTerm;
using testing::DimTerm;
using testing::kM;
using testing::kN;

constexpr Operator kOperators[] = {
    Operator::kEqual,       Operator::kNotEqual, Operator::kLess,
    Operator::kLessOrEqual, Operator::kGreater,  Operator::kGreaterOrEqual,
    Operator::kMultipleOf,
};

Expression WholeNumber(int64_t value) { return Expression::Constant(value); }

Expression Times(Expression a, Expression b) {
  return Expression::Product({std::move(a), std::move(b)});
}

Expression Two(Kind kind, Expression a, Expression b) {
  return Expression::Of(kind, {std::move(a), std::move(b)});
}

// Of a condition without names.
bool IsTrue(const Condition& condition) {
  return Holds(condition, ProblemView(), Configuration());
}

Condition True() { return {WholeNumber(1), Operator::kEqual, WholeNumber(1)}; }
Condition False() { return {WholeNumber(1), Operator::kEqual, WholeNumber(2)}; }

// dimension % divisor == 0
Relation MultipleOf(int32_t dimension, int64_t divisor) {
  return {.left = {DimTerm(dimension)},
          .op = Operator::kMultipleOf,
          .right = {ConstantTerm(divisor)}};
}

TEST(ConditionTest, ARemainderOfZeroIsAMultiple) {
  const Condition written(Two(Kind::kRemainder, Dim(kM), Par(0)),
                          Operator::kEqual, WholeNumber(0));
  EXPECT_EQ(written, Condition(Dim(kM), Operator::kMultipleOf, Par(0)));
  // Another remainder is not.
  const Condition one(Two(Kind::kRemainder, Dim(kM), Par(0)), Operator::kEqual,
                      WholeNumber(1));
  EXPECT_EQ(one.op, Operator::kEqual);
  EXPECT_TRUE(Holds(one, {9}, {8}));
  EXPECT_FALSE(Holds(one, {8}, {8}));
}

TEST(ConditionTest, AddsUpProductsOfParametersAndDimensions) {
  // 2 * m + 3 * P0 * P1 == 10 + n
  const Condition condition(
      Expression::Sum({Times(WholeNumber(2), Dim(kM)),
                       Expression::Product({WholeNumber(3), Par(0), Par(1)})}),
      Operator::kEqual, Expression::Sum({WholeNumber(10), Dim(kN)}));
  EXPECT_TRUE(Holds(condition, {4, 28}, {2, 5}));
  EXPECT_FALSE(Holds(condition, {4, 29}, {2, 5}));
}

TEST(ConditionTest, QuotientsOfParametersMayBeRoundedAndCompared) {
  const auto holds = [](Kind kind, int64_t a, int64_t b, int64_t value) {
    return Holds(
        {Two(kind, Par(0), Par(1)), Operator::kEqual, WholeNumber(value)},
        ProblemView(), {a, b});
  };
  EXPECT_TRUE(holds(Kind::kExactDiv, 12, 4, 3));
  EXPECT_TRUE(holds(Kind::kFloorDiv, 14, 4, 3));
  EXPECT_TRUE(holds(Kind::kRemainder, 14, 4, 2));
  EXPECT_TRUE(holds(Kind::kMin, 14, 4, 4));
  EXPECT_TRUE(holds(Kind::kMax, 14, 4, 14));
  // Down, also below 0.
  const Expression negative =
      Expression::Of(Kind::kNegative, {WholeNumber(14)});
  EXPECT_TRUE(IsTrue({Two(Kind::kFloorDiv, negative, WholeNumber(4)),
                      Operator::kEqual, WholeNumber(-4)}));
  EXPECT_TRUE(IsTrue({Two(Kind::kRemainder, negative, WholeNumber(4)),
                      Operator::kEqual, WholeNumber(2)}));
}

// Nor does what such a side is a part of.
TEST(ConditionTest, AComparisonOfAnUndefinedQuotientNeverHolds) {
  const std::vector<Expression> undefined = {
      Two(Kind::kExactDiv, WholeNumber(7), WholeNumber(2)),
      Two(Kind::kExactDiv, WholeNumber(8), WholeNumber(0)),
      Two(Kind::kExactDiv, WholeNumber(8), WholeNumber(-2)),
      Two(Kind::kFloorDiv, WholeNumber(8), WholeNumber(0)),
      Two(Kind::kFloorDiv, WholeNumber(8), WholeNumber(-2)),
      Two(Kind::kRemainder, WholeNumber(8), WholeNumber(0)),
      Two(Kind::kRemainder, WholeNumber(8), WholeNumber(-2))};
  for (const Expression& side : undefined) {
    for (const Operator op : kOperators) {
      if (op == Operator::kEqual && side.kind == Kind::kRemainder) continue;
      EXPECT_FALSE(IsTrue({side, op, WholeNumber(1)}));
      EXPECT_FALSE(IsTrue({WholeNumber(1), op, side}));
      EXPECT_FALSE(IsTrue({side, op, side}));
      EXPECT_FALSE(IsTrue(
          {Expression::Sum({side, WholeNumber(1)}), op, WholeNumber(1)}));
    }
  }
  EXPECT_FALSE(IsTrue({undefined[5], Operator::kEqual, WholeNumber(0)}));
}

TEST(ConditionTest, AllIsTrueOfNoneAndAnyIsNot) {
  EXPECT_TRUE(IsTrue(Condition()));
  EXPECT_TRUE(IsTrue(Condition::All({})));
  EXPECT_FALSE(IsTrue(Condition::Any({})));
  EXPECT_TRUE(IsTrue(Condition::All({True(), True()})));
  EXPECT_FALSE(IsTrue(Condition::All({True(), False()})));
  EXPECT_TRUE(IsTrue(Condition::Any({False(), True()})));
  EXPECT_FALSE(IsTrue(Condition::Any({False(), False()})));
  EXPECT_TRUE(
      IsTrue(Condition::Any({False(), Condition::All({True(), Condition()})})));
}

TEST(ConditionTest, ANegationHoldsWhereTheConditionDoesNot) {
  for (const Operator op : kOperators) {
    const Condition condition(Dim(kM), op, Par(0));
    for (int64_t m = 1; m <= 8; ++m) {
      for (int64_t p = 1; p <= 8; ++p) {
        EXPECT_NE(Holds(condition, {m}, {p}),
                  Holds(Negated(condition), {m}, {p}))
            << static_cast<int>(op) << " of " << m << " and " << p;
        EXPECT_EQ(Holds(condition, {m}, {p}),
                  Holds(Negated(Negated(condition)), {m}, {p}));
      }
    }
  }
}

TEST(ConditionTest, ANegationOfAllIsAnyOfTheNegations) {
  const Condition both = Condition::All(
      {{Par(0), Operator::kLess, WholeNumber(4)},
       Condition::Any({{Par(1), Operator::kEqual, WholeNumber(1)},
                       {Par(1), Operator::kMultipleOf, WholeNumber(8)}})});
  for (int64_t a = 3; a <= 4; ++a) {
    for (const int64_t b : {1, 7, 8}) {
      EXPECT_NE(Holds(both, ProblemView(), {a, b}),
                Holds(Negated(both), ProblemView(), {a, b}));
    }
  }
  EXPECT_FALSE(IsTrue(Negated(Condition())));
  EXPECT_TRUE(IsTrue(Negated(Condition::Any({}))));
}

TEST(ConditionTest, NeitherItNorItsNegationHoldsOfAnUndefinedQuotient) {
  const Condition halves(Two(Kind::kExactDiv, Par(0), WholeNumber(2)),
                         Operator::kLess, WholeNumber(100));
  EXPECT_TRUE(Holds(halves, ProblemView(), {8}));
  EXPECT_FALSE(Holds(halves, ProblemView(), {7}));
  EXPECT_FALSE(Holds(Negated(halves), ProblemView(), {7}));
}

TEST(ConditionTest, AComplementHoldsExactlyWhereTheConditionDoesNot) {
  const Expression halves = Two(Kind::kExactDiv, Par(0), WholeNumber(2));
  for (const Operator op : kOperators) {
    for (const Condition& condition :
         {Condition(halves, op, Par(1)), Condition(Par(0), op, halves),
          Condition(Par(0), op, Par(1)),
          Condition::All({{halves, op, Par(1)}, True()}),
          Condition::Any({{halves, op, Par(1)}, False()})}) {
      for (int64_t a = 1; a <= 8; ++a) {
        for (int64_t b = 0; b <= 4; ++b) {
          const bool holds = Holds(condition, ProblemView(), {a, b});
          EXPECT_NE(Holds(Complement(condition), ProblemView(), {a, b}), holds)
              << static_cast<int>(op) << " of " << a << " and " << b;
          EXPECT_EQ(
              Holds(Complement(Complement(condition)), ProblemView(), {a, b}),
              holds);
        }
      }
    }
  }
}

// P0 <= 4 when 12 / P1 == 3.
TEST(ConditionTest, AGuardWithoutAValueAsksForNothing) {
  const Condition at_most_4(Par(0), Operator::kLessOrEqual, WholeNumber(4));
  const Condition guarded =
      When(at_most_4, {Two(Kind::kExactDiv, WholeNumber(12), Par(1)),
                       Operator::kEqual, WholeNumber(3)});
  EXPECT_TRUE(Holds(guarded, ProblemView(), {4, 4}));
  EXPECT_FALSE(Holds(guarded, ProblemView(), {5, 4}));
  EXPECT_TRUE(Holds(guarded, ProblemView(), {5, 3}));  // It is 4.
  for (const int64_t without_value : {0, 5, -3}) {
    EXPECT_TRUE(Holds(guarded, ProblemView(), {5, without_value}));
  }
  // Nor does one whose negation has none.
  const Condition by_zero = When(
      at_most_4, Negated({WholeNumber(12), Operator::kMultipleOf, Par(1)}));
  EXPECT_FALSE(Holds(by_zero, ProblemView(), {5, 5}));
  EXPECT_TRUE(Holds(by_zero, ProblemView(), {5, 0}));
  // What is asked for does not hold without a value.
  const Condition asked = When({Two(Kind::kExactDiv, WholeNumber(12), Par(1)),
                                Operator::kLess, WholeNumber(100)},
                               True());
  EXPECT_FALSE(Holds(asked, ProblemView(), {1, 5}));
}

// As `1 <= P0 < P1 <= 8` is read.
TEST(ConditionTest, AChainHoldsWhereEveryLinkDoes) {
  const Condition chain =
      Condition::All({{WholeNumber(1), Operator::kLessOrEqual, Par(0)},
                      {Par(0), Operator::kLess, Par(1)},
                      {Par(1), Operator::kLessOrEqual, WholeNumber(8)}});
  EXPECT_TRUE(Holds(chain, ProblemView(), {1, 8}));
  EXPECT_FALSE(Holds(chain, ProblemView(), {0, 8}));
  EXPECT_FALSE(Holds(chain, ProblemView(), {8, 8}));
  EXPECT_FALSE(Holds(chain, ProblemView(), {1, 9}));
}

TEST(ConditionTest, EveryElementOfTheRepeatedDimensionMustHold) {
  const Condition condition(Dim(kM), Operator::kMultipleOf, Par(0));
  const std::vector<int64_t> even = {8, 16, 64};
  const std::vector<int64_t> odd = {8, 17, 64};
  EXPECT_TRUE(Holds(condition, {{0, 1}, even}, {8}, kM));
  EXPECT_FALSE(Holds(condition, {{0, 1}, odd}, {8}, kM));
}

TEST(ConditionTest, IgnoresTheSlotOfTheRepeatedDimension) {
  const Condition condition(Dim(kM), Operator::kLess, WholeNumber(10));
  const std::vector<int64_t> elements = {1, 2};
  EXPECT_TRUE(Holds(condition, {{99, 1}, elements}, Configuration(), kM));
}

TEST(ConditionTest, WhatDoesNotNameTheRepeatedDimensionIsComparedOnce) {
  const Condition condition(Dim(kN), Operator::kLess, WholeNumber(10));
  EXPECT_FALSE(Holds(condition, {0, 11}, Configuration(), kM));
  EXPECT_TRUE(Holds(condition, {0, 9}, Configuration(), kM));
}

TEST(ConditionTest, SaturatesInsteadOfOverflowing) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const Condition condition(
      Expression::Product({WholeNumber(kLeast), Par(0), Dim(kM), Dim(kM)}),
      Operator::kLess,
      Expression::Sum(
          {Expression::Product({WholeNumber(kHuge), Par(0), Par(0), Dim(kM)}),
           WholeNumber(kHuge)}));
  EXPECT_TRUE(Holds(condition, {kHuge}, {kHuge}));
}

TEST(ConditionTest, NegativesSubtract) {
  // n - m >= 0
  const Condition condition(
      Expression::Sum({Dim(kN), Expression::Of(Kind::kNegative, {Dim(kM)})}),
      Operator::kGreaterOrEqual, WholeNumber(0));
  EXPECT_TRUE(Holds(condition, {3, 3}, Configuration()));
  EXPECT_FALSE(Holds(condition, {4, 3}, Configuration()));
}

TEST(ConditionTest, HoldsWhereTheRelationOfItsTermsDoes) {
  // 2 * m - n * n <= 7
  const Relation relation{
      .left = {DimTerm(kM, 2), {.coefficient = -1, .dimensions = {kN, kN}}},
      .op = Operator::kLessOrEqual,
      .right = {ConstantTerm(7)}};
  const Condition condition = testing::ConditionOf(relation);
  for (int64_t m = 1; m <= 8; ++m) {
    for (int64_t n = 1; n <= 3; ++n) {
      EXPECT_EQ(Holds(relation, {m, n}),
                Holds(condition, {m, n}, Configuration()));
    }
  }
  EXPECT_EQ(FoldCondition(condition, Configuration())->size(), 1u);
}

TEST(ConditionTest, CollectsWhatItNamesOnce) {
  const Condition condition = Condition::Any(
      {{Times(Par(2), Dim(kN)), Operator::kLess, Par(0)},
       Condition::All({{Dim(kN), Operator::kEqual, Par(2)},
                       {Dim(kM), Operator::kEqual, WholeNumber(1)}})});
  std::vector<int32_t> dimensions;
  CollectDimensions(condition, dimensions);
  EXPECT_THAT(dimensions, ElementsAre(kN, kM));
  std::vector<int32_t> parameters;
  CollectParameters(condition, parameters);
  EXPECT_THAT(parameters, ElementsAre(2, 0));
}

// P0 == 0 or m % 8 == 0.
Condition Guarded() {
  return Condition::Any({{Par(0), Operator::kEqual, WholeNumber(0)},
                         {Dim(kM), Operator::kMultipleOf, WholeNumber(8)}});
}

TEST(FoldConditionTest, AGuardIsDecidedByTheConfiguration) {
  EXPECT_THAT(*FoldCondition(Guarded(), {0}), IsEmpty());
  EXPECT_THAT(*FoldCondition(Guarded(), {1}), ElementsAre(MultipleOf(kM, 8)));
}

TEST(FoldConditionTest, ComparisonsWithoutDimensionsAreTrueOrNever) {
  const Condition condition(Par(0), Operator::kLess, WholeNumber(4));
  EXPECT_THAT(*FoldCondition(condition, {3}), IsEmpty());
  EXPECT_THAT(*FoldCondition(condition, {4}), ElementsAre(Never()));
  EXPECT_THAT(*FoldCondition(Condition(), {3}), IsEmpty());
  EXPECT_THAT(*FoldCondition(Condition::Any({}), {3}), ElementsAre(Never()));
  const Condition undefined(Two(Kind::kExactDiv, Par(0), WholeNumber(2)),
                            Operator::kLess, WholeNumber(4));
  EXPECT_THAT(*FoldCondition(undefined, {3}), ElementsAre(Never()));
  EXPECT_FALSE(Holds(Never(), ProblemView()));
}

TEST(FoldConditionTest, AllIsOneRelationAfterTheOther) {
  const Condition both =
      Condition::All({{Dim(kM), Operator::kMultipleOf, Par(0)},
                      {Par(0), Operator::kGreater, WholeNumber(1)},
                      {Dim(kN), Operator::kMultipleOf, WholeNumber(4)}});
  EXPECT_THAT(*FoldCondition(both, {16}),
              ElementsAre(MultipleOf(kM, 16), MultipleOf(kN, 4)));
  // What never holds does so alone.
  EXPECT_THAT(*FoldCondition(both, {1}), ElementsAre(Never()));
}

TEST(FoldConditionTest, AnOrBetweenDimensionsIsNoList) {
  const Condition either =
      Condition::Any({{Dim(kM), Operator::kMultipleOf, Par(0)},
                      {Dim(kN), Operator::kMultipleOf, WholeNumber(4)}});
  EXPECT_FALSE(FoldCondition(either, {16}).has_value());
  EXPECT_FALSE(FoldCondition(Condition::All({True(), either}), {16}));
  // It is where the configuration decides.
  EXPECT_THAT(*FoldCondition(Condition::All({False(), either}), {16}),
              ElementsAre(Never()));
  EXPECT_THAT(*FoldCondition(Condition::Any({either, True()}), {16}),
              IsEmpty());
  EXPECT_THAT(
      *FoldCondition(
          Condition::Any({False(), {Dim(kM), Operator::kLess, Par(0)}}), {16}),
      ElementsAre(Relation{.left = {DimTerm(kM)},
                           .op = Operator::kLess,
                           .right = {ConstantTerm(16)}}));
}

TEST(FoldConditionTest, QuotientsRemaindersAndExtremesOfDimensionsAreNone) {
  for (const Kind kind :
       {Kind::kFloorDiv, Kind::kRemainder, Kind::kMin, Kind::kMax}) {
    const Condition condition(Two(kind, Dim(kM), Par(0)), Operator::kLess,
                              WholeNumber(4));
    EXPECT_FALSE(FoldCondition(condition, {16}).has_value());
  }
  EXPECT_FALSE(FoldCondition({Expression::CeilDiv({Dim(kM)}, {Par(0)}),
                              Operator::kLess, WholeNumber(4)},
                             {16})
                   .has_value());
  // Of parameters they are numbers.
  const Condition of_parameters(
      Dim(kM), Operator::kLess,
      Expression::Sum({Two(Kind::kMax, Par(0), Par(1)),
                       Two(Kind::kFloorDiv, Par(0), WholeNumber(4)),
                       Two(Kind::kRemainder, Par(0), Par(1))}));
  EXPECT_THAT(*FoldCondition(of_parameters, {18, 5}),
              ElementsAre(Relation{.left = {DimTerm(kM)},
                                   .op = Operator::kLess,
                                   .right = {ConstantTerm(18 + 4 + 3)}}));
}

TEST(FoldConditionTest, LikeTermsAreAddedUp) {
  // P0 * m + n * m - 3 * m + n < m * n + m * n
  const Condition condition(
      Expression::Sum({Times(Par(0), Dim(kM)), Times(Dim(kN), Dim(kM)),
                       Times(WholeNumber(-3), Dim(kM)), Dim(kN)}),
      Operator::kLess,
      Expression::Sum({Times(Dim(kM), Dim(kN)), Times(Dim(kM), Dim(kN))}));
  const Relation::Term product{.coefficient = 1, .dimensions = {kM, kN}};
  const Relation::Term twice{.coefficient = 2, .dimensions = {kM, kN}};
  EXPECT_THAT(
      FoldCondition(condition, {5})->at(0).left,
      ::testing::UnorderedElementsAre(DimTerm(kM, 2), product, DimTerm(kN)));
  EXPECT_THAT(FoldCondition(condition, {5})->at(0).right, ElementsAre(twice));
  // What cancels out is left out.
  EXPECT_THAT(FoldCondition(condition, {3})->at(0).left,
              ::testing::UnorderedElementsAre(product, DimTerm(kN)));
}

TEST(FoldConditionTest, SidesOfNothingAreZero) {
  const Condition condition(Times(Par(0), Dim(kM)), Operator::kLess,
                            WholeNumber(4));
  EXPECT_THAT(*FoldCondition(condition, {0}),
              ElementsAre(Relation{.left = {ConstantTerm(0)},
                                   .op = Operator::kLess,
                                   .right = {ConstantTerm(4)}}));
}

TEST(FoldConditionTest, ProductsOfSumsAreMultipliedOut) {
  // (m + 1) * (n - 1) >= 0
  const Condition condition(Times(Expression::Sum({Dim(kM), WholeNumber(1)}),
                                  Expression::Sum({Dim(kN), WholeNumber(-1)})),
                            Operator::kGreaterOrEqual, WholeNumber(0));
  const Relation folded = FoldCondition(condition, Configuration())->at(0);
  EXPECT_THAT(folded.left, ::testing::UnorderedElementsAre(
                               Term{.coefficient = 1, .dimensions = {kM, kN}},
                               DimTerm(kM, -1), DimTerm(kN), ConstantTerm(-1)));
}

TEST(FoldConditionTest, ADivisorOfEveryTermIsDividedBy) {
  // (8 * m + P0) / 4 <= 16
  const Condition condition(
      Two(Kind::kExactDiv,
          Expression::Sum({Times(WholeNumber(8), Dim(kM)), Par(0)}),
          WholeNumber(4)),
      Operator::kLessOrEqual, WholeNumber(16));
  const Relation folded = FoldCondition(condition, {12})->at(0);
  EXPECT_THAT(folded.left,
              ::testing::UnorderedElementsAre(DimTerm(kM, 2), ConstantTerm(3)));
  EXPECT_FALSE(FoldCondition(condition, {13}).has_value());
  const auto divided_by = [](const Expression& divisor) {
    return FoldCondition(
        {Two(Kind::kExactDiv, Times(WholeNumber(8), Dim(kM)), divisor),
         Operator::kLess, WholeNumber(16)},
        Configuration());
  };
  EXPECT_FALSE(divided_by(Dim(kN)).has_value());
  // By nothing there is no value at any problem.
  EXPECT_THAT(*divided_by(WholeNumber(0)), ElementsAre(Never()));
  EXPECT_THAT(*divided_by(WholeNumber(-4)), ElementsAre(Never()));
}

TEST(FoldConditionTest, AGuardWithoutAValueIsDecidedByTheConfiguration) {
  const Condition multiple(Dim(kM), Operator::kMultipleOf, WholeNumber(8));
  const Expression quotient = Two(Kind::kExactDiv, WholeNumber(12), Par(0));
  // m % 8 == 0 when 12 / P0 == 3, and when n <= 12 / P0.
  const Condition of_parameters =
      When(multiple, {quotient, Operator::kEqual, WholeNumber(3)});
  const Condition of_problems =
      When(multiple, {Dim(kN), Operator::kLessOrEqual, quotient});
  EXPECT_THAT(*FoldCondition(of_parameters, {4}),
              ElementsAre(MultipleOf(kM, 8)));
  EXPECT_THAT(*FoldCondition(of_parameters, {5}), IsEmpty());
  EXPECT_FALSE(FoldCondition(of_problems, {4}).has_value());  // An or.
  EXPECT_THAT(*FoldCondition(of_problems, {5}), IsEmpty());
  // m % 8 == 0 when m % (n - P0) != 0: by 0 at some problems.
  const Condition modulus(
      Dim(kM), Operator::kMultipleOf,
      Expression::Sum({Dim(kN), Times(WholeNumber(-1), Par(0))}));
  EXPECT_FALSE(FoldCondition(Complement(Negated(modulus)), {4}).has_value());
  EXPECT_TRUE(FoldCondition(modulus, {4}).has_value());
}

TEST(FoldConditionTest, CoefficientsSaturate) {
  const Condition condition(
      Expression::Product(
          {WholeNumber(kExpressionLimit), Par(0), Par(0), Dim(kM)}),
      Operator::kLess,
      Expression::Product({WholeNumber(-kExpressionLimit), Par(0), Dim(kM)}));
  const Relation folded = FoldCondition(condition, {1000})->at(0);
  EXPECT_EQ(folded.left[0].coefficient, kExpressionLimit);
  EXPECT_EQ(folded.right[0].coefficient, -kExpressionLimit);
}

// The slow obvious way: all problems and configurations of small ranges.
// Returns how many configurations could be folded.
int CountFoldedAlike(const Condition& condition) {
  int folded_ones = 0;
  for (int64_t a = 0; a <= 4; ++a) {
    for (int64_t b = 0; b <= 2; ++b) {
      const auto folded = FoldCondition(condition, {a, b});
      if (!folded.has_value()) continue;
      ++folded_ones;
      for (int64_t m = 1; m <= 4; ++m) {
        for (int64_t n = 1; n <= 4; ++n) {
          bool all = true;
          for (const Relation& relation : *folded) {
            all &= Holds(relation, {m, n});
          }
          EXPECT_EQ(all, Holds(condition, {m, n}, {a, b}))
              << "at " << m << ", " << n << " with " << a << ", " << b;
        }
      }
    }
  }
  return folded_ones;
}

TEST(FoldConditionTest, FoldedConditionsMeanTheSame) {
  const std::vector<Expression> sides = {
      WholeNumber(3),
      Dim(kM),
      Par(0),
      Times(Par(0), Dim(kN)),
      Expression::Sum({Times(WholeNumber(2), Dim(kM)),
                       Expression::Of(Kind::kNegative, {Dim(kN)}), Par(1)}),
      Times(Expression::Sum({Dim(kM), Par(1)}), Dim(kN)),
      Two(Kind::kMin, Par(0), Par(1)),
      Two(Kind::kExactDiv, Times(WholeNumber(4), Dim(kN)), Par(0)),
      Two(Kind::kExactDiv, WholeNumber(4), Par(0)),
      Two(Kind::kRemainder, WholeNumber(7),
          Two(Kind::kFloorDiv, Par(0), Par(1)))};
  const Condition guard(Par(1), Operator::kEqual, WholeNumber(1));
  int folded_ones = 0;
  for (const Expression& left : sides) {
    for (const Expression& right : sides) {
      for (const Operator op : kOperators) {
        const Condition compared(left, op, right);
        for (const Condition& condition :
             {Condition::Any({guard, compared}), When(compared, guard),
              When(guard, compared), When(guard, Negated(compared))}) {
          folded_ones += CountFoldedAlike(condition);
        }
      }
    }
  }
  EXPECT_GT(folded_ones, 12000);
}

TEST(FoldConditionTest, TheRepeatedDimensionStaysOne) {
  const Condition condition(Times(Par(0), Dim(kM)), Operator::kMultipleOf,
                            WholeNumber(8));
  const Relation folded = FoldCondition(condition, {2})->at(0);
  const std::vector<int64_t> good = {4, 12};
  const std::vector<int64_t> bad = {4, 6};
  EXPECT_TRUE(Holds(folded, {{0, 1}, good}, kM));
  EXPECT_FALSE(Holds(folded, {{0, 1}, bad}, kM));
}

TEST(FoldConditionsTest, AreOneListWithoutDuplicates) {
  const std::vector<Condition> conditions = {
      {Dim(kM), Operator::kMultipleOf, Par(0)},
      Guarded(),
      {Dim(kN), Operator::kLess, WholeNumber(9)},
      {Par(0), Operator::kGreater, WholeNumber(0)}};
  const Relation below{
      .left = {DimTerm(kN)}, .op = Operator::kLess, .right = {ConstantTerm(9)}};
  EXPECT_THAT(FoldConditions(conditions, {8}),
              ElementsAre(MultipleOf(kM, 8), below));
  EXPECT_THAT(FoldConditions(conditions, {4}),
              ElementsAre(MultipleOf(kM, 4), MultipleOf(kM, 8), below));
  EXPECT_THAT(FoldConditions({}, {4}), IsEmpty());
}

TEST(FoldConditionsTest, OneThatCannotBeFoldedNeverHolds) {
  EXPECT_THAT(FoldConditions({Condition(Two(Kind::kMin, Dim(kM), Dim(kN)),
                                        Operator::kLess, WholeNumber(4))},
                             Configuration()),
              ElementsAre(Never()));
}

TEST(WithDimensionsTest, LeavesAConditionOverParameters) {
  // P0 * d0 <= 90 or d0 == P1
  const Condition condition = Condition::Any(
      {{Times(Par(0), Dim(0)), Operator::kLessOrEqual, WholeNumber(90)},
       {Dim(0), Operator::kEqual, Par(1)}});
  const std::vector<int64_t> values = {90};
  const Condition put = WithDimensions(condition, values);
  std::vector<int32_t> dimensions;
  CollectDimensions(put, dimensions);
  EXPECT_THAT(dimensions, IsEmpty());
  for (const int64_t a : {1, 2}) {
    for (const int64_t b : {80, 90}) {
      EXPECT_EQ(Holds(put, ProblemView(), {a, b}),
                Holds(condition, {90}, {a, b}));
    }
  }
  EXPECT_FALSE(Holds(put, ProblemView(), {2, 80}));
}

}  // namespace
}  // namespace wavetune
