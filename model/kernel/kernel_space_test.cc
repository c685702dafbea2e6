#include "model/kernel/kernel_space.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using testing::Dim;
using ::testing::HasSubstr;
using testing::Par;
using ::wavetune::testing::CausalAttentionSpec;
using ::wavetune::testing::GemmSpec;
using ::wavetune::testing::GroupedGemmSpec;

Expression SpaceConstant(int64_t value) { return Expression::Constant(value); }

Expression Times(int64_t coefficient, Expression expression) {
  return Expression::Product(
      {SpaceConstant(coefficient), std::move(expression)});
}

TEST(EnumerateConfigurationsTest, GivesTheSpaceInOrderOfValueIndices) {
  KernelSpec spec = GemmSpec();
  spec.parameters[4].values = {4, 1};  // Order of declaration, not of size.
  const std::vector<Configuration> space = EnumerateConfigurations(spec);
  ASSERT_EQ(space.size(), 24u);
  EXPECT_EQ(space[0], Configuration({16, 32, 16, 1, 4}));
  EXPECT_EQ(space[1], Configuration({16, 32, 16, 1, 1}));
  EXPECT_EQ(space.back(), Configuration({64, 32, 32, 2, 1}));
  for (const Configuration& configuration : space) {
    EXPECT_TRUE(InSpace(spec, configuration));
  }
}

TEST(EnumerateConfigurationsTest, StopsJustAboveTheLimit) {
  KernelSpec spec = GemmSpec();
  spec.constraints.clear();
  for (Parameter& parameter : spec.parameters) {
    parameter.values.clear();
    for (int64_t value = 1; value <= 20; ++value) {
      parameter.values.push_back(value);
    }
  }
  EXPECT_EQ(EnumerateConfigurations(spec).size(), kMaxConfigurations + 1);
}

TEST(EnumerateConfigurationsTest, PrunesALargeCrossProduct) {
  // 12 parameters of 8 values are 7e10 combinations; each equals the one
  // before.
  KernelSpec spec = GemmSpec();
  spec.parameters.clear();
  spec.constraints.clear();
  for (int i = 0; i < 12; ++i) {
    spec.parameters.push_back({.name = absl::StrCat("P", i),
                               .role = ParameterRole::kMacro,
                               .values = {1, 2, 3, 4, 5, 6, 7, 8}});
    if (i == 0) continue;
    spec.constraints.push_back(
        {Par(i), Relation::Operator::kEqual, Par(i - 1)});
  }
  EXPECT_EQ(EnumerateConfigurations(spec).size(), 8u);
}

TEST(InSpaceTest, RefusesUnknownValuesCountsAndBrokenConstraints) {
  const KernelSpec spec = GemmSpec();
  EXPECT_TRUE(InSpace(spec, {16, 128, 16, 1, 4}));
  EXPECT_FALSE(InSpace(spec, {64, 128, 16, 1, 4}));  // 8192 > 4096
  EXPECT_FALSE(InSpace(spec, {17, 32, 16, 1, 4}));
  EXPECT_FALSE(InSpace(spec, {16, 32, 16, 1}));
  EXPECT_FALSE(InSpace(spec, {16, 32, 16, 1, 4, 1}));
}

TEST(IsLegalTest, AppliesRangesAndPredicates) {
  const KernelSpec spec = GemmSpec();
  const Configuration wide({16, 32, 16, 1, 4});
  const Configuration narrow({16, 32, 16, 1, 1});
  EXPECT_TRUE(IsLegal(spec, wide, {1, 2, 8}));
  EXPECT_FALSE(IsLegal(spec, wide, {1, 2, 7}));
  EXPECT_TRUE(IsLegal(spec, narrow, {1, 2, 7}));
  EXPECT_FALSE(IsLegal(spec, narrow, {0, 2, 7}));
  EXPECT_FALSE(IsLegal(spec, narrow, {1, 2}));
  EXPECT_FALSE(IsLegal(spec, narrow, {1, 2, 7, 1}));
}

TEST(IsLegalTest, LooksAtEveryElementOfARepeatedDimension) {
  const KernelSpec spec = GroupedGemmSpec();
  const Configuration configuration({16, 32, 16, 1, 1});
  const std::vector<int64_t> good = {1, 5};
  const std::vector<int64_t> bad = {1, 0};
  EXPECT_TRUE(IsLegal(spec, configuration, {{0, 2, 8}, good}));
  EXPECT_FALSE(IsLegal(spec, configuration, {{0, 2, 8}, bad}));
  EXPECT_FALSE(IsLegal(spec, configuration, {0, 2, 8}));
}

// `k` from 1 to 1000 and a parameter of value 4 (VECTOR).
bool AlwaysLegal(Condition predicate, int64_t min = 1, int64_t max = 1000) {
  KernelSpec spec = GemmSpec();
  spec.dimensions[2].min = min;
  spec.dimensions[2].max = max;
  spec.problem_predicates = {std::move(predicate)};
  return IsLegalForEveryProblem(spec, {16, 32, 16, 1, 4});
}

TEST(IsLegalForEveryProblemTest, DecidesComparisonsAtTheEndsOfTheRanges) {
  using Op = Relation::Operator;
  const Expression k = Dim(2);
  EXPECT_TRUE(AlwaysLegal({k, Op::kGreaterOrEqual, SpaceConstant(1)}));
  EXPECT_FALSE(AlwaysLegal({k, Op::kGreater, SpaceConstant(1)}));
  EXPECT_TRUE(AlwaysLegal({k, Op::kLessOrEqual, SpaceConstant(1000)}));
  EXPECT_FALSE(AlwaysLegal({k, Op::kLess, SpaceConstant(1000)}));
  EXPECT_TRUE(
      AlwaysLegal({k, Op::kLess,
                   Expression::Product({SpaceConstant(16), Par(2), Par(4)})}));
  EXPECT_TRUE(AlwaysLegal({k, Op::kNotEqual, SpaceConstant(1001)}));
  EXPECT_FALSE(AlwaysLegal({k, Op::kEqual, SpaceConstant(7)}));
  EXPECT_TRUE(AlwaysLegal({k, Op::kEqual, SpaceConstant(7)}, 7, 7));
  // -2 * k + 2000 >= 0
  EXPECT_TRUE(AlwaysLegal({Expression::Sum({Times(-2, k), SpaceConstant(2000)}),
                           Op::kGreaterOrEqual, SpaceConstant(0)}));
  EXPECT_FALSE(
      AlwaysLegal({Expression::Sum({Times(-2, k), SpaceConstant(1999)}),
                   Op::kGreaterOrEqual, SpaceConstant(0)}));
}

TEST(IsLegalForEveryProblemTest, DecidesMultiplesByTheConstantParts) {
  using Op = Relation::Operator;
  const Expression k = Dim(2);
  EXPECT_TRUE(AlwaysLegal({k, Op::kMultipleOf, SpaceConstant(1)}));
  EXPECT_TRUE(AlwaysLegal({k, Op::kMultipleOf, Par(3)}));
  EXPECT_FALSE(AlwaysLegal({k, Op::kMultipleOf, Par(4)}));
  EXPECT_TRUE(AlwaysLegal({Times(8, k), Op::kMultipleOf, Par(4)}));
  EXPECT_TRUE(AlwaysLegal({k, Op::kMultipleOf, Par(4)}, 64, 64));
  EXPECT_TRUE(AlwaysLegal({k, Op::kMultipleOf, k}));
  EXPECT_FALSE(AlwaysLegal({k, Op::kMultipleOf, Times(2, k)}));
  EXPECT_FALSE(AlwaysLegal({k, Op::kMultipleOf, SpaceConstant(0)}));
}

TEST(IsLegalForEveryProblemTest, PredicatesOverParametersAloneAreEvaluated) {
  using Op = Relation::Operator;
  EXPECT_TRUE(AlwaysLegal({Par(4), Op::kEqual, SpaceConstant(4)}));
  EXPECT_FALSE(AlwaysLegal({Par(4), Op::kEqual, SpaceConstant(5)}));
}

TEST(IsLegalForEveryProblemTest, FoldsParametersBeforeItAddsLikeTerms) {
  using Op = Relation::Operator;
  const Expression k = Dim(2);
  const Expression product = Expression::Product({Par(4), k});
  // VECTOR * k - 3 * k is k.
  EXPECT_TRUE(
      AlwaysLegal({Expression::Sum({product, Times(-3, k)}), Op::kEqual, k}));
  EXPECT_FALSE(
      AlwaysLegal({Expression::Sum({product, Times(-2, k)}), Op::kEqual, k}));
}

TEST(IsLegalForEveryProblemTest, GuardsAreDecidedByTheConfiguration) {
  using Op = Relation::Operator;
  const Condition needs_eight(Dim(2), Op::kMultipleOf, SpaceConstant(8));
  const auto guarded = [&](int64_t vector) {
    return Condition::Any(
        {{Par(4), Op::kEqual, SpaceConstant(vector)}, needs_eight});
  };
  EXPECT_TRUE(AlwaysLegal(guarded(4)));
  EXPECT_FALSE(AlwaysLegal(guarded(1)));
}

// k % 8 == 0 of all problems, k % VECTOR == 0 of some.
TEST(PreconditionsTest, HoldForEveryConfiguration) {
  KernelSpec spec = GemmSpec();
  const Condition eight(Dim(2), Relation::Operator::kMultipleOf,
                        SpaceConstant(8));
  spec.preconditions = {eight};
  const Configuration narrow({16, 32, 16, 1, 1});
  const Configuration wide({16, 32, 16, 1, 4});
  EXPECT_TRUE(IsLegal(spec, narrow, {1, 2, 16}));
  EXPECT_FALSE(IsLegal(spec, narrow, {1, 2, 12}));
  EXPECT_FALSE(IsLegal(spec, wide, {1, 2, 12}));
  // What breaks them is no matter of the configuration.
  EXPECT_TRUE(IsLegalForEveryProblem(spec, narrow));
  EXPECT_FALSE(IsLegalForEveryProblem(spec, wide));
}

TEST(ProblemRelationsTest, ArePreconditionsThenPredicatesEachOnce) {
  KernelSpec spec = GemmSpec();
  const auto multiple = [](int32_t dimension, int64_t divisor) {
    return Relation{.left = {{.dimensions = {dimension}}},
                    .op = Relation::Operator::kMultipleOf,
                    .right = {{.coefficient = divisor}}};
  };
  spec.preconditions = {testing::ConditionOf(multiple(1, 2)),
                        testing::ConditionOf(multiple(2, 4))};
  EXPECT_THAT(ProblemRelations(spec, {16, 32, 16, 1, 4}),
              ::testing::ElementsAre(multiple(1, 2), multiple(2, 4)));
  EXPECT_THAT(
      ProblemRelations(spec, {16, 32, 16, 1, 1}),
      ::testing::ElementsAre(multiple(1, 2), multiple(2, 4), multiple(2, 1)));
}

// Listed in an order that is not that of the value indices.
TEST(ExplicitConfigurationsTest, AreTheSpaceAlone) {
  KernelSpec spec = GemmSpec();
  const Configuration large({64, 32, 32, 2, 1});
  const Configuration small({16, 32, 16, 1, 4});
  spec.configurations = {large, small};
  EXPECT_EQ(EnumerateConfigurations(spec), spec.configurations);
  EXPECT_TRUE(EnumerateSpace(spec).complete);
  EXPECT_TRUE(InSpace(spec, large));
  EXPECT_TRUE(InSpace(spec, small));
  EXPECT_FALSE(InSpace(spec, {16, 32, 16, 1, 1}));
}

TEST(ExplicitConfigurationsTest, ConstraintsAndValuesLeaveSomeOut) {
  KernelSpec spec = GemmSpec();
  const Configuration good({16, 128, 16, 1, 4});
  spec.configurations = {{64, 128, 16, 1, 4},  // 8192 > 4096
                         good,
                         {48, 32, 16, 1, 4}};  // 48 is no value of BLOCK_M.
  EXPECT_THAT(EnumerateConfigurations(spec), ::testing::ElementsAre(good));
  EXPECT_FALSE(InSpace(spec, spec.configurations[0]));
  EXPECT_FALSE(InSpace(spec, spec.configurations[2]));
}

TEST(InSpaceTest, AConstraintOfSeveralComparisonsHoldsAsAWhole) {
  using Op = Relation::Operator;
  KernelSpec spec = GemmSpec();
  // NUM_STAGES == 1 or VECTOR == 4
  spec.constraints = {Condition::Any({{Par(3), Op::kEqual, SpaceConstant(1)},
                                      {Par(4), Op::kEqual, SpaceConstant(4)}})};
  EXPECT_EQ(EnumerateConfigurations(spec).size(), 32u * 3 / 4);
  EXPECT_TRUE(InSpace(spec, {16, 32, 16, 1, 1}));
  EXPECT_TRUE(InSpace(spec, {16, 32, 16, 2, 4}));
  EXPECT_FALSE(InSpace(spec, {16, 32, 16, 2, 1}));
}

TEST(CheckProblemTest, AnElementMayBeWithoutWorkButNotAll) {
  KernelSpec spec = GroupedGemmSpec();
  spec.dimensions[0].min = 0;
  Problem problem{.extents = {0, 64, 64}, .repeated = {5, 0, 7}};
  EXPECT_TRUE(CheckProblem(spec, problem).ok());
  EXPECT_TRUE(IsLegal(spec, {16, 32, 16, 1, 1}, problem.View()));
  problem.repeated = {0, 0};
  EXPECT_THAT(std::string(CheckProblem(spec, problem).message()),
              HasSubstr("there is nothing to launch; give one above 0"));
}

TEST(CheckProblemTest, NamesWhatIsMissingExtraOrOutOfRange) {
  const KernelSpec spec = CausalAttentionSpec();
  Problem problem{.extents = {1, 0, 1, 16}, .specialisation = "sideways"};
  const std::string message(CheckProblem(spec, problem).message());
  EXPECT_THAT(message, HasSubstr("seq_kv is missing"));
  EXPECT_THAT(message, HasSubstr("heads=0 is outside of 1..1048576"));
  EXPECT_THAT(message, HasSubstr("specialisation 'sideways' is unknown"));
  problem = {.extents = {1, 1, 1, 16, 16, 9}, .specialisation = "full"};
  EXPECT_THAT(std::string(CheckProblem(spec, problem).message()),
              HasSubstr("extent number 6 (9) belongs to no dimension"));
}

TEST(CheckProblemTest, AcceptsWhatIsComplete) {
  EXPECT_TRUE(CheckProblem(GemmSpec(), {.extents = {1, 2, 3}}).ok());
  EXPECT_TRUE(CheckProblem(GroupedGemmSpec(),
                           {.extents = {0, 2, 3}, .repeated = {1, 2}})
                  .ok());
}

TEST(CheckProblemTest, ARepeatedDimensionNeedsItsListAndOthersNone) {
  EXPECT_THAT(
      std::string(
          CheckProblem(GroupedGemmSpec(), {.extents = {5, 2, 3}}).message()),
      HasSubstr("m is missing its list of extents"));
  EXPECT_THAT(std::string(CheckProblem(GemmSpec(),
                                       {.extents = {1, 2, 3}, .repeated = {1}})
                              .message()),
              HasSubstr("no dimension repeats"));
}

TEST(CheckProblemTest, NamesTheFirstFaultsOfALongList) {
  const Problem problem{.extents = {0, 2, 3},
                        .repeated = std::vector<int64_t>(1000, 0)};
  const std::string message(CheckProblem(GroupedGemmSpec(), problem).message());
  EXPECT_THAT(message, HasSubstr("and 992 more"));
  EXPECT_LT(message.size(), 1000u);
}

TEST(FormatTest, NamesEveryValue) {
  EXPECT_EQ(FormatConfiguration(GemmSpec(), {64, 32, 16, 1, 4}),
            "BLOCK_M=64 BLOCK_N=32 BLOCK_K=16 NUM_STAGES=1 VECTOR=4");
  EXPECT_EQ(FormatProblem(GemmSpec(), {.extents = {1, 576, 576}}),
            "m=1 n=576 k=576");
  EXPECT_EQ(FormatProblem(CausalAttentionSpec(), {.extents = {1, 8, 2, 16, 16},
                                                  .specialisation = "causal"}),
            "batch=1 heads=8 kv_heads=2 seq_q=16 seq_kv=16 [causal]");
  EXPECT_EQ(FormatProblem(GroupedGemmSpec(),
                          {.extents = {0, 2, 3}, .repeated = {1, 5}}),
            "m=[1 5] n=2 k=3");
}

using ::testing::IsEmpty;
using ::testing::SizeIs;

// A parameter that varies slowest of many: evenly spread samples miss values of
// those that vary fastest.
KernelSpec WideSpec() {
  KernelSpec spec;
  spec.parameters = {{.name = "A", .values = {1, 2, 3}},
                     {.name = "B", .values = {1, 2, 3, 4}},
                     {.name = "C", .values = {10, 20, 30, 40, 50, 60}}};
  spec.default_configuration = {2, 2, 20};
  return spec;
}

TEST(SampleSpaceTest, BeginsWithTheDefault) {
  EXPECT_EQ(SampleSpace(WideSpec(), 5)[0], Configuration({2, 2, 20}));
  EXPECT_THAT(SampleSpace(WideSpec(), 1), SizeIs(1));
}

TEST(SampleSpaceTest, SeesEveryValueAsSoonAsItCan) {
  const KernelSpec spec = WideSpec();
  const std::vector<Configuration> space = EnumerateConfigurations(spec);
  // The longest list has six values.
  for (size_t size = 6; size < space.size(); ++size) {
    const std::vector<Configuration> sample = SampleSpace(spec, size);
    EXPECT_THAT(sample, SizeIs(size));
    EXPECT_THAT(ValuesLeftOut(spec, space, sample), IsEmpty()) << size;
    EXPECT_THAT(std::set<Configuration>(sample.begin(), sample.end()),
                SizeIs(size));
  }
}

TEST(SampleSpaceTest, SaysWhichValuesASmallSampleLeavesOut) {
  const KernelSpec spec = WideSpec();
  const std::vector<Configuration> space = EnumerateConfigurations(spec);
  EXPECT_THAT(ValuesLeftOut(spec, space, SampleSpace(spec, 1)), SizeIs(10));
  EXPECT_THAT(ValuesLeftOut(spec, space, SampleSpace(spec, 5)),
              ::testing::ElementsAre("C=60"));
}

TEST(SampleSpaceTest, AWholeSpaceIsNotASample) {
  const KernelSpec spec = WideSpec();
  EXPECT_EQ(SampleSpace(spec, 72), EnumerateConfigurations(spec));
  EXPECT_EQ(SampleSpace(spec, 1000), EnumerateConfigurations(spec));
}

TEST(SampleSpaceTest, ConstraintsKeepValuesFromTheSpaceNotFromTheSample) {
  const KernelSpec spec = testing::GemmSpec();
  const std::vector<Configuration> space = EnumerateConfigurations(spec);
  EXPECT_THAT(ValuesLeftOut(spec, space, SampleSpace(spec, 6)), IsEmpty());
}

}  // namespace

}  // namespace wavetune
