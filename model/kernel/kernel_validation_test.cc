#include "model/kernel/kernel_validation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
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

TEST(ValidateKernelSpecTest, AcceptsTheKernelsThatTestsShare) {
  for (const KernelSpec& spec :
       {GemmSpec(), GroupedGemmSpec(), CausalAttentionSpec(),
        testing::TritonGemmSpec(), testing::TritonAttentionSpec(),
        testing::HopperGemmSpec()}) {
    EXPECT_TRUE(ValidateKernelSpec(spec).ok()) << ValidateKernelSpec(spec);
  }
}

TEST(ValidateKernelSpecTest, OnlyElementsOfARepeatedDimensionBeginAtZero) {
  KernelSpec spec = GroupedGemmSpec();
  ASSERT_TRUE(spec.dimensions[0].repeated);
  spec.dimensions[0].min = 0;
  EXPECT_TRUE(ValidateKernelSpec(spec).ok()) << ValidateKernelSpec(spec);
  spec.dimensions[0].min = -1;
  EXPECT_THAT(std::string(ValidateKernelSpec(spec).message()),
              HasSubstr("has min -1; give at least 0"));
}

ElementBlocks OrderOf(int32_t dimension) {
  return {.kind = ElementBlocks::Kind::kPaddedOrder,
          .dimension = dimension,
          .block = Expression::Constant(16)};
}

// One way to break the GEMM, and what the message must say of it.
struct SpecFault {
  std::string name;
  std::function<void(KernelSpec&)> apply;
  std::string message;
};

class ValidateFaultTest : public ::testing::TestWithParam<SpecFault> {};

TEST_P(ValidateFaultTest, IsReportedWithItsFieldAndAsTheOnlyOne) {
  KernelSpec spec = GemmSpec();
  GetParam().apply(spec);
  const absl::Status status = ValidateKernelSpec(spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
  EXPECT_EQ(std::count(status.message().begin(), status.message().end(), '\n'),
            1)
      << status.message();
}

std::vector<SpecFault> NameFaults() {
  return {
      {"KernelName", [](KernelSpec& s) { s.name = "Gemm"; },
       "name: 'Gemm' is malformed"},
      {"KernelNameTooLong", [](KernelSpec& s) { s.name.assign(65, 'a'); },
       "at most 64"},
      {"DimensionName", [](KernelSpec& s) { s.dimensions[0].name = "M"; },
       "dimensions: name 'M' is malformed"},
      {"DimensionTwice", [](KernelSpec& s) { s.dimensions[1].name = "m"; },
       "name 'm' is used twice"},
      {"ParameterName", [](KernelSpec& s) { s.parameters[0].name = "A-B"; },
       "parameters: name 'A-B' is malformed"},
      {"ParameterTwice",
       [](KernelSpec& s) { s.parameters[1].name = "BLOCK_M"; },
       "name 'BLOCK_M' is used twice"},
      {"ParameterNamedLikeADimension",
       [](KernelSpec& s) { s.parameters[4].name = "N"; },
       "name 'N' is used twice"},
      {"ParameterNamedLikeAFactOfTheDevice",
       [](KernelSpec& s) { s.parameters[4].name = "Compute_Capability"; },
       "name 'Compute_Capability' is what device_predicates call"},
      {"SpecialisationName",
       [](KernelSpec& s) { s.specialisations = {{.name = "BF16"}}; },
       "specialisations: name 'BF16' is malformed"},
      {"SpecialisationTwice",
       [](KernelSpec& s) {
         s.specialisations = {{.name = "a"}, {.name = "a"}};
       },
       "specialisations: name 'a' is used twice"},
      {"DefineName",
       [](KernelSpec& s) {
         s.specialisations = {{.name = "a", .defines = {{"X Y", "1"}}}};
       },
       "defines 'X Y', which is no macro name"},
      {"DefineOfAParameter",
       [](KernelSpec& s) {
         s.specialisations = {{.name = "a", .defines = {{"BLOCK_M", "1"}}}};
       },
       "defines 'BLOCK_M', which is a tuning parameter"},
  };
}

std::vector<SpecFault> RangeFaults() {
  return {
      {"TooManyParameters",
       [](KernelSpec& s) {
         for (int i = 0; i < 8; ++i) {
           s.parameters.push_back({.name = absl::StrCat("EXTRA_", i),
                                   .role = ParameterRole::kMicro,
                                   .values = {1}});
         }
       },
       "parameters: there are 13"},
      {"NoValues", [](KernelSpec& s) { s.parameters[3].values.clear(); },
       "'NUM_STAGES' has no values"},
      {"ValueTwice",
       [](KernelSpec& s) {
         s.parameters[3].values = {2, 2};
       },
       "'NUM_STAGES' has value 2 twice"},
      {"NegativeValue",
       [](KernelSpec& s) {
         s.parameters[3].values = {2, -1};
       },
       "'NUM_STAGES' has value -1"},
      {"RangeUpsideDown",
       [](KernelSpec& s) {
         s.dimensions[0].min = 10;
         s.dimensions[0].max = 5;
         s.representative_problems.clear();
       },
       "'m' has min 10 above max 5"},
      {"MinBelowOne", [](KernelSpec& s) { s.dimensions[0].min = 0; },
       "'m' has min 0"},
      {"MaxTooLarge",
       [](KernelSpec& s) { s.dimensions[0].max = kExpressionLimit + 1; },
       "'m' has max"},
      {"NoElements", [](KernelSpec& s) { s.limits.max_elements = 0; },
       "limits.max_elements: is 0"},
      {"NegativeIterations",
       [](KernelSpec& s) { s.limits.max_total_iterations = -1; },
       "limits.max_total_iterations: is -1"},
  };
}

std::vector<SpecFault> SpaceFaults() {
  return {
      {"NothingLegalForEveryProblem",
       [](KernelSpec& s) {
         s.parameters[4].values = {4, 8};
         s.default_configuration = {64, 32, 32, 2, 4};
       },
       "problem_predicates: no configuration is legal for every problem"},
      {"HugeSpace",
       [](KernelSpec& s) {
         s.parameters[3].values.clear();
         for (int64_t i = 1; i <= 20000; ++i) {
           s.parameters[3].values.push_back(i);
         }
       },
       "the space has 240000 configurations, of which at most 100000 can be"},
      {"DefaultOutside",
       [](KernelSpec& s) {
         s.default_configuration = {64, 128, 32, 2, 1};
       },
       "default_configuration: 'BLOCK_M=64 BLOCK_N=128"},
      {"DefaultMissing", [](KernelSpec& s) { s.default_configuration = {}; },
       "default_configuration: ''"},
      {"DefaultOfAnUnknownValue",
       [](KernelSpec& s) {
         s.default_configuration = {48, 32, 32, 2, 1};
       },
       "is not in the space"},
      {"ConstraintOverADimension",
       [](KernelSpec& s) { s.constraints[0].sides[0] = Dim(0); },
       "constraints[0]: names a dimension"},
      {"ConstraintOfASumOver",
       [](KernelSpec& s) {
         s.constraints[0].sides[0] = Expression::SumOver(0, Par(0));
       },
       "constraints[0]: has sum_over or causal_blocks"},
      {"UnknownOperator",
       [](KernelSpec& s) {
         s.constraints[0].op = static_cast<Relation::Operator>(0);
       },
       "constraints[0]: the operator is unknown"},
      {"HugeCoefficient",
       [](KernelSpec& s) {
         s.constraints[0].sides[1] =
             Expression::Constant(std::numeric_limits<int64_t>::min());
       },
       "constraints[0]: coefficient -9223372036854775808 is out of range"},
      {"UnknownParameterInAConstraint",
       [](KernelSpec& s) { s.constraints[0].sides[0] = Par(5); },
       "constraints[0]: parameter number 5 does not exist"},
      {"UnknownDimensionInAPredicate",
       [](KernelSpec& s) { s.problem_predicates[0].sides[0] = Dim(3); },
       "problem_predicates[0]: dimension number 3 does not exist"},
  };
}

// VECTOR == 1 or `condition`, so that a configuration stays legal.
Condition UnlessNarrow(Condition condition) {
  return Condition::Any(
      {{Par(4), Relation::Operator::kEqual, Expression::Constant(1)},
       std::move(condition)});
}

Condition Multiple(int dimension, int64_t divisor) {
  return {Dim(dimension), Relation::Operator::kMultipleOf,
          Expression::Constant(divisor)};
}

Condition LeastBelowFour(int a, int b) {
  return {Expression::Of(Expression::Kind::kMin, {Dim(a), Dim(b)}),
          Relation::Operator::kLess, Expression::Constant(4)};
}

std::vector<SpecFault> ConditionFaults() {
  return {
      {"FaultInsideOfAnOr",
       [](KernelSpec& s) {
         s.constraints[0] = Condition::Any({s.constraints[0], Multiple(0, 2)});
       },
       "constraints[0]: names a dimension"},
      {"ConstraintDividedByWhatCanBeZero",
       [](KernelSpec& s) {
         s.parameters[3].values = {0, 2};
         s.constraints[0].sides[0] = Expression::CeilDiv({Par(0)}, {Par(3)});
       },
       "constraints[0]: parameter 'NUM_STAGES' can be 0 there"},
      {"PreconditionOverAParameter",
       [](KernelSpec& s) { s.preconditions = s.problem_predicates; },
       "precondition[0]: names parameter 'VECTOR'; a precondition is for all "
       "configurations"},
      {"UnknownDimensionInAPrecondition",
       [](KernelSpec& s) { s.preconditions = {Multiple(3, 2)}; },
       "precondition[0]: dimension number 3 does not exist"},
      {"PreconditionWithAnOr",
       [](KernelSpec& s) {
         s.preconditions = {Multiple(0, 1),
                            Condition::Any({Multiple(0, 2), Multiple(1, 2)})};
       },
       "precondition[1]: it has an 'or' between dimensions"},
      {"PreconditionOverALeast",
       [](KernelSpec& s) { s.preconditions = {LeastBelowFour(0, 1)}; },
       "precondition[0]: it has an 'or' between dimensions, or a quotient, "
       "remainder, minimum or maximum of dimensions"},
      {"PredicateWithAnOr",
       [](KernelSpec& s) {
         s.problem_predicates = {
             UnlessNarrow(Condition::Any({Multiple(0, 2), Multiple(1, 2)}))};
       },
       "problem_predicates[0]: at BLOCK_M=16 BLOCK_N=32 BLOCK_K=16 "
       "NUM_STAGES=1 VECTOR=4 it has an 'or' between dimensions"},
      {"PredicateOverALeast",
       [](KernelSpec& s) {
         s.problem_predicates.push_back(UnlessNarrow(LeastBelowFour(0, 1)));
       },
       "problem_predicates[1]: at BLOCK_M=16"},
      {"ConfigurationOfAnUnknownValue",
       [](KernelSpec& s) {
         s.configurations = {s.default_configuration, {48, 32, 32, 2, 1}};
       },
       "configurations[1]: 'BLOCK_M=48 BLOCK_N=32 BLOCK_K=32 NUM_STAGES=2 "
       "VECTOR=1' has a value that its parameter does not declare"},
      {"ConfigurationTwice",
       [](KernelSpec& s) {
         s.configurations = {s.default_configuration, s.default_configuration};
       },
       "configurations[1]: 'BLOCK_M=64 BLOCK_N=32 BLOCK_K=32 NUM_STAGES=2 "
       "VECTOR=1' is there twice; remove one"},
      {"DefaultNotAmongTheConfigurations",
       [](KernelSpec& s) {
         s.configurations = {{16, 32, 32, 2, 1}};
       },
       "default_configuration: 'BLOCK_M=64 BLOCK_N=32 BLOCK_K=32 NUM_STAGES=2 "
       "VECTOR=1' is not in the space"},
  };
}

std::vector<SpecFault> MappingFaults() {
  return {
      {"NotInvertible",
       [](KernelSpec& s) {
         s.mapping.tiles = Expression::Product(
             {s.mapping.tiles,
              Expression::CeilDiv({Expression::CeilDiv({Dim(0)}, {Par(1)})},
                                  {Par(0)})});
       },
       "mapping.tiles: a numerator of ceil_div is neither"},
      {"NoLoop", [](KernelSpec& s) { s.mapping.iterations_per_tile.reset(); },
       "give exactly one of them"},
      {"MicroInTheMapping",
       [](KernelSpec& s) { s.parameters[2].role = ParameterRole::kMicro; },
       "'BLOCK_K' changes the grid or the loop, but is declared micro"},
      {"ZeroInTheMapping",
       [](KernelSpec& s) {
         s.parameters[2].values = {0, 32};
       },
       "mapping: parameter 'BLOCK_K' can be 0 there"},
      {"EmptySumInTheTiles",
       [](KernelSpec& s) {
         s.mapping.tiles =
             Expression::Product({s.mapping.tiles, Expression::Sum({})});
       },
       "mapping.tiles: sum lacks its terms"},
      {"EmptySumInTheLoop",
       [](KernelSpec& s) {
         s.mapping.iterations_per_tile = Expression::Product(
             {*s.mapping.iterations_per_tile, Expression::Sum({})});
       },
       "mapping.iterations_per_tile: sum lacks its terms"},
      {"EmptySumInTheLongestLoop",
       [](KernelSpec& s) { s.mapping.longest_loop = Expression::Sum({}); },
       "mapping.longest_loop: sum lacks its terms"},
      {"MicroInASumOfTiles",
       [](KernelSpec& s) {
         s.mapping.tiles = Expression::Sum({s.mapping.tiles, Par(3)});
       },
       "'NUM_STAGES' changes the grid or the loop, but is declared micro"},
      {"InASpecialisation",
       [](KernelSpec& s) {
         Mapping mapping = s.mapping;
         mapping.rows->tile = 1;
         s.specialisations = {{.name = "odd", .mapping = mapping}};
       },
       "specialisations: 'odd': mapping.rows: ceil(m / BLOCK_N)"},
  };
}

std::vector<SpecFault> ImplementationFaults() {
  return {
      {"NoImplementation", [](KernelSpec& s) { s.implementations.clear(); },
       "implementations: there are none"},
      {"BackendTwice",
       [](KernelSpec& s) { s.implementations[1] = s.implementations[0]; },
       "implementations: name 'opencl' is used twice"},
      {"NoSources", [](KernelSpec& s) { s.implementations[0].sources.clear(); },
       "'opencl': sources: there are none"},
      {"SourceOutside",
       [](KernelSpec& s) { s.implementations[0].sources[0] = "../x.cl"; },
       "'../x.cl' is no file in the kernel's folder"},
      {"NoEntry", [](KernelSpec& s) { s.implementations[0].entry = ""; },
       "'opencl': entry: '' is no function name"},
      {"NoGroupSize",
       [](KernelSpec& s) { s.implementations[0].block_size.clear(); },
       "'opencl': block_size: is missing"},
      {"GroupSizeOfADimension",
       [](KernelSpec& s) { s.implementations[0].block_size = {Dim(0)}; },
       "block_size: names a dimension"},
      {"GroupsOfAnUnknownParameter",
       [](KernelSpec& s) { s.implementations[0].blocks = {Par(9)}; },
       "blocks: parameter number 9 does not exist"},
      {"CorrectnessMissing", [](KernelSpec& s) { s.correctness.reset(); },
       "correctness: is missing"},
      {"NoTolerance",
       [](KernelSpec& s) { s.correctness->relative_tolerance = 0; },
       "correctness.relative_tolerance: is 0"},
      {"ToleranceNotANumber",
       [](KernelSpec& s) { s.correctness->relative_tolerance = NAN; },
       "correctness.relative_tolerance: is nan"},
      {"NoReference", [](KernelSpec& s) { s.correctness->source = ""; },
       "correctness.source: ''"},
  };
}

std::vector<SpecFault> ArgumentAndProblemFaults() {
  return {
      {"ArgumentWithoutASize",
       [](KernelSpec& s) { s.arguments[0].size = Expression::Product({}); },
       "arguments: 'a': elements: is empty"},
      {"SumWithoutTerms",
       [](KernelSpec& s) { s.arguments[0].size = Expression::Sum({}); },
       "arguments: 'a': elements: sum lacks its terms"},
      {"ArgumentTwice", [](KernelSpec& s) { s.arguments[1].name = "a"; },
       "arguments: name 'a' is used twice"},
      {"ConstantBelowOne",
       [](KernelSpec& s) { s.arguments[0].size = Expression::Constant(0); },
       "arguments: 'a': elements: constant 0"},
      {"ColdOutput", [](KernelSpec& s) { s.arguments[2].cold = true; },
       "arguments: 'c' is cold but no input"},
      {"ColdWorkspace",
       [](KernelSpec& s) { s.arguments[1].role = ArgumentRole::kWorkspace; },
       "arguments: 'b' is cold but no input; only inputs and in-out buffers "
       "are "
       "rotated"},
      {"NumberOfAnInteger",
       [](KernelSpec& s) { s.arguments[3].number = 0.125; },
       "arguments: 'm': number: the type is INT32; give value, or declare it "
       "FLOAT32"},
      {"NumberThatIsNone",
       [](KernelSpec& s) {
         s.arguments[3].type = ElementType::kFloat32;
         s.arguments[3].number = NAN;
       },
       "arguments: 'm': number: is nan; give a finite number that a float32 "
       "holds"},
      {"NumberOutOfRange",
       [](KernelSpec& s) {
         s.arguments[3].type = ElementType::kFloat32;
         s.arguments[3].number = 1e39;
       },
       "arguments: 'm': number: is 1e+39"},
      {"BoundOfFloats", [](KernelSpec& s) { s.arguments[0].below = Dim(0); },
       "arguments: 'a': below: the type is FLOAT32; declare it INT32 or INT64, "
       "or remove below"},
      {"BoundOfAnOutput",
       [](KernelSpec& s) {
         s.arguments[2].type = ElementType::kInt32;
         s.arguments[2].below = Dim(0);
       },
       "arguments: 'c': below: the output has no values before a launch; "
       "declare it INPUT or INOUT, or remove below"},
      {"BoundThatIsNoExpression",
       [](KernelSpec& s) {
         s.arguments[0].type = ElementType::kInt32;
         s.arguments[0].below = Expression::Product({});
       },
       "arguments: 'a': below: is empty"},
      {"BoundOfTheRepeatedDimension",
       [](KernelSpec& s) {
         s = ::wavetune::testing::GroupedGemmSpec();
         s.arguments[0].type = ElementType::kInt32;
         s.arguments[0].name = s.dimensions[0].name;
         s.arguments[0].below = Dim(1);
       },
       "below: it is named as the repeated dimension and holds its elements; "
       "rename it, or remove below"},
      {"BlocksOfNoRepeatedDimension",
       [](KernelSpec& s) {
         s.arguments[0].type = ElementType::kInt32;
         s.arguments[0].blocks = OrderOf(0);
       },
       "arguments: 'a': padded_order: dimension 'm' is not repeated; name the "
       "repeated dimension, or remove padded_order"},
      {"BlocksOfFloats",
       [](KernelSpec& s) {
         s = ::wavetune::testing::GroupedGemmSpec();
         s.arguments[0].blocks = OrderOf(0);
       },
       "padded_order: the type is FLOAT32; declare it INT32 or INT64, or "
       "remove padded_order"},
      {"BlocksOfAnInOutBuffer",
       [](KernelSpec& s) {
         s = ::wavetune::testing::GroupedGemmSpec();
         s.arguments[0].type = ElementType::kInt32;
         s.arguments[0].role = ArgumentRole::kInOut;
         s.arguments[0].blocks = OrderOf(0);
       },
       "padded_order: the in-out buffer cannot hold it: it is written for "
       "each problem; declare it INPUT, and not cold, or remove padded_order"},
      {"ColdBlocks",
       [](KernelSpec& s) {
         s = ::wavetune::testing::GroupedGemmSpec();
         s.arguments[0].type = ElementType::kInt32;
         s.arguments[0].cold = true;
         s.arguments[0].blocks = OrderOf(0);
       },
       "padded_order: the cold input cannot hold it"},
      {"BlocksWithABound",
       [](KernelSpec& s) {
         s = ::wavetune::testing::GroupedGemmSpec();
         s.arguments[0].type = ElementType::kInt32;
         s.arguments[0].below = Dim(1);
         s.arguments[0].blocks = OrderOf(0);
       },
       "padded_order: it has a bound (below), too; remove one of them"},
      {"BlocksOfABufferNamedAsTheDimension",
       [](KernelSpec& s) {
         s = ::wavetune::testing::GroupedGemmSpec();
         s.arguments[0].type = ElementType::kInt32;
         s.arguments[0].name = s.dimensions[0].name;
         s.arguments[0].blocks = OrderOf(0);
       },
       "padded_order: it is named as the repeated dimension and holds its "
       "elements; rename it, or remove padded_order"},
      {"BlocksThatFollowTheProblem",
       [](KernelSpec& s) {
         s = ::wavetune::testing::GroupedGemmSpec();
         s.arguments[0].type = ElementType::kInt32;
         s.arguments[0].blocks = OrderOf(0);
         s.arguments[0].blocks->block = Dim(1);
       },
       "padded_order: block: names a dimension; rows of a block follow from "
       "parameters and constants alone"},
      {"BlocksOfNoRows",
       [](KernelSpec& s) {
         s = ::wavetune::testing::GroupedGemmSpec();
         s.arguments[0].type = ElementType::kInt32;
         s.arguments[0].blocks = OrderOf(0);
         s.arguments[0].blocks->block = Expression::Constant(0);
       },
       "padded_order: block: constant 0"},
      {"NoOutput",
       [](KernelSpec& s) { s.arguments[2].role = ArgumentRole::kInput; },
       "arguments: there is no output"},
      {"ProblemOutOfRange",
       [](KernelSpec& s) {
         s.representative_problems[1].problem.extents[2] = 0;
       },
       "representative_problems[1]: problem of kernel 'gemm': k=0 is outside"},
      {"ProblemWithoutADimension",
       [](KernelSpec& s) {
         s.representative_problems[0].problem.extents.pop_back();
       },
       "representative_problems[0]: problem of kernel 'gemm': k is missing"},
      {"WeightZero",
       [](KernelSpec& s) { s.representative_problems[0].weight = 0; },
       "representative_problems[0]: weight is 0"},
      {"ProblemOfAnUnknownSpecialisation",
       [](KernelSpec& s) {
         s.correctness_problems = s.representative_problems;
         s.correctness_problems[2].problem.specialisation = "fp8";
       },
       "correctness_problems[2]: problem of kernel 'gemm': specialisation "
       "'fp8' is unknown"},
  };
}

std::string SpecFaultName(const ::testing::TestParamInfo<SpecFault>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Names, ValidateFaultTest,
                         ::testing::ValuesIn(NameFaults()), SpecFaultName);
INSTANTIATE_TEST_SUITE_P(Ranges, ValidateFaultTest,
                         ::testing::ValuesIn(RangeFaults()), SpecFaultName);
INSTANTIATE_TEST_SUITE_P(Space, ValidateFaultTest,
                         ::testing::ValuesIn(SpaceFaults()), SpecFaultName);
INSTANTIATE_TEST_SUITE_P(Conditions, ValidateFaultTest,
                         ::testing::ValuesIn(ConditionFaults()), SpecFaultName);
INSTANTIATE_TEST_SUITE_P(Mapping, ValidateFaultTest,
                         ::testing::ValuesIn(MappingFaults()), SpecFaultName);
INSTANTIATE_TEST_SUITE_P(Implementations, ValidateFaultTest,
                         ::testing::ValuesIn(ImplementationFaults()),
                         SpecFaultName);
INSTANTIATE_TEST_SUITE_P(ArgumentsAndProblems, ValidateFaultTest,
                         ::testing::ValuesIn(ArgumentAndProblemFaults()),
                         SpecFaultName);

TEST(ValidateKernelSpecTest, ReportsEveryFaultOneALine) {
  KernelSpec spec = GemmSpec();
  spec.name = "9";
  spec.parameters[0].values.clear();
  spec.correctness.reset();
  const std::string message(ValidateKernelSpec(spec).message());
  EXPECT_THAT(message, HasSubstr("has 3 faults:\n"));
  EXPECT_THAT(message, HasSubstr("\nname: '9'"));
  EXPECT_THAT(message, HasSubstr("\nparameters: 'BLOCK_M' has no values"));
  EXPECT_THAT(message, HasSubstr("\ncorrectness: is missing"));
}

TEST(ValidateKernelSpecTest, AnEmptySpecIsFaultyAndHarmless) {
  const absl::Status status = ValidateKernelSpec(KernelSpec());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("dimensions: there are 0"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("parameters: there are 0"));
}

TEST(ValidateKernelSpecTest, ASpaceThatConstraintsEmptyIsAFault) {
  KernelSpec spec = GemmSpec();
  spec.constraints[0].sides[1] = Expression::Constant(1);
  EXPECT_THAT(std::string(ValidateKernelSpec(spec).message()),
              HasSubstr("constraints: no configuration fulfils them"));
}

// A guard keeps what cannot be folded from the configurations that need it not;
// here none is left that does.
TEST(ValidateKernelSpecTest, AnOrThatTheConfigurationDecidesIsFine) {
  KernelSpec spec = GemmSpec();
  spec.problem_predicates = {UnlessNarrow(Multiple(2, 4))};
  spec.preconditions = {Multiple(1, 2)};
  spec.configurations = {spec.default_configuration,
                         {16, 32, 16, 1, 4},
                         {64, 128, 32, 2, 1}};  // The constraint's.
  EXPECT_TRUE(ValidateKernelSpec(spec).ok()) << ValidateKernelSpec(spec);
}

TEST(ValidateKernelSpecTest, TwoRepeatedDimensionsAreAFault) {
  KernelSpec spec = GroupedGemmSpec();
  spec.dimensions[1].repeated = true;
  EXPECT_THAT(std::string(ValidateKernelSpec(spec).message()),
              HasSubstr("dimensions: 2 are repeated"));
}

TEST(ValidateKernelSpecTest, TooManyDimensionsAreAFault) {
  KernelSpec spec = GemmSpec();
  for (int i = 0; i < 6; ++i) {
    spec.dimensions.push_back({.name = absl::StrCat("extra_", i)});
  }
  EXPECT_THAT(std::string(ValidateKernelSpec(spec).message()),
              HasSubstr("dimensions: there are 9; give 1 to 8"));
}

TEST(ValidateKernelSpecTest, AReplayedKernelNeedsNoReference) {
  KernelSpec spec = GemmSpec();
  spec.implementations = {{.backend = "replay"}};
  spec.correctness.reset();
  EXPECT_TRUE(ValidateKernelSpec(spec).ok()) << ValidateKernelSpec(spec);
}

}  // namespace
}  // namespace wavetune
