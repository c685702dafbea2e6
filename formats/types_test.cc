#include "formats/types.h"

#include <limits>
#include <string>
#include <vector>

#include "formats/measured_fields.h"
#include "formats/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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
                    .max_shared_memory_bytes = 7,
                    .triton = "t",
                    .python = "y"};
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
                .suspect = true,
                .sm_clock_mhz = 1980,
                .throttled = true,
                .throttle_reasons = 0x44};
  EXPECT_EQ(
      SampleFromProto(dimensions, 2, SampleToProto(dimensions, sample)).value(),
      sample);
  EXPECT_FALSE(
      SampleFromProto(dimensions, 3, SampleToProto(dimensions, sample)).ok());
}

TEST(SampleConversionTest, EveryMeasuredNumberIsTaken) {
  Sample sample;
#define WAVETUNE_SET(field) \
  sample.field = static_cast<decltype(sample.field)>(3);
  WAVETUNE_MEASURED_FIELDS(WAVETUNE_SET)
#undef WAVETUNE_SET
  Sample taken;
  TakeMeasured(SampleToProto({}, sample), taken);
  EXPECT_EQ(taken, sample);
}

TEST(SampleConversionTest, KnowsWhatIsNoFiniteNumber) {
  Sample sample;
  EXPECT_TRUE(MeasuredIsFinite(sample));
  sample.device_time_us = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(MeasuredIsFinite(sample));
  sample.device_time_us = 0;
  sample.relative_spread = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(MeasuredIsFinite(sample));
}

TEST(DeviceStateConversionTest, KnownAndUnknownComeBackAsTheyWere) {
  EXPECT_EQ(DeviceStateFromProto(DeviceStateToProto({})), DeviceState());
  const DeviceState state = {.looked_at_us = 1,
                             .sm_clock_mhz = 2,
                             .throttle_reasons = 3,
                             .utilisation_percent = 0,
                             .other_processes = 0,
                             .memory_used_bytes = 4,
                             .memory_total_bytes = 5,
                             .own_workers = 6,
                             .power_limit_w = 7,
                             .busy = "x",
                             .temperature_c = 8};
  EXPECT_EQ(DeviceStateFromProto(DeviceStateToProto(state)), state);
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

}  // namespace
}  // namespace wavetune
