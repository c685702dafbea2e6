#include "model/kernel/kernel_spec.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/kernel_folder.h"
#include "formats/kernel_spec.h"
#include "formats/text_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::KernelSpec ParseSpec(const std::string& text) {
  v1::KernelSpec proto;
  EXPECT_TRUE(ParseTextFormat(text, &proto).ok()) << text;
  return proto;
}

constexpr char kSpec[] = R"manifest(
name: "gemm" dimensions { name: "m" } dimensions { name: "n" } dimensions { name: "k" max: 4096 }
parameters { name: "BM" role: MACRO values: [16, 32] } parameters { name: "V" role: MICRO values: [1, 4] }
mapping {
  tiles: "ceil_div(m, BM) * n"
  iterations_per_tile: "k"
  rows: "ceil_div(m, BM)"
}
default_configuration { key: "BM" value: 16 } default_configuration { key: "V" value: 4 }
)manifest";

TEST(KernelSpecConversionTest, BindsNamesToIndicesAndFillsDefaults) {
  const KernelSpec spec = KernelSpecFromProto(ParseSpec(kSpec)).value();
  EXPECT_EQ(spec.dimensions[0].max, kDefaultMaxExtent);
  EXPECT_EQ(spec.dimensions[2].max, 4096);
  EXPECT_EQ(spec.default_configuration, Configuration({16, 4}));
  EXPECT_EQ(spec.mapping.rows->tile, 0);
  EXPECT_EQ(MapProblem(spec.mapping, {33, 5, 7}, spec.default_configuration),
            (Coordinates{.tiles = 15,
                         .iterations = 7,
                         .total_iterations = 105,
                         .longest_loop = 7,
                         .rows = 3,
                         .row_fill = 1.0 / 16,
                         .row_share = 1.0 / 3}));
}

TEST(KernelSpecConversionTest, MultipliesGridsOutAndSharesTheirWeight) {
  const KernelSpec spec = KernelSpecFromProto(ParseSpec(std::string(kSpec) + R"(
    representative_problems { weight: 3
      axes { dimension: "n" values: [10, 20] } axes { dimension: "m" values: [1, 2, 3] } axes { dimension: "k" values: 7 } })"))
                              .value();
  ASSERT_EQ(spec.representative_problems.size(), 6u);
  EXPECT_EQ(spec.representative_problems[5].problem.extents,
            (std::vector<int64_t>{3, 20, 7}));
  EXPECT_DOUBLE_EQ(spec.representative_problems[5].weight, 0.5);
}

TEST(KernelSpecConversionTest, LayersNameDimensionsOrMeanThoseOfTheirFields) {
  const auto served = [](const std::string& text) {
    return KernelSpecFromProto(ParseSpec(std::string(kSpec) + text))
        .value()
        .serves;
  };
  EXPECT_EQ(served(""), ServedLayers());
  EXPECT_EQ(served("serves { linear { } }"),
            ServedLayers(ServedLinear{.m = 0, .n = 1, .k = 2}));
  EXPECT_EQ(served("serves { linear { m: \"k\" k: \"m\" } }"),
            ServedLayers(ServedLinear{.m = 2, .n = 1, .k = 0}));
  EXPECT_EQ(KernelSpecFromProto(
                ParseSpec(std::string(kSpec) +
                          "serves { linear {} types: [\"fp8\", \"int8\"] }"))
                ->served_types,
            (std::vector<std::string>{"fp8", "int8"}));
}

TEST(KernelSpecConversionTest, SpecialisationsOfExpertsMayHaveTheFieldsNames) {
  const std::string moe = std::string(kSpec) +
                          "dimensions { name: \"tokens\" repeated: true } "
                          "serves { moe { engines: \"vllm\" } }";
  EXPECT_EQ(KernelSpecFromProto(ParseSpec(moe)).value().serves,
            ServedLayers(
                ServedMoe{.tokens = 3, .n = 1, .k = 2, .engines = {"vllm"}}));
  EXPECT_EQ(KernelSpecFromProto(
                ParseSpec(moe + " specialisations { name: \"gate_up\" } "
                                "specialisations { name: \"down\" } "
                                "dimensions { name: \"top_k\" }"))
                .value()
                .serves,
            ServedLayers(ServedMoe{.tokens = 3,
                                   .n = 1,
                                   .k = 2,
                                   .top_k = 4,
                                   .gate_up = "gate_up",
                                   .down = "down",
                                   .engines = {"vllm"}}));
}

TEST(KernelSpecConversionTest, ReportsWhatServedLayersNameWrongly) {
  const auto faults = [](const std::string& text) {
    return std::string(KernelSpecFromProto(ParseSpec(std::string(kSpec) + text))
                           .status()
                           .message());
  };
  EXPECT_THAT(faults("serves { }"),
              HasSubstr("serves: says no layers; give linear, moe or"));
  EXPECT_THAT(faults("serves { linear { m: \"rows\" } }"),
              HasSubstr("serves.linear.m: unknown dimension \"rows\"; declared "
                        "are: k, m, n"));
  EXPECT_THAT(faults("serves { moe { down: \"second\" } }"),
              HasSubstr("serves.moe.down: unknown specialisation \"second\""));
  EXPECT_THAT(
      faults("serves { attention { variants { head_dim: 64 } } }"),
      HasSubstr("serves.attention.variants[0].phase: is missing or unknown; "
                "give PREFILL or DECODE"));
}

// A grouped GEMM: an expert may be without tokens.
TEST(KernelSpecConversionTest, ElementsOfARepeatedDimensionMayBeZero) {
  const auto range_of = [](const std::string& range) {
    return KernelSpecFromProto(
               ParseSpec(std::string(kSpec) +
                         "dimensions { name: \"rows\" repeated: true " + range +
                         " }"))
        .value()
        .dimensions.back();
  };
  EXPECT_EQ(range_of("").min, 0);
  EXPECT_EQ(range_of("min: 0").min, 0);
  EXPECT_EQ(range_of("min: 1").min, 1);
  EXPECT_EQ(range_of("min: 1").max, kDefaultMaxExtent);
}

// A grouped GEMM of which `arguments` are cold.
absl::StatusOr<KernelSpec> Grouped(const std::string& arguments,
                                   const std::string& more = "") {
  const auto proto = ParseManifest(R"(
    name: "grouped" dimensions: "rows[], n, k"
    parameters: "BM in {4, 8} default 4"
    mapping {
      tiles: "sum_over(rows, ceil_div(rows, BM)) * n"
      iterations_per_tile: "k"
    }
    implementations { backend: "replay" })" +
                                   arguments + more);
  if (!proto.ok()) return proto.status();
  return KernelSpecFromProto(*proto);
}

TEST(KernelSpecConversionTest, CountsWhatIsReadColdWhereElementsReadTheirOwn) {
  using E = Expression;
  const E weights = E::Product(
      {E::SumOver(0, E::Constant(1)), E::OfDimension(2), E::OfDimension(1)});
  EXPECT_EQ(
      Grouped(
          R"(arguments: "in cold b[sum_over(rows, 1), k, n] bfloat16, in a[n] float32")")
          .value()
          .mapping.cold_bytes,
      E::Product({E::Constant(2), weights}));
  // All that is cold counts.
  const auto both =
      Grouped(
          R"(arguments: "in cold b[sum_over(rows, 1), k, n] bfloat16, in cold a[n] float32")")
          .value()
          .mapping.cold_bytes;
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->kind, E::Kind::kSum);
  EXPECT_EQ(both->children.size(), 2u);
}

TEST(KernelSpecConversionTest, OtherKernelsDoNotCountWhatIsReadCold) {
  const std::string cold =
      R"(arguments: "in cold b[sum_over(rows, 1), k, n] bfloat16")";
  const auto counts = [](const std::string& arguments,
                         const std::string& more = "") {
    const auto spec = Grouped(arguments, more);
    EXPECT_TRUE(spec.ok()) << spec.status();
    return spec.ok() && spec->mapping.cold_bytes.has_value();
  };
  EXPECT_TRUE(counts(cold));
  EXPECT_FALSE(counts(cold, "wave_form: WAVE_OVERLAP"));
  const auto mixed = Grouped(cold, R"(specialisations { name: "sum" }
                       specialisations { name: "o" wave_form: WAVE_OVERLAP })");
  ASSERT_TRUE(mixed.ok()) << mixed.status();
  EXPECT_TRUE(mixed->MappingOf("sum").cold_bytes);
  EXPECT_FALSE(mixed->MappingOf("o").cold_bytes);
  // Alike for all elements, as of a dense kernel.
  EXPECT_FALSE(counts(R"(arguments: "in cold b[k, n] bfloat16")"));
  EXPECT_FALSE(
      counts(R"(arguments: "in b[sum_over(rows, 1), k, n] bfloat16")"));
  // Not of the problem alone, or beyond what mappings can say.
  EXPECT_FALSE(
      counts(R"(arguments: "in cold b[sum_over(rows, 1), k, BM] bfloat16")"));
  EXPECT_FALSE(counts(
      R"(arguments: "in cold b[sum_over(rows, 1), k - 1, n] bfloat16")"));
  // More than a table holds.
  std::string many;
  for (int i = 0; i < 12; ++i) {
    many += absl::StrCat("arguments: \"in cold b", i,
                         "[sum_over(rows, 1), k, n] bfloat16\"\n");
  }
  EXPECT_FALSE(counts(many));
}

// Decode waits for memory where prefill computes.
TEST(KernelSpecConversionTest, ASpecialisationMayHaveAWaveFormOfItsOwn) {
  const std::string own = R"(
specialisations { name: "prefill" }
specialisations { name: "decode" wave_form: WAVE_OVERLAP }
specialisations { name: "both" wave_form: WAVE_SUM })";
  for (const auto& [kernel, prefill] :
       {std::pair{"", WaveForm::kSum},
        std::pair{"wave_form: WAVE_OVERLAP", WaveForm::kOverlap}}) {
    const auto spec =
        KernelSpecFromProto(ParseSpec(absl::StrCat(kSpec, kernel, own)));
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(spec->WaveFormOf("prefill"), prefill);
    EXPECT_EQ(spec->WaveFormOf("decode"), WaveForm::kOverlap);
    EXPECT_EQ(spec->WaveFormOf("both"), WaveForm::kSum);
  }
}

TEST(KernelSpecConversionTest, AZeroThatIsWrittenIsAZero) {
  KernelSpec spec = KernelSpecFromProto(ParseSpec(std::string(kSpec) + R"(
          dimensions { name: "h" min: 0 max: 0 }
          limits { max_elements: 0 }
          constraints: "V >= 0"
          constraints: "V > 0")"))
                        .value();
  // Both are faults that validation names.
  EXPECT_EQ(spec.dimensions.back().min, 0);
  EXPECT_EQ(spec.dimensions.back().max, 0);
  EXPECT_EQ(spec.limits.max_elements, 0);
  EXPECT_EQ(spec.constraints[0], Condition(Expression::OfParameter(1),
                                           Relation::Operator::kGreaterOrEqual,
                                           Expression::Constant(0)));
  EXPECT_EQ(spec.constraints[1],
            Condition(Expression::OfParameter(1), Relation::Operator::kGreater,
                      Expression::Constant(0)));
  EXPECT_TRUE(
      Holds(spec.constraints[1], ProblemView(), spec.default_configuration));
}

TEST(KernelSpecConversionTest, ReportsContradictions) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"parameters { name: \"BM\" role: MACRO values: 1 }", "declared twice"},
      {"parameters { name: \"X\" role: 9 values: 1 } default_configuration { "
       "key: \"X\" value: 1 }",
       "give MACRO or MICRO"},
      {"constraints: \"m == 1\"",
       "constraints[0], column 1 of its text: 'm' is a dimension; this is for "
       "configurations alone"},
      {"constraints {}",
       "constraints[0]: is empty; write a condition as text, such as "
       "\"BLOCK_M <= 64\""},
      {"default_configuration { key: \"Z\" value: 1 }",
       "unknown parameter \"Z\""},
      {"representative_problems { axes { dimension: \"m\" values: 1 } }",
       "no values for dimension \"n\""},
      {"representative_problems { weight: 0 axes { dimension: \"m\" values: 1 "
       "} axes { dimension: \"n\" values: 1 } axes { dimension: \"k\" values: "
       "1 "
       "} }",
       "weight: is 0; give a finite number above 0"},
      {"portfolio_size: 129", "must be 0 to 128"},
      {"portfolio_size: -1", "must be 0 to 128"},
      {"wave_form: 7", "wave_form: is unknown; give WAVE_SUM or WAVE_OVERLAP"},
      {"specialisations { name: \"a\" wave_form: 7 }",
       "specialisations[0].wave_form: is unknown; give WAVE_SUM or "
       "WAVE_OVERLAP"},
      {"arguments { name: \"s\" role: SCALAR type: INT32 elements: \"m\" }",
       "a scalar has a value"},
  };
  for (const auto& [text, expected] : cases) {
    const absl::Status status =
        KernelSpecFromProto(ParseSpec(kSpec + text)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected)) << text;
  }
}

// What the mapping names changes the grid.
TEST(KernelSpecConversionTest, ARoleThatIsNotWrittenFollowsFromTheMapping) {
  std::string text = kSpec;
  for (const std::string role : {"role: MACRO ", "role: MICRO "}) {
    text.erase(text.find(role), role.size());
  }
  const KernelSpec spec = KernelSpecFromProto(ParseSpec(text)).value();
  EXPECT_EQ(spec.parameters[0].role, ParameterRole::kMacro);
  EXPECT_EQ(spec.parameters[1].role, ParameterRole::kMicro);
}

TEST(KernelSpecConversionTest, AGridMayBeForSeveralSpecialisations) {
  const KernelSpec spec = KernelSpecFromProto(ParseSpec(std::string(kSpec) + R"(
    specialisations { name: "a" } specialisations { name: "b" } specialisations { name: "c" }
    representative_problems { specialisation: ["a", "c"]
      axes { dimension: "n" values: 10 } axes { dimension: "m" values: [1, 2] } axes { dimension: "k" values: 7 } })"))
                              .value();
  std::vector<std::string> names;
  for (const WeightedProblem& weighted : spec.representative_problems) {
    names.push_back(weighted.problem.specialisation);
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("a", "a", "c", "c"));
}

TEST(KernelSpecConversionTest, WantsOneKindOfLoopCountOrNone) {
  std::string both = kSpec;
  const std::string loop = "iterations_per_tile: \"k\"";
  const size_t at = both.find(loop);
  ASSERT_NE(at, std::string::npos);
  std::string none = both;
  none.erase(at, loop.size());
  both.insert(at, "total_iterations: \"k\" ");
  EXPECT_THAT(
      std::string(KernelSpecFromProto(ParseSpec(both)).status().message()),
      HasSubstr("has both iterations_per_tile and total_iterations"));
  const auto without_loop = KernelSpecFromProto(ParseSpec(none));
  ASSERT_TRUE(without_loop.ok()) << without_loop.status();
  EXPECT_EQ(without_loop->mapping.iterations_per_tile, Expression::Constant(1));
}

constexpr char kCuda[] = R"(
arguments { name: "a" role: INPUT type: BFLOAT16 elements: "m" }
arguments { name: "b" role: INPUT type: BFLOAT16 elements: "n" }
implementations {
  backend: "cuda"
  block_size: "128 + 4 * V"
  cluster_size: "V"
  persistent_if: "V < 4"
  tensor_maps {
    argument: "b" swizzle: SWIZZLE_64B l2_promotion_bytes: 128 enabled_by: "V"
    extents: "k" extents: "n"
    box: "64" box: "BM"
  }
  tensor_maps {
    argument: "a"
    extents: "k" extents: "m"
    box: "32" box: "8"
  }
  device_predicates: "90 * V == V * compute_capability"
}
)";

Implementation BindCuda() {
  return KernelSpecFromProto(ParseSpec(std::string(kSpec) + kCuda))
      .value()
      .implementations.at(0);
}

TEST(KernelSpecConversionTest, BindsTheSizesOfALaunch) {
  const Implementation cuda = BindCuda();
  EXPECT_THAT(cuda.block_size,
              ElementsAre(Expression::Sum(
                  {Expression::Constant(128),
                   Expression::Product({Expression::Constant(4),
                                        Expression::OfParameter(1)})})));
  EXPECT_EQ(cuda.cluster_size, Expression::OfParameter(1));
  EXPECT_THAT(cuda.persistent_if,
              ElementsAre(Condition(Expression::OfParameter(1),
                                    Relation::Operator::kLess,
                                    Expression::Constant(4))));
}

TEST(KernelSpecConversionTest, ADevicePredicateNamesFactsOfTheDevice) {
  EXPECT_THAT(
      BindCuda().device_predicates,
      ElementsAre(Condition(
          Expression::Product(
              {Expression::Constant(90), Expression::OfParameter(1)}),
          Relation::Operator::kEqual,
          Expression::Product({Expression::OfParameter(1),
                               Expression::OfDimension(static_cast<int>(
                                   DeviceFact::kComputeCapability))}))));
}

TEST(KernelSpecConversionTest, BindsTensorMapsInTheirOrder) {
  const TensorMap of_b{
      .argument = 1,
      .extents = {Expression::OfDimension(2), Expression::OfDimension(1)},
      .box = {Expression::Constant(64), Expression::OfParameter(0)},
      .swizzle = TensorMap::Swizzle::k64Bytes,
      .l2_promotion_bytes = 128,
      .enabled_by = 1};
  const TensorMap of_a{
      .argument = 0,
      .extents = {Expression::OfDimension(2), Expression::OfDimension(0)},
      .box = {Expression::Constant(32), Expression::Constant(8)}};
  EXPECT_THAT(BindCuda().tensor_maps, ElementsAre(of_b, of_a));
}

TEST(KernelSpecConversionTest, BindsAVendorBaselinesProduct) {
  const KernelSpec spec =
      KernelSpecFromProto(
          ParseSpec(
              std::string(kSpec) + kCuda +
              "implementations { backend: \"cuda\" vendor_baselines { library: "
              "\"cublaslt\" matrix_product { a: \"b\" b: \"a\" out: "
              "\"a\" m: \"n\" n: \"m\" k: \"k\" b_transposed: true } "
              "} }"))
          .value();
  EXPECT_THAT(spec.implementations.at(1).vendor_baselines,
              ElementsAre(VendorBaseline{.library = "cublaslt",
                                         .product = {.a = 1,
                                                     .b = 0,
                                                     .out = 0,
                                                     .m = 1,
                                                     .n = 0,
                                                     .k = 2,
                                                     .b_transposed = true}}));
}

TEST(KernelSpecConversionTest, AnImplementationWithoutLaunchFieldsHasNone) {
  const Implementation plain =
      KernelSpecFromProto(ParseSpec(std::string(kSpec) +
                                    "implementations { backend: \"opencl\" }"))
          .value()
          .implementations.at(0);
  EXPECT_FALSE(plain.cluster_size.has_value());
  EXPECT_TRUE(plain.persistent_if.empty());
  EXPECT_TRUE(plain.tensor_maps.empty());
  EXPECT_TRUE(plain.device_predicates.empty());
}

TEST(KernelSpecConversionTest, BlocksHaveOneToThreeSides) {
  const auto bound = [](const std::string& fields) {
    return KernelSpecFromProto(
               ParseSpec(std::string(kSpec) +
                         "implementations { backend: \"opencl\" " + fields +
                         " }"))
        .value()
        .implementations.at(0);
  };
  EXPECT_THAT(bound("blocks: \"n\"").blocks,
              ElementsAre(Expression::OfDimension(1)));
  const Implementation three = bound(
      "blocks: [\"n\", \"m\", \"2\"] block_size: \"BM\" block_size: \"4\"");
  EXPECT_THAT(three.blocks,
              ElementsAre(Expression::OfDimension(1),
                          Expression::OfDimension(0), Expression::Constant(2)));
  EXPECT_THAT(three.block_size,
              ElementsAre(Expression::OfParameter(0), Expression::Constant(4)));
  EXPECT_TRUE(bound("").blocks.empty());
}

// What was one message is a list of one: the bytes are the same.
TEST(KernelSpecConversionTest, ASideIsWrittenAsItWasBeforeThereWereSeveral) {
  v1::Implementation implementation;
  implementation.add_block_size()->mutable_text()->set_text("W");
  implementation.add_blocks()->mutable_text()->set_text("m");
  EXPECT_EQ(implementation.SerializeAsString(),
            "\x2a\x05\x7a\x03\x0a\x01W\x32\x05\x7a\x03\x0a\x01m");
}

Argument BoundArgument(const std::string& fields) {
  return KernelSpecFromProto(ParseSpec(std::string(kSpec) +
                                       "arguments { name: \"x\" " + fields +
                                       " }"))
      .value()
      .arguments.at(0);
}

TEST(KernelSpecConversionTest, BindsWhatAnArgumentHolds) {
  const Argument number =
      BoundArgument("role: SCALAR type: FLOAT32 number: 0.125");
  EXPECT_EQ(number.number, 0.125);
  const Argument whole =
      BoundArgument("role: SCALAR type: FLOAT32 value: \"m\"");
  EXPECT_FALSE(whole.number.has_value());
  EXPECT_EQ(whole.size, Expression::OfDimension(0));
  const Argument table = BoundArgument(
      "role: INOUT type: INT64 elements: \"m\" below: \"n\" cold: true");
  EXPECT_EQ(table.role, ArgumentRole::kInOut);
  EXPECT_EQ(table.below, Expression::OfDimension(1));
  EXPECT_TRUE(table.cold);
  const Argument order = BoundArgument(
      "role: INPUT type: INT32 elements: \"m\" block_element { dimension: "
      "\"n\" block: \"BM\" }");
  EXPECT_EQ(order.blocks,
            (ElementBlocks{.kind = ElementBlocks::Kind::kBlockElement,
                           .dimension = 1,
                           .block = Expression::OfParameter(0)}));
  const Argument floats = BoundArgument(
      "role: INPUT type: FLOAT32 elements: \"m\" uniform { low: -3 high: 4.5 } "
      "aligned: 16");
  EXPECT_EQ(floats.values, (FloatValues{.first = -3, .second = 4.5}));
  EXPECT_EQ(floats.aligned, 16);
  EXPECT_EQ(BoundArgument("role: INPUT type: BFLOAT16 elements: \"4\" normal { "
                          "mean: 1 deviation: 2 }")
                .values,
            (FloatValues{
                .kind = FloatValues::Kind::kNormal, .first = 1, .second = 2}));
  EXPECT_FALSE(table.values.has_value());
  EXPECT_EQ(table.aligned, 0);
}

TEST(KernelSpecConversionTest, AWorkspaceIsZeroedBeforeEachLaunchByDefault) {
  const auto zeroed = [](const std::string& field) {
    const Argument bound =
        BoundArgument("role: WORKSPACE type: INT32 elements: \"4\" " + field);
    EXPECT_EQ(bound.role, ArgumentRole::kWorkspace);
    return bound.zeroed;
  };
  EXPECT_EQ(zeroed(""), Zeroed::kEveryLaunch);
  EXPECT_EQ(zeroed("zeroed: EVERY_LAUNCH"), Zeroed::kEveryLaunch);
  EXPECT_EQ(zeroed("zeroed: ONCE"), Zeroed::kOnce);
  EXPECT_EQ(zeroed("zeroed: NEVER"), Zeroed::kNever);
}

TEST(KernelSpecConversionTest, ReportsFaultsOfArgumentsWithTheirPlace) {
  const std::string buffer = "type: INT32 elements: \"4\" ";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {buffer,
       "arguments[0].role: is missing; give INPUT, OUTPUT, INOUT, WORKSPACE or "
       "SCALAR"},
      {"role: SCALAR type: FLOAT32",
       "arguments[0]: has no value; give value (an expression), or number for "
       "FLOAT32 and BFLOAT16"},
      {"role: SCALAR type: FLOAT32 number: 0.5 value: \"1\"",
       "arguments[0]: gives value and number; remove one"},
      {"role: SCALAR type: FLOAT32 number: 0.5 below: \"1\"",
       "arguments[0]: a scalar has a value, not below"},
      {"role: SCALAR type: INT32 value: \"1\" padded_total {}",
       "arguments[0]: a scalar has a value, not padded_total"},
      {"role: INPUT padded_order { dimension: \"q\" block: \"1\" } " + buffer,
       "arguments[0].padded_order.dimension: unknown dimension \"q\"; declared "
       "are: k, m, n"},
      {"role: INPUT block_element { dimension: \"m\" } " + buffer,
       "arguments[0].block_element.block: is empty"},
      {"role: INPUT padded_order { dimension: \"m\" block: \"1\" } "
       "padded_total { dimension: \"m\" block: \"1\" } " +
           buffer,
       "arguments[0].padded_total: there is padded_order, too; remove one of "
       "them"},
      {"role: SCALAR type: FLOAT32 number: 0.5 uniform { high: 1 }",
       "arguments[0]: a scalar has a value, not uniform"},
      {"role: SCALAR type: FLOAT32 number: 0.5 aligned: 16",
       "arguments[0]: a scalar has a value, not aligned"},
      {"role: INPUT type: FLOAT32 elements: \"4\" uniform { high: 1 } normal { "
       "deviation: 1 }",
       "arguments[0]: gives uniform and normal; remove one"},
      {"role: SCALAR type: FLOAT32 number: 0.5 zeroed: ONCE",
       "arguments[0]: a scalar has a value, not zeroed"},
      {"role: INPUT number: 0.5 " + buffer,
       "arguments[0]: a buffer has elements, not a number"},
      {"role: INPUT below: \"q\" " + buffer,
       "arguments[0].below, column 1 of its text: nothing is declared as 'q'"},
      {"role: INPUT zeroed: ONCE " + buffer,
       "arguments[0].zeroed: is for workspaces, but the role is INPUT; remove "
       "it, or declare the role WORKSPACE"},
      {"role: WORKSPACE zeroed: 9 " + buffer,
       "arguments[0].zeroed: is unknown; give EVERY_LAUNCH, ONCE or NEVER"},
  };
  for (const auto& [fields, expected] : cases) {
    const absl::Status status =
        KernelSpecFromProto(ParseSpec(std::string(kSpec) +
                                      "arguments { name: \"x\" " + fields +
                                      " }"))
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << fields;
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected)) << fields;
  }
}

TEST(KernelSpecConversionTest, ReportsFaultsOfLaunchFieldsWithTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"block_size { product {} }",
       "implementations[0].block_size.product.factors: needs at least one "
       "entry"},
      {"block_size: \"W\"",
       "block_size, column 1 of its text: nothing is declared as 'W'"},
      {"cluster_size {}",
       "implementations[0].cluster_size: is empty; write it as text, such as "
       "\"ceil_div(m, BLOCK_M)\""},
      {"persistent_if: \"m < 4\"",
       "persistent_if[0], column 1 of its text: 'm' is a dimension"},
      {"persistent_if: \"compute_capability < 90\"",
       "'compute_capability' is a fact of a device"},
      {"device_predicates: \"m < 4\"",
       "device_predicates[0], column 1 of its text: 'm' is a dimension"},
      {"tensor_maps { argument: \"z\" extents: \"k\" box: \"8\" }",
       "tensor_maps[0].argument: unknown argument \"z\""},
      {"tensor_maps { extents: \"k\" }",
       "tensor_maps[0].box: needs at least one entry"},
      {"vendor_baselines { library: \"cublaslt\" }",
       "vendor_baselines[0]: says no operation; give matrix_product"},
      {"vendor_baselines { matrix_product { a: \"z\" } }",
       "vendor_baselines[0].matrix_product.a: unknown argument \"z\""},
      {"vendor_baselines { matrix_product { k: \"z\" } }",
       "vendor_baselines[0].matrix_product.k: unknown dimension \"z\""},
      {"tensor_maps { enabled_by: \"m\" }",
       "tensor_maps[0].enabled_by: unknown parameter \"m\""},
  };
  for (const auto& [field, expected] : cases) {
    const absl::Status status =
        KernelSpecFromProto(ParseSpec(std::string(kSpec) +
                                      "implementations { backend: \"cuda\" " +
                                      field + " }"))
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected)) << field;
  }
}

}  // namespace
}  // namespace wavetune
