// Texts in whole manifests: what they are read as, and where their faults are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "formats/kernel_folder.h"
#include "formats/kernel_spec.h"
#include "model/kernel/kernel_space.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A dense GEMM for replay, in texts.
constexpr char kGemmText[] = R"manifest(name: "gemm"
dimensions: "m, n <= 65536, 8 <= k <= 65536"
parameters: "BLOCK_M in {16, 32, 64} default 32, BLOCK_N in {32, 64} default 64"
parameters: "BLOCK_K in {16..64 step 16} default 16"
parameters: "VECTOR in {1..8 times 2} default 1"
require: "BLOCK_M * BLOCK_N <= 2 KiB"
require: ["k % VECTOR == 0", "VECTOR <= 4 when BLOCK_M == 16"]
precondition: "n % 2 == 0"
mapping {
  tiles: "ceil_div(m, BLOCK_M) * ceil_div(n, BLOCK_N)"
  iterations_per_tile: "ceil_div(k, BLOCK_K)"
  rows: "ceil_div(m, BLOCK_M)"
}
arguments: "in a[m, k] float32, in cold b[n, k] bfloat16, out c[m, n] float32,"
           " m int32, rows int64 = m * 2"
implementations { backend: "replay" }
representative_problems: "m in {1, 16..64 step 16}, n = k = 4096"
representative_problems: "m = 8, n in {64, 128}, k = 64 weight 3"
)manifest";

KernelSpec SpecOfText(absl::string_view text) {
  const absl::StatusOr<v1::KernelSpec> proto = ParseManifest(text);
  EXPECT_TRUE(proto.ok()) << proto.status();
  if (!proto.ok()) return {};
  return KernelSpecFromProto(*proto).value();
}

std::string ManifestFaultOf(absl::string_view text) {
  return std::string(ParseManifest(text).status().message());
}

// The manifest with one part replaced.
std::string GemmTextWith(absl::string_view part, absl::string_view by) {
  const std::string text = absl::StrReplaceAll(kGemmText, {{part, by}});
  EXPECT_NE(text, kGemmText);
  return text;
}

TEST(ManifestTextTest, DeclaresDimensionsAndParameters) {
  const KernelSpec spec = SpecOfText(kGemmText);
  ASSERT_THAT(spec.dimensions, SizeIs(3));
  EXPECT_EQ(spec.dimensions[0].name, "m");
  EXPECT_EQ(spec.dimensions[1].max, 65536);
  EXPECT_EQ(spec.dimensions[2].min, 8);
  ASSERT_THAT(spec.parameters, SizeIs(4));
  EXPECT_THAT(spec.parameters[2].values, ElementsAre(16, 32, 48, 64));
  EXPECT_THAT(spec.parameters[3].values, ElementsAre(1, 2, 4, 8));
  EXPECT_EQ(spec.default_configuration, Configuration({32, 64, 16, 1}));
}

TEST(ManifestTextTest, RolesFollowFromTheMapping) {
  const KernelSpec spec = SpecOfText(kGemmText);
  EXPECT_EQ(spec.parameters[2].role, ParameterRole::kMacro);
  EXPECT_EQ(spec.parameters[3].role, ParameterRole::kMicro);
}

TEST(ManifestTextTest, RequirementsAreConstraintsOrPredicates) {
  const KernelSpec spec = SpecOfText(kGemmText);
  EXPECT_THAT(spec.constraints, SizeIs(2));
  EXPECT_THAT(spec.problem_predicates, SizeIs(1));
  EXPECT_THAT(spec.preconditions, SizeIs(1));
  // 5 of the 6 tiles, 4 depths, 4 widths; two of the tiles have 3 widths.
  EXPECT_THAT(EnumerateConfigurations(spec), SizeIs(3 * 16 + 2 * 4 * 3));
}

TEST(ManifestTextTest, MappingsAreExpressions) {
  const KernelSpec spec = SpecOfText(kGemmText);
  const auto blocks = [](int axis) {
    return Expression::CeilDiv({Expression::OfDimension(axis)},
                               {Expression::OfParameter(axis)});
  };
  EXPECT_EQ(spec.mapping.tiles, Expression::Product({blocks(0), blocks(1)}));
  EXPECT_EQ(spec.mapping.rows, (RowAxis{.dimension = 0, .tile = 0}));
}

TEST(ManifestTextTest, ArgumentsHaveKindsExtentsTypesAndValues) {
  const KernelSpec spec = SpecOfText(kGemmText);
  ASSERT_THAT(spec.arguments, SizeIs(5));
  const auto dimension = [](int index) {
    return Expression::OfDimension(index);
  };
  EXPECT_EQ(spec.arguments[0].role, ArgumentRole::kInput);
  EXPECT_EQ(spec.arguments[0].size,
            Expression::Product({dimension(0), dimension(2)}));
  EXPECT_TRUE(spec.arguments[1].cold);
  EXPECT_EQ(spec.arguments[1].type, ElementType::kBfloat16);
  EXPECT_EQ(spec.arguments[2].role, ArgumentRole::kOutput);
  EXPECT_EQ(spec.arguments[3].role, ArgumentRole::kScalar);
  EXPECT_EQ(spec.arguments[3].size, dimension(0));
  EXPECT_EQ(spec.arguments[4].type, ElementType::kInt64);
  EXPECT_EQ(spec.arguments[4].size,
            Expression::Product({dimension(0), Expression::Constant(2)}));
}

TEST(ManifestTextTest, GridsMultiplyOutAndLinkDimensionsOfOneValue) {
  const std::vector<WeightedProblem> problems =
      SpecOfText(kGemmText).representative_problems;
  ASSERT_THAT(problems, SizeIs(5 + 2));
  EXPECT_THAT(problems[4].problem.extents, ElementsAre(64, 4096, 4096));
  EXPECT_DOUBLE_EQ(problems[4].weight, 0.2);
  EXPECT_THAT(problems[6].problem.extents, ElementsAre(8, 128, 64));
  EXPECT_DOUBLE_EQ(problems[6].weight, 1.5);
  const std::vector<WeightedProblem> linked =
      SpecOfText(GemmTextWith("n = k = 4096", "n = k in {64, 128}"))
          .representative_problems;
  ASSERT_THAT(linked, SizeIs(10 + 2));
  EXPECT_THAT(linked[0].problem.extents, ElementsAre(1, 64, 64));
  EXPECT_THAT(linked[5].problem.extents, ElementsAre(1, 128, 128));
}

TEST(ManifestTextTest, ListsOfConfigurationsAreTheSpace) {
  const KernelSpec spec = SpecOfText(absl::StrCat(
      kGemmText,
      R"m(configurations: "BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, VECTOR = 1"
configurations {
  values { key: "BLOCK_M" value: 16 } values { key: "BLOCK_N" value: 32 }
  values { key: "BLOCK_K" value: 16 } values { key: "VECTOR" value: 8 }
}
configurations: "BLOCK_M = 16, BLOCK_N = 32, BLOCK_K = 16, VECTOR = 4"
)m"));
  // The second breaks a requirement.
  EXPECT_THAT(EnumerateConfigurations(spec),
              ElementsAre(Configuration({32, 64, 16, 1}),
                          Configuration({16, 32, 16, 4})));
}

TEST(ManifestTextTest, FaultsHaveLineAndColumnOfTheManifest) {
  EXPECT_THAT(ManifestFaultOf(GemmTextWith("k % VECTOR", "k % VEKTOR")),
              HasSubstr("require[1], line 7, column 16: nothing is declared as "
                        "'VEKTOR'; did you mean VECTOR?"));
  EXPECT_THAT(
      ManifestFaultOf(
          GemmTextWith("ceil_div(n, BLOCK_N)", "ceil_div(n, BLOCK_N")),
      HasSubstr(
          "mapping.tiles, line 10, column 53: the text ends here; write ')'"));
  // In the second of two adjacent strings.
  EXPECT_THAT(ManifestFaultOf(GemmTextWith(" m int32", " m in32")),
              HasSubstr("arguments[0], line 15, column 16: 'in32' is no type "
                        "of an element; did you mean int32?"));
  // Of an expression within a declaration.
  EXPECT_THAT(ManifestFaultOf(GemmTextWith("= m * 2", "= q * 2")),
              HasSubstr("line 15, column 36: nothing is declared as 'q'"));
  EXPECT_THAT(ManifestFaultOf(GemmTextWith("out c[m, n]", "out c[m, nn]")),
              HasSubstr("line 14, column 68: nothing is declared as 'nn'"));
}

TEST(ManifestTextTest, AFloatBufferSaysWhatItHoldsAndHowItIsAligned) {
  const auto arguments = [](absl::string_view a, absl::string_view b) {
    return SpecOfText(absl::StrReplaceAll(kGemmText, {{"a[m, k] float32", a},
                                                      {"b[n, k] bfloat16", b}}))
        .arguments;
  };
  const auto said = arguments("a[m, k] float32 in [-100, 0.5]",
                              "b[n, k] bfloat16 normal(-1.5, 10) aligned 16");
  ASSERT_THAT(said, SizeIs(5));
  EXPECT_EQ(said[0].values, (FloatValues{.first = -100, .second = 0.5}));
  EXPECT_EQ(said[0].aligned, 0);
  EXPECT_EQ(said[1].values, (FloatValues{.kind = FloatValues::Kind::kNormal,
                                         .first = -1.5,
                                         .second = 10}));
  EXPECT_EQ(said[1].aligned, 16);
  EXPECT_FALSE(SpecOfText(kGemmText).arguments[0].values.has_value());
  const auto fault = [](absl::string_view a) {
    return ManifestFaultOf(GemmTextWith("a[m, k] float32", a));
  };
  EXPECT_THAT(fault("a[m, k] float32 in [1, 1]"),
              HasSubstr("values: are uniform from the lower number to the "
                        "higher one, both below 4e37; these are 1 and 1"));
  EXPECT_THAT(fault("a[m, k] float32 normal(0, 0)"),
              HasSubstr("by a deviation above 0"));
  EXPECT_THAT(fault("a[m, k] int32 in [0, 8]"),
              HasSubstr("the type is INT32; integers are bounded by below"));
  EXPECT_THAT(fault("a[m, k] float32 in [x, 8]"),
              HasSubstr("'x' stands where a number, as in 0.125, belongs"));
  EXPECT_THAT(fault("a[m, k] float32 aligned 24"),
              HasSubstr("aligned: is 24; give a power of two"));
  EXPECT_THAT(fault("a[m, k] float32 aligned 256"),
              HasSubstr("give the bytes of an alignment, 128 at most"));
}

TEST(ManifestTextTest, ProtobufsOwnFaultsKeepTheirPlaces) {
  EXPECT_THAT(
      ManifestFaultOf(GemmTextWith("precondition: \"n % 2 == 0\"",
                                   "require: \"BLOCK_M >= 1\" nonsense: 3")),
      HasSubstr("line 8, column 33: Message type"));
}

TEST(ManifestTextTest, EveryFaultIsReportedAtOnce) {
  const std::string faults = ManifestFaultOf(absl::StrReplaceAll(
      kGemmText, {{"BLOCK_M * BLOCK_N <= 2 KiB", "BLOCK_M * <= 2"},
                  {"in a[m, k]", "in a"},
                  {"m = 8, ", "m = [8, "}}));
  EXPECT_THAT(faults, HasSubstr("require[0], line 6, column 21"));
  EXPECT_THAT(faults, HasSubstr("arguments[0], line 14, column 16: a buffer "
                                "has its extents in brackets"));
  EXPECT_THAT(faults, HasSubstr("representative_problems[1], line 18"));
}

TEST(ManifestTextTest, AnIndexBufferDescribesBlocksOfTheRepeatedDimension) {
  const KernelSpec spec = SpecOfText(R"manifest(name: "grouped"
dimensions: "tokens[], n"
parameters: "BLOCK_M in {16, 32} default 16"
mapping { tiles: "sum_over(tokens, ceil_div(tokens, BLOCK_M)) * n" }
arguments: "in order[sum_over(tokens, ceil_div(tokens, BLOCK_M) * BLOCK_M)] int32 padded_order(tokens, BLOCK_M),"
           " in experts[n] int64 block_element(tokens, BLOCK_M * 2), in total[1] int32 padded_total(tokens, 16), out c[n] float32"
implementations { backend: "replay" }
representative_problems: "tokens = [3, 0], n = 4"
)manifest");
  ASSERT_THAT(spec.arguments, SizeIs(4));
  EXPECT_EQ(spec.arguments[0].blocks,
            (ElementBlocks{.kind = ElementBlocks::Kind::kPaddedOrder,
                           .dimension = 0,
                           .block = Expression::OfParameter(0)}));
  EXPECT_EQ(Evaluate(spec.arguments[0].size, {{0, 4}, {3, 0, 17}}, {16}), 48);
  EXPECT_EQ(spec.arguments[1].blocks->kind, ElementBlocks::Kind::kBlockElement);
  EXPECT_EQ(Evaluate(spec.arguments[1].blocks->block, {}, {16}), 32);
  EXPECT_EQ(spec.arguments[2].blocks->kind, ElementBlocks::Kind::kPaddedTotal);
  EXPECT_EQ(spec.arguments[2].blocks->block, Expression::Constant(16));
  EXPECT_FALSE(spec.arguments[3].blocks.has_value());
}

struct BadManifest {
  const char* part;
  const char* by;
  const char* fault;
};

class ManifestTextFaultTest : public ::testing::TestWithParam<BadManifest> {};

TEST_P(ManifestTextFaultTest, SaysWhatToWrite) {
  EXPECT_THAT(ManifestFaultOf(GemmTextWith(GetParam().part, GetParam().by)),
              HasSubstr(GetParam().fault));
}

INSTANTIATE_TEST_SUITE_P(
    Manifests, ManifestTextFaultTest,
    ::testing::Values(
        BadManifest{"m, n <= 65536", "m, <= 65536",
                    "'<=' stands where the name of a dimension belongs"},
        BadManifest{"m, n <= 65536", "m[, n <= 65536",
                    "',' stands where ']' belongs"},
        BadManifest{"{16, 32, 64}", "16, 32", "'16' stands where '{' belongs"},
        BadManifest{"16..64 step 16", "64..16 step 16", "no range ascends so"},
        BadManifest{"1..8 times 2", "1..8 times 1", "no range ascends so"},
        BadManifest{"1..8 times 2", "0..100000", "more than 10000 values"},
        BadManifest{"default 1\"", "default one\"",
                    "'one' stands where a whole number belongs"},
        BadManifest{"in cold b[n, k]", "cold b[n, k]",
                    "what is cold is a buffer; write in cold"},
        BadManifest{
            "in cold b[n, k]", "b[n, k]",
            "what has extents is a buffer; say in, out, inout or workspace"},
        BadManifest{"in a[m, k] float32", "in a[m, k]",
                    "',' is no type of an element"},
        BadManifest{"in a[m, k] float32", "in a[m, k] float",
                    "'float' is no type of an element; did you mean float32?"},
        BadManifest{
            "BLOCK_M * BLOCK_N <= 2 KiB", "64 <= 32",
            "names neither a parameter nor a dimension, and so never holds"},
        BadManifest{"BLOCK_M * BLOCK_N <= 2 KiB", "BLOCK_M > 64",
                    "no configuration fulfils them"},
        BadManifest{"k % VECTOR == 0", "k % VECTOR == 0 or n % VECTOR == 0",
                    "an 'or' between dimensions"},
        BadManifest{"k % VECTOR == 0", "min(k, n) >= VECTOR",
                    "minimum or maximum of dimensions"},
        BadManifest{"n % 2 == 0", "n % VECTOR == 0",
                    "'VECTOR' is a parameter; this is for problems alone"},
        BadManifest{"\"ceil_div(m, BLOCK_M)\"", "\"m\"", "is no axis of rows"},
        BadManifest{
            "m = 8, n", "m = 8, q",
            "representative_problems[1].axes[1].dimension: unknown dimension"},
        BadManifest{"weight 3", "weight x",
                    "'x' stands where a number, as in 0.125, belongs"},
        BadManifest{"weight 3", "for causal",
                    "unknown specialisation \"causal\""},
        BadManifest{"m = 8, ", "m of 8, ",
                    "'of' stands where '=' or 'in' belongs"}));

TEST(ManifestTextTest, AnOrWithParametersOnAllSidesButOneIsLegal) {
  const KernelSpec spec = SpecOfText(
      GemmTextWith("k % VECTOR == 0", "k % VECTOR == 0 or VECTOR == 1"));
  EXPECT_TRUE(IsLegalForEveryProblem(spec, {32, 64, 16, 1}));
  EXPECT_FALSE(IsLegal(spec, {32, 64, 16, 4}, {8, 8, 9}));
  EXPECT_TRUE(IsLegal(spec, {32, 64, 16, 4}, {8, 8, 12}));
}

TEST(ManifestTextTest, APreconditionIsForEveryConfiguration) {
  const KernelSpec spec = SpecOfText(kGemmText);
  EXPECT_FALSE(IsLegal(spec, {32, 64, 16, 1}, {8, 7, 8}));
  EXPECT_TRUE(IsLegal(spec, {32, 64, 16, 1}, {8, 6, 8}));
  EXPECT_TRUE(IsLegalForEveryProblem(spec, {32, 64, 16, 1}));
}

// Attention, its head dimension and causality compiled in.
constexpr char kAttentionText[] = R"manifest(name: "attention"
dimensions: "heads, kv_heads, seq_q, seq_kv"
specialisations: "full_64: HEAD_DIM = 64, CAUSAL = 0"
specialisations: "causal_128: HEAD_DIM = 128, CAUSAL = 1"
parameters: "BLOCK_Q in {16, 64, 128} default 16, BLOCK_KV in {32, 64} default 32"
require: "4 * HEAD_DIM * (BLOCK_Q + 2 * BLOCK_KV) <= 96 KiB"
precondition: "heads % kv_heads == 0"
precondition: "seq_kv >= CAUSAL * seq_q"
mapping {
  tiles: "heads * ceil_div(seq_q, BLOCK_Q)"
  iterations_per_tile: "ceil_div(seq_kv, BLOCK_KV)"
}
arguments: "in q[heads, seq_q, HEAD_DIM] float32, in k[kv_heads, seq_kv, HEAD_DIM] float32, out o[heads, seq_q, HEAD_DIM] float32"
arguments: "scale float32 = 0.125, head_dim int32 = HEAD_DIM"
implementations { backend: "replay" }
representative_problems: "heads = 8, kv_heads = 2, seq_q in {1, 128}, seq_kv = 512 for full_64, causal_128"
)manifest";

TEST(ManifestTextTest, ConstantsAreNumbersOfTheirSpecialisation) {
  const KernelSpec spec = SpecOfText(kAttentionText);
  const KernelSpec& full = spec.Of("full_64");
  const KernelSpec& causal = spec.Of("causal_128");
  EXPECT_THAT(EnumerateConfigurations(full), SizeIs(6));
  EXPECT_THAT(EnumerateConfigurations(causal), SizeIs(5));
  EXPECT_EQ(Evaluate(full.arguments[0].size, {2, 2, 10, 10}, {16, 32}),
            2 * 10 * 64);
  EXPECT_EQ(Evaluate(causal.arguments[0].size, {2, 2, 10, 10}, {16, 32}),
            2 * 10 * 128);
  EXPECT_EQ(causal.arguments[3].number, 0.125);
  EXPECT_EQ(Evaluate(causal.arguments[4].size, {2, 2, 10, 10}, {16, 32}), 128);
  EXPECT_EQ(spec.specialisations[1].defines.at("HEAD_DIM"), "128");
  EXPECT_EQ(spec.specialisations[0].defines.at("CAUSAL"), "0");
}

TEST(ManifestTextTest, PreconditionsOfASpecialisationAreItsOwn) {
  const KernelSpec spec = SpecOfText(kAttentionText);
  const auto check = [&](std::vector<int64_t> extents, const char* name) {
    return CheckProblem(
        spec, {.extents = std::move(extents), .specialisation = name});
  };
  EXPECT_TRUE(check({8, 2, 64, 32}, "full_64").ok());
  EXPECT_THAT(std::string(check({8, 2, 64, 32}, "causal_128").message()),
              HasSubstr("it breaks the precondition seq_kv >= seq_q"));
  EXPECT_THAT(std::string(check({8, 3, 64, 64}, "full_64").message()),
              HasSubstr("it breaks the precondition heads % kv_heads == 0"));
}

TEST(ManifestTextTest, ProblemsFulfilThePreconditionsOfTheirOwnSpecialisation) {
  const auto with = [](absl::string_view specialisations) {
    return ManifestFaultOf(absl::StrCat(
        kAttentionText,
        "representative_problems: \"heads = 8, kv_heads = 2, seq_q = 1024, "
        "seq_kv = 512",
        specialisations, "\"\n"));
  };
  EXPECT_EQ(with(" for full_64"), "");
  for (const char* specialisations : {" for causal_128", ""}) {
    EXPECT_THAT(with(specialisations),
                HasSubstr("it breaks the precondition seq_kv >= seq_q"));
  }
}

TEST(ManifestTextTest, AGridMayBeForSeveralSpecialisations) {
  const std::vector<WeightedProblem> problems =
      SpecOfText(kAttentionText).representative_problems;
  ASSERT_THAT(problems, SizeIs(4));
  EXPECT_EQ(problems[0].problem.specialisation, "causal_128");
  EXPECT_EQ(problems[3].problem.specialisation, "full_64");
  EXPECT_DOUBLE_EQ(problems[3].weight, 0.25);
}

TEST(ManifestTextTest, ConstantsThatClashOrAreMissingAreFaults) {
  const auto with = [](absl::string_view part, absl::string_view by) {
    return ManifestFaultOf(absl::StrReplaceAll(kAttentionText, {{part, by}}));
  };
  EXPECT_THAT(with("HEAD_DIM = 64, ", ""),
              HasSubstr("specialisation \"full_64\" has no \"HEAD_DIM\"; give "
                        "it a value"));
  EXPECT_THAT(with("CAUSAL = ", "BLOCK_Q = "),
              HasSubstr("\"BLOCK_Q\" is a dimension or parameter"));
  EXPECT_THAT(with("HEAD_DIM = 128", "HEAD_DIM = 4096"),
              HasSubstr("with the constants of specialisation 'causal_128'"));
  EXPECT_THAT(with("causal_128: HEAD_DIM", "causal_128 HEAD_DIM"),
              HasSubstr("specialisations[1], line 4, column 30: 'HEAD_DIM' "
                        "stands where ':' belongs"));
}

}  // namespace
}  // namespace wavetune
