#include "proto/convert/types.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "proto/convert/kernel_spec.h"
#include "proto/convert/status.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

std::vector<Dimension> GroupedDimensions() {
  return {
      {.name = "group_rows", .repeated = true}, {.name = "n"}, {.name = "k"}};
}

TEST(ProblemConversionTest, RoundTripsInAnyOrderOfNames) {
  Problem problem{.extents = {0, 64, 128},
                  .repeated = {3, 5, 8},
                  .specialisation = "causal"};
  v1::Problem proto = ProblemToProto(GroupedDimensions(), problem);
  proto.mutable_extents()->SwapElements(0, 2);
  EXPECT_EQ(ProblemFromProto(GroupedDimensions(), proto).value(), problem);
}

TEST(ProblemConversionTest, NamesEveryFaultAndTheKernelsDimensions) {
  v1::Problem proto;
  auto add = [&proto](const std::string& name, std::vector<int64_t> values) {
    v1::Problem::Extents* extents = proto.add_extents();
    extents->set_dimension(name);
    extents->mutable_values()->Add(values.begin(), values.end());
  };
  add("n", {1, 2});
  add("q", {1});
  add("n", {1});
  const std::string message(
      ProblemFromProto(GroupedDimensions(), proto).status().message());
  EXPECT_THAT(message, HasSubstr("\"n\" is given twice"));
  EXPECT_THAT(message, HasSubstr("\"n\" takes one extent, not 2"));
  EXPECT_THAT(message, HasSubstr("\"k\" is missing"));
  EXPECT_THAT(message, HasSubstr("unknown dimension \"q\""));
  EXPECT_THAT(message, HasSubstr("dimensions are: group_rows, n, k"));
}

TEST(ConfigurationConversionTest, RefusesTheWrongNumberOfValues) {
  const Configuration configuration{16, 32, 4};
  EXPECT_EQ(
      ConfigurationFromProto(3, ConfigurationToProto(configuration)).value(),
      configuration);
  EXPECT_FALSE(
      ConfigurationFromProto(2, ConfigurationToProto(configuration)).ok());
}

TEST(DeviceFactsConversionTest, RoundTrips) {
  DeviceFacts facts{.uuid = "u",
                    .label = "l",
                    .backend = "opencl",
                    .architecture = "a",
                    .multiprocessors = 2,
                    .memory_bytes = 3,
                    .partition = "p",
                    .driver = "d",
                    .runtime = "r",
                    .power_limit_w = 4,
                    .compiler = "c",
                    .last_level_cache_bytes = 5,
                    .max_group_size = 6,
                    .max_local_memory_bytes = 7};
  EXPECT_EQ(DeviceFactsFromProto(DeviceFactsToProto(facts)), facts);
}

TEST(SampleConversionTest, RoundTrips) {
  const std::vector<Dimension> dimensions = {{.name = "m"}, {.name = "n"}};
  Sample sample{.configuration = {1, 2},
                .problem = {.extents = {3, 4}},
                .latency_us = 5.5,
                .min_us = 5,
                .relative_spread = 0.1,
                .launches = 7,
                .device_time_us = 40,
                .suspect = true};
  EXPECT_EQ(
      SampleFromProto(dimensions, 2, SampleToProto(dimensions, sample)).value(),
      sample);
  EXPECT_FALSE(
      SampleFromProto(dimensions, 3, SampleToProto(dimensions, sample)).ok());
}

TEST(DecisionConversionTest, SaysWhyTheDefaultWasChosen) {
  Decision decision;
  decision.configuration = {16, 32};
  decision.reason = DefaultReason::kNoTable;
  const v1::Decision proto = DecisionToProto({"A", "B"}, decision);
  EXPECT_EQ(proto.source(), v1::DEFAULT);
  EXPECT_EQ(proto.configuration(1).name(), "B");
  EXPECT_EQ(proto.configuration(1).value(), 32);
  EXPECT_FALSE(proto.reason().empty());
  EXPECT_TRUE(proto.digest_prefix().empty());
}

TEST(StatusConversionTest, KeepsCodeAndMessage) {
  for (const absl::Status& status : {absl::OkStatus(), absl::NotFoundError("x"),
                                     absl::FailedPreconditionError("y")}) {
    EXPECT_EQ(FromGrpcStatus(ToGrpcStatus(status)), status);
  }
}

v1::KernelSpec ParseSpec(const std::string& text) {
  v1::KernelSpec proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto));
  return proto;
}

constexpr char kSpec[] = R"(
name: "gemm" dimensions { name: "m" } dimensions { name: "n" } dimensions { name: "k" max: 4096 }
parameters { name: "BM" role: MACRO values: [16, 32] } parameters { name: "V" role: MICRO values: [1, 4] }
mapping {
  tiles { product { factors { ceil_div { numerator { dimension: "m" } denominator { parameter: "BM" } } } factors { dimension: "n" } } }
  iterations_per_tile { dimension: "k" }
  rows { dimension: "m" tile: "BM" }
}
default_configuration { key: "BM" value: 16 } default_configuration { key: "V" value: 4 }
)";

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
                         .row_fill = 1.0 / 16}));
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

TEST(KernelSpecConversionTest, ReportsContradictions) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"parameters { name: \"BM\" role: MACRO values: 1 }", "declared twice"},
      {"parameters { name: \"X\" values: 1 } default_configuration { key: "
       "\"X\" value: 1 }",
       "give MACRO or MICRO"},
      {"constraints { left { factors: \"m\" } op: EQUAL right { coefficient: 1 "
       "} }",
       "belong to problem_predicates"},
      {"constraints { left { factors: \"BM\" } right { coefficient: 1 } }",
       "op: is missing"},
      {"default_configuration { key: \"Z\" value: 1 }",
       "unknown parameter \"Z\""},
      {"representative_problems { axes { dimension: \"m\" values: 1 } }",
       "no values for dimension \"n\""},
      {"arguments { name: \"s\" role: SCALAR type: INT32 elements { dimension: "
       "\"m\" } }",
       "a scalar has a value"},
  };
  for (const auto& [text, expected] : cases) {
    const absl::Status status =
        KernelSpecFromProto(ParseSpec(kSpec + text)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected)) << text;
  }
}

TEST(KernelSpecConversionTest, WantsOneKindOfLoopCount) {
  std::string both = kSpec;
  const std::string loop = "iterations_per_tile { dimension: \"k\" }";
  const size_t at = both.find(loop);
  ASSERT_NE(at, std::string::npos);
  std::string none = both;
  none.erase(at, loop.size());
  both.insert(at, "total_iterations { dimension: \"k\" } ");
  for (const std::string& text : {both, none}) {
    EXPECT_THAT(
        std::string(KernelSpecFromProto(ParseSpec(text)).status().message()),
        HasSubstr("exactly one of iterations_per_tile and total_iterations"));
  }
}

}  // namespace
}  // namespace wavetune
