#include "launch/launch_file.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

const Expression kM = Expression::OfDimension(0);
const Expression kK = Expression::OfDimension(1);

LaunchFile File() {
  LaunchFile file{.kernel = "gemm",
                  .fingerprint = "f1",
                  .table_digest = "d1",
                  .table_fingerprint = "f2",
                  .silicon_key = "backend=cuda;arch=sm_90",
                  .environment_key = "driver=580",
                  .architecture = "sm_90a",
                  .compiler = "NVRTC 13.0",
                  .dimensions = {{.name = "m", .max = 100}, {.name = "k"}},
                  .parameters = {"BLOCK", "STAGES"}};
  LaunchCandidate candidate{.specialisation = "causal",
                            .configuration = {64, 3},
                            .portfolio_index = 2,
                            .is_default = true,
                            .cubin = "causal.02.cubin",
                            .sha256 = "abc",
                            .size_bytes = 1234};
  LaunchDescriptor& launch = candidate.launch;
  launch.entry = "gemm";
  launch.blocks = {Expression::Product(
      {Expression::CeilDiv({kM}, {Expression::Constant(64)}),
       Expression::Constant(2)})};
  launch.block_size = 384;
  launch.shared_bytes = Expression::Constant(1000);
  launch.cluster_size = 2;
  launch.persistent = true;
  launch.tensor_maps = {{.argument = 0,
                         .extents = {kK, kM},
                         .box = {64, 128},
                         .swizzle = TensorMap::Swizzle::k128Bytes,
                         .l2_promotion_bytes = 256}};
  launch.arguments = {{.name = "a",
                       .type = ElementType::kBfloat16,
                       .size = Expression::Product({kM, kK})},
                      {.name = "c", .role = ArgumentRole::kOutput, .size = kM},
                      {.name = "m",
                       .role = ArgumentRole::kScalar,
                       .type = ElementType::kInt32,
                       .size = kM}};
  launch.problem_predicates = {{.left = {{.dimensions = {1}}},
                                .op = Relation::Operator::kMultipleOf,
                                .right = {{.coefficient = 8}}}};
  file.candidates = {candidate};
  return file;
}

// What is wrong with the text after one replacement.
std::string FaultOf(const std::string& from, const std::string& to) {
  const std::string text = FormatLaunchFile(File());
  const std::string broken = absl::StrReplaceAll(text, {{from, to}});
  EXPECT_NE(text, broken) << from;
  const auto parsed = ParseLaunchFile(broken);
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument)
      << to << ": " << parsed.status();
  return std::string(parsed.status().message());
}

TEST(LaunchFileTest, ReadsBackWhatItWrote) {
  const auto parsed = ParseLaunchFile(FormatLaunchFile(File()));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(FormatLaunchFile(*parsed), FormatLaunchFile(File()));
  EXPECT_EQ(parsed->dimensions, File().dimensions);
  const LaunchDescriptor& launch = parsed->candidates[0].launch;
  EXPECT_EQ(launch.tensor_maps, File().candidates[0].launch.tensor_maps);
  EXPECT_EQ(launch.problem_predicates,
            File().candidates[0].launch.problem_predicates);
  EXPECT_EQ(launch.arguments[1].role, ArgumentRole::kOutput);
  EXPECT_EQ(ShapeOf(launch, {65, 8}), (LaunchShape{.blocks = 4,
                                                   .block_size = 384,
                                                   .shared_bytes = 1000,
                                                   .cluster_size = 2,
                                                   .persistent = true}));
}

TEST(LaunchFileTest, IsPlainJson) {
  const Json json = Json::parse(FormatLaunchFile(File()));
  const Json& candidate = json["candidates"][0];
  EXPECT_EQ(candidate["configuration"], Json::parse(R"({"BLOCK": 64,
      "STAGES": 3})"));
  EXPECT_EQ(candidate["grid"],
            Json::parse(R"j(["ceil_div(m, 64) * 2", 1, 1])j"));
  EXPECT_EQ(candidate["block"], Json::parse("[384, 1, 1]"));
  EXPECT_EQ(candidate["legal_if"], Json::parse(R"(["k % 8 == 0"])"));
  EXPECT_EQ(candidate["parameters"][0], Json::parse(R"({"kind": "tensor_map",
      "buffer": "a", "enabled": true, "type": "bfloat16",
      "extents": ["k", "m"], "box": [64, 128], "element_strides": [1, 1],
      "swizzle_bytes": 128, "l2_promotion_bytes": 256})"));
  EXPECT_EQ(candidate["parameters"][1], Json::parse(R"({"kind": "buffer",
      "name": "a", "type": "bfloat16", "access": "input",
      "elements": "m * k", "alignment": 16})"));
  EXPECT_EQ(candidate["parameters"][3], Json::parse(R"({"kind": "scalar",
      "name": "m", "type": "int32", "value": "m"})"));
}

// What launches have had since manifests can say it.
LaunchFile FileWithEveryForm() {
  LaunchFile file = File();
  LaunchDescriptor& launch = file.candidates[0].launch;
  launch.blocks = {kM, kK, Expression::Constant(3)};
  launch.block_size = {32, 4, 2};
  launch.cluster_size = 1;
  launch.persistent = false;
  launch.arguments[1].role = ArgumentRole::kInOut;
  launch.arguments.push_back({.name = "scale",
                              .role = ArgumentRole::kScalar,
                              .type = ElementType::kFloat32,
                              .number = 0.1});
  for (const Zeroed zeroed :
       {Zeroed::kEveryLaunch, Zeroed::kOnce, Zeroed::kNever}) {
    launch.arguments.push_back(
        {.name = absl::StrCat("w", launch.arguments.size()),
         .role = ArgumentRole::kWorkspace,
         .type = ElementType::kInt32,
         .size = kM,
         .zeroed = zeroed});
  }
  return file;
}

TEST(LaunchFileTest, SidesNumbersAndWorkspacesAreReadBack) {
  const std::string text = FormatLaunchFile(FileWithEveryForm());
  const auto parsed = ParseLaunchFile(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(FormatLaunchFile(*parsed), text);
  const LaunchDescriptor& launch = parsed->candidates[0].launch;
  EXPECT_EQ(ShapeOf(launch, {65, 8}).blocks, (LaunchExtent{65, 8, 3}));
  EXPECT_EQ(launch.block_size, (LaunchExtent{32, 4, 2}));
  EXPECT_EQ(launch.arguments[1].role, ArgumentRole::kInOut);
  EXPECT_EQ(launch.arguments[3].number, 0.1);
  EXPECT_EQ(launch.arguments[4].zeroed, Zeroed::kEveryLaunch);
  EXPECT_EQ(launch.arguments[5].zeroed, Zeroed::kOnce);
  EXPECT_EQ(launch.arguments[6].zeroed, Zeroed::kNever);
  const Json candidate = Json::parse(text)["candidates"][0];
  EXPECT_EQ(candidate["grid"], Json::parse(R"(["m", "k", 3])"));
  EXPECT_EQ(candidate["block"], Json::parse("[32, 4, 2]"));
  EXPECT_EQ(candidate["parameters"][4], Json::parse(R"({"kind": "scalar",
      "name": "scale", "type": "float32", "value": 0.1})"));
  EXPECT_EQ(candidate["parameters"][6], Json::parse(R"({"kind": "buffer",
      "name": "w5", "type": "int32", "access": "workspace", "zeroed": "once",
      "elements": "m", "alignment": 16})"));
}

TEST(LaunchFileTest, NamesWhatIsWrongWithSidesNumbersAndWorkspaces) {
  const auto fault = [](const std::string& from, const std::string& to) {
    Json json = Json::parse(FormatLaunchFile(FileWithEveryForm()));
    const std::string text = json.dump();
    const std::string broken = absl::StrReplaceAll(text, {{from, to}});
    EXPECT_NE(text, broken) << from;
    return std::string(ParseLaunchFile(broken).status().message());
  };
  EXPECT_THAT(fault(R"("grid":["m","k",3])", R"("grid":["m","k"])"),
              HasSubstr("grid: is no [x, y, z]"));
  EXPECT_THAT(fault(R"("block":[32,4,2])", R"("block":[32,0,2])"),
              HasSubstr("block: is no number from 1"));
  EXPECT_THAT(fault(R"("persistent":false)", R"("persistent":true)"),
              HasSubstr("grid: is no [x, 1, 1], as clusters and persistent "
                        "launches need"));
  EXPECT_THAT(fault(R"("access":"inout")", R"("access":"both")"),
              HasSubstr("access: is none of input, output, inout, workspace"));
  EXPECT_THAT(fault(R"("zeroed":"once")", R"("zeroed":"twice")"),
              HasSubstr("zeroed: is none of every_launch, once, never"));
  EXPECT_THAT(
      fault(R"("type":"float32","value":0.1)", R"("type":"int32","value":0.1)"),
      HasSubstr("value: is no whole number"));
  EXPECT_THAT(fault(R"("value":0.1)", R"("value":1e39)"),
              HasSubstr("value: is more than a float32 holds"));
}

// Version 1 said expressions as lists.
TEST(LaunchFileTest, RefusesOtherVersionsAndSaysWhatToDo) {
  for (const char* version : {"\"version\": 1", "\"version\": 3"}) {
    const auto parsed = ParseLaunchFile(absl::StrReplaceAll(
        FormatLaunchFile(File()), {{"\"version\": 2", version}}));
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("again"));
  }
}

TEST(LaunchFileTest, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(FaultOf("wavetune.launch", "other"), HasSubstr("no launch.json"));
  EXPECT_THAT(FaultOf("\"entry\": \"gemm\"", "\"entry\": 3"),
              HasSubstr("entry: is no text"));
  EXPECT_THAT(FaultOf("\"persistent\"", "\"perhaps\""),
              HasSubstr("persistent: is missing"));
  EXPECT_THAT(FaultOf("causal.02.cubin", "../../etc/passwd"),
              HasSubstr("cubin: is no file of the same folder"));
  EXPECT_THAT(FaultOf("\"buffer\": \"a\"", "\"buffer\": \"m\""),
              HasSubstr("'m' is no buffer"));
  EXPECT_THAT(FaultOf("\"bfloat16\"", "\"float8\""),
              HasSubstr("type: is none of float32, int32, int64, bfloat16"));
  EXPECT_THAT(
      FaultOf("ceil_div", "cube_root"),
      HasSubstr("launch.json: grid: \"cube_root(m, 64) * 2\", column 1: "
                "there is no function 'cube_root'"));
  EXPECT_THAT(FaultOf("\"value\": \"m\"", "\"value\": \"x\""),
              HasSubstr("value: \"x\", column 1: nothing is declared as 'x'; "
                        "known are: m, k"));
  EXPECT_THAT(FaultOf("\"swizzle_bytes\": 128", "\"swizzle_bytes\": 100"),
              HasSubstr("swizzle_bytes: is none of 0, 32, 64, 128"));
  EXPECT_THAT(FaultOf("k % 8 == 0", "k % 8 = 0"),
              HasSubstr("legal_if: \"k % 8 = 0\", column 7: '=' is not of this "
                        "language; write =="));
  EXPECT_THAT(FaultOf("k % 8 == 0", "k == 1 or m == 1"),
              HasSubstr("legal_if: \"k == 1 or m == 1\" compares more than"));
  EXPECT_THAT(FaultOf("\"STAGES\": 3", "\"STEPS\": 3"), HasSubstr("STAGES"));
}

TEST(LaunchFileTest, RefusesWhateverIsNoLaunchFile) {
  for (const char* text : {"", "[]", "{}", "{\"format\": 1}", "nonsense",
                           "{\"format\": \"wavetune.launch\"}"}) {
    EXPECT_EQ(ParseLaunchFile(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(LaunchFileTest, RefusesWhatIsNestedTooDeeply) {
  std::string deep(1'000'000, '[');
  deep.append(1'000'000, ']');
  EXPECT_THAT(FaultOf("\"value\": \"m\"", "\"value\": " + deep),
              HasSubstr("nested"));
  EXPECT_THAT(FaultOf("\"kernel\": \"gemm\"", "\"kernel\": " + deep),
              HasSubstr("nested"));
  EXPECT_THAT(FaultOf("\"value\": \"m\"",
                      "\"value\": \"" + std::string(1'000'000, '(') + "\""),
              HasSubstr("nested deeper than"));
}

// The file with a dimension that is a list, and these elements of the output.
LaunchFile FileOf(Expression elements) {
  LaunchFile file = File();
  file.dimensions.push_back({.name = "rows", .repeated = true});
  file.candidates[0].launch.arguments[1].size = std::move(elements);
  return file;
}

TEST(LaunchFileTest, EveryOperationIsReadBack) {
  using Kind = Expression::Kind;
  const Expression rows = Expression::OfDimension(2);
  const Expression two = Expression::Constant(2);
  const std::vector<int64_t> extents = {10, 7, 0};
  const std::vector<int64_t> elements = {100, 1, 65};
  for (const Expression& expression :
       {Expression::Constant(0), kM, Expression::Sum({kM, kK, two}),
        Expression::Product({kM, Expression::Sum({kK, two}), two}),
        Expression::CeilDiv({kM, kK}, {Expression::Constant(6)}),
        Expression::SumOver(
            2, Expression::CeilDiv({rows}, {Expression::Constant(64)})),
        Expression::Of(Kind::kCausalBlocks, {kM, kK, two, two}),
        Expression::Sum({kM, Expression::Of(Kind::kNegative, {kK})}),
        Expression::Of(Kind::kExactDiv, {kM, two}),
        Expression::Of(Kind::kFloorDiv, {kM, Expression::Constant(3)}),
        Expression::Of(Kind::kRemainder, {kM, Expression::Constant(3)}),
        Expression::Of(Kind::kMin, {kM, kK, two}),
        Expression::Of(Kind::kMax, {kM, kK, two})}) {
    const std::string text = FormatLaunchFile(FileOf(expression));
    const auto parsed = ParseLaunchFile(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(FormatLaunchFile(*parsed), text);
    const ProblemView problem(extents, elements);
    EXPECT_EQ(Evaluate(parsed->candidates[0].launch.arguments[1].size, problem,
                       Configuration()),
              Evaluate(expression, problem, Configuration()))
        << text;
  }
}

TEST(LaunchFileTest, RefusesExpressionsThatCannotBeEvaluated) {
  for (const char* elements :
       {"-1", "1.5", "[]", "18446744073709551615", "null", "\"\"",
        "\"ceil_div(m)\"", "\"causal_blocks(m, 1)\"", "\"m / 0\"",
        "\"sum_over(m, 1)\"", "[\"*\", \"m\", 2]"}) {
    EXPECT_THAT(FaultOf("\"elements\": \"m * k\"",
                        absl::StrCat("\"elements\": ", elements)),
                HasSubstr("launch.json: elements: "))
        << elements;
  }
}

}  // namespace
}  // namespace wavetune
