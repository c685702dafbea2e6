#include "launch/launch_file.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launch/launch_expression.h"
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
            Json::parse(R"([["*", ["ceil_div", "m", 64], 2], 1, 1])"));
  EXPECT_EQ(candidate["block"], Json::parse("[384, 1, 1]"));
  EXPECT_EQ(candidate["legal_if"],
            Json::parse(R"([["multiple_of", [[1, "k"]], [[8]]]])"));
  EXPECT_EQ(candidate["parameters"][0], Json::parse(R"({"kind": "tensor_map",
      "buffer": "a", "enabled": true, "type": "bfloat16",
      "extents": ["k", "m"], "box": [64, 128], "element_strides": [1, 1],
      "swizzle_bytes": 128, "l2_promotion_bytes": 256})"));
  EXPECT_EQ(candidate["parameters"][1], Json::parse(R"({"kind": "buffer",
      "name": "a", "type": "bfloat16", "access": "input",
      "elements": ["*", "m", "k"], "alignment": 16})"));
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
              HasSubstr("access: is none of input, output, inout and "
                        "workspace"));
  EXPECT_THAT(fault(R"("zeroed":"once")", R"("zeroed":"twice")"),
              HasSubstr("zeroed: is none of every_launch, once and never"));
  EXPECT_THAT(
      fault(R"("type":"float32","value":0.1)", R"("type":"int32","value":0.1)"),
      HasSubstr("value: is no whole number"));
  EXPECT_THAT(fault(R"("value":0.1)", R"("value":1e39)"),
              HasSubstr("value: is more than a float32 holds"));
}

TEST(LaunchFileTest, RefusesAFutureVersionAndSaysWhatToDo) {
  const auto parsed = ParseLaunchFile(absl::StrReplaceAll(
      FormatLaunchFile(File()), {{"\"version\": 1", "\"version\": 2"}}));
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("again"));
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
  EXPECT_THAT(FaultOf("\"bfloat16\"", "\"float8\""), HasSubstr("'float8'"));
  EXPECT_THAT(FaultOf("\"ceil_div\"", "\"cube_root\""),
              HasSubstr("unknown operation"));
  EXPECT_THAT(FaultOf("\"value\": \"m\"", "\"value\": \"x\""),
              HasSubstr("no dimension"));
  EXPECT_THAT(FaultOf("\"swizzle_bytes\": 128", "\"swizzle_bytes\": 100"),
              HasSubstr("swizzle_bytes"));
  EXPECT_THAT(FaultOf("\"multiple_of\"", "\"divides\""), HasSubstr("legal_if"));
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
}

TEST(LaunchExpressionTest, ReadsEveryOperation) {
  const std::vector<Dimension> dimensions = {
      {.name = "m"}, {.name = "rows", .repeated = true}};
  const std::vector<int64_t> rows = {100, 1, 65};
  const struct {
    const char* text;
    int64_t value;
  } cases[] = {
      {"7", 7},
      {"\"m\"", 10},
      {R"(["+", "m", 3, 0])", 13},
      {R"(["*", "m", 3])", 30},
      {R"(["ceil_div", "m", 3])", 4},
      {R"(["sum_over", "rows", ["ceil_div", "rows", 64]])", 5},
      {R"(["causal_blocks", "m", "m", 5, 5])", 3},
  };
  for (const auto& [text, value] : cases) {
    const auto read = ExpressionFromJson(Json::parse(text), dimensions);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(Evaluate(*read, {{10, 0}, rows}, Configuration()), value) << text;
    EXPECT_EQ(ExpressionToJson(*read, dimensions), Json::parse(text));
  }
}

TEST(LaunchExpressionTest, RefusesWhatCannotBeEvaluated) {
  const std::vector<Dimension> dimensions = {{.name = "m"}};
  std::string deep = "1" + std::string(100, ']');
  for (int i = 0; i < 100; ++i) deep.insert(0, "[\"+\",");
  for (const std::string& text :
       {std::string("-1"), std::string("1.5"), std::string("[]"),
        std::string("18446744073709551615"), std::string("[\"*\"]"),
        std::string("[\"ceil_div\", 1]"), std::string("[\"causal_blocks\", 1]"),
        std::string("[\"sum_over\", \"m\", 1]"), std::string("null"), deep}) {
    EXPECT_EQ(ExpressionFromJson(Json::parse(text), dimensions).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace wavetune
