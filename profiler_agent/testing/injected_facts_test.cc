#include "profiler_agent/testing/injected_facts.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/worker/test_kernels.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

InjectedFacts Parsed(absl::string_view text) {
  absl::StatusOr<InjectedFacts> facts = InjectedFacts::Parse(text);
  EXPECT_TRUE(facts.ok()) << facts.status();
  return facts.ok() ? *std::move(facts) : InjectedFacts();
}

std::string Refusal(absl::string_view text) {
  return std::string(InjectedFacts::Parse(text).status().message());
}

TEST(InjectedFactsTest, OfADeviceItReplacesWhatIsSaidOfAll) {
  const InjectedFacts facts = Parsed(
      "# A driver upgrade.\n"
      "driver = 590.12  # Everywhere.\n"
      "runtime = OpenCL 3.1\n"
      "\n"
      "[GPU-1]\n"
      "driver = 591.00\n"
      "power_limit_w = 350\n");
  DeviceFacts one = {.uuid = "GPU-1", .driver = "580", .power_limit_w = 700};
  DeviceFacts two = one;
  facts.Of("GPU-1").ApplyTo(one);
  facts.Of("GPU-2").ApplyTo(two);
  EXPECT_EQ(one.driver, "591.00");
  EXPECT_EQ(one.runtime, "OpenCL 3.1");
  EXPECT_EQ(one.power_limit_w, 350);
  EXPECT_EQ(two.driver, "590.12");
  EXPECT_EQ(two.power_limit_w, 700);
}

TEST(InjectedFactsTest, AnEmptyFilePretendsNothing) {
  const DeviceFacts before = {.uuid = "GPU-1", .driver = "580"};
  DeviceFacts facts = before;
  Parsed("# Nothing yet.\n").Of("GPU-1").ApplyTo(facts);
  EXPECT_EQ(facts, before);
}

TEST(InjectedFactsTest, AStateHasOthersAndThrottling) {
  DeviceState state = {.sm_clock_mhz = 1980, .power_limit_w = 700};
  Parsed(
      "throttle_reasons = 0x40\n"
      "utilisation_percent = 93\n"
      "other_processes = 2\n")
      .Of("GPU-1")
      .ApplyTo(state);
  EXPECT_EQ(state.throttle_reasons, 0x40u);
  EXPECT_EQ(state.utilisation_percent, 93);
  EXPECT_EQ(state.other_processes, 2);
  EXPECT_EQ(state.power_limit_w, 700);
  EXPECT_EQ(state.sm_clock_mhz, 1980);
}

TEST(InjectedFactsTest, LaunchesAreSlowerAndThrottled) {
  LaunchTimes times = {.launch_us = {100, 200}, .warmup_us = 50};
  Parsed("throttle_reasons = 64\n").Of("x").ApplyTo(times, 1.5);
  EXPECT_THAT(times.launch_us, ::testing::ElementsAre(150, 300));
  EXPECT_EQ(times.warmup_us, 75);
  EXPECT_TRUE(times.throttled);
  EXPECT_EQ(times.throttle_reasons, 64u);
}

// The power cap is no throttling.
TEST(InjectedFactsTest, WhatIsNotSaidOfTimesStays) {
  LaunchTimes times = {.throttled = true, .throttle_reasons = 0x40};
  Parsed("driver = 1\n").Of("x").ApplyTo(times, 1);
  EXPECT_TRUE(times.throttled);
  Parsed("throttle_reasons = 4\n").Of("x").ApplyTo(times, 1);
  EXPECT_FALSE(times.throttled);
}

TEST(InjectedFactsTest, LinesThatApplyMultiply) {
  const KernelSpec spec = TestKernel(kColumnSum).spec;
  const std::string parameter = spec.parameters[0].name;
  const std::string dimension = spec.dimensions[0].name;
  const InjectedDeviceFacts facts =
      Parsed(absl::StrCat("slower = 1.5\n[GPU-1]\nslower = 2 where ", parameter,
                          " = 16, ", dimension, "<=100\n"))
          .Of("GPU-1");
  const Configuration small = {16, 8, 0};
  const Configuration large = {64, 8, 0};
  const Problem narrow = {.extents = {100, 30}};
  const Problem wide = {.extents = {101, 30}};
  EXPECT_EQ(facts.SlowerBy(spec, &small, narrow), 3);
  EXPECT_EQ(facts.SlowerBy(spec, &large, narrow), 1.5);
  EXPECT_EQ(facts.SlowerBy(spec, &small, wide), 1.5);
  // A vendor's library has no parameters.
  EXPECT_EQ(facts.SlowerBy(spec, nullptr, narrow), 1.5);
}

TEST(InjectedFactsTest, EachComparisonHoldsWhereItShould) {
  const KernelSpec spec = TestKernel(kColumnSum).spec;
  const Configuration any = {16, 8, 0};
  const auto applies = [&](absl::string_view condition, int64_t extent) {
    const InjectedDeviceFacts facts =
        Parsed(absl::StrCat("slower = 2 where ", spec.dimensions[0].name,
                            condition))
            .Of("x");
    return facts.SlowerBy(spec, &any, {.extents = {extent, 30}}) == 2;
  };
  EXPECT_TRUE(applies("<100", 99));
  EXPECT_FALSE(applies("<100", 100));
  EXPECT_TRUE(applies(" <= 100", 100));
  EXPECT_TRUE(applies(">= 100", 100));
  EXPECT_TRUE(applies("> 100", 101));
  EXPECT_FALSE(applies("> 100", 100));
  EXPECT_FALSE(applies("=100", 101));
}

TEST(InjectedFactsTest, ANameThatTheKernelHasNotNeverApplies) {
  const KernelSpec spec = TestKernel(kColumnSum).spec;
  ::testing::internal::CaptureStderr();
  const Configuration any = {16, 8, 0};
  EXPECT_EQ(Parsed("slower = 2 where NO_SUCH = 1\n")
                .Of("x")
                .SlowerBy(spec, &any, {.extents = {1, 1}}),
            1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("neither parameter nor dimension NO_SUCH"));
}

TEST(InjectedFactsTest, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_THAT(Refusal("driver = 1\ndrivre = 2\n"),
              AllOf(HasSubstr("line 2: unknown key \"drivre\""),
                    HasSubstr("known are driver, runtime, power_limit_w")));
  EXPECT_EQ(Refusal("power_limit_w = many"),
            "line 1: \"many\" is not a whole number from 0 to 100000");
  EXPECT_EQ(Refusal("utilisation_percent = 101"),
            "line 1: \"101\" is not a whole number from 0 to 100");
  EXPECT_EQ(Refusal("throttle_reasons = -1"),
            "line 1: \"-1\" is not a whole number from 0 to 4294967295");
  EXPECT_EQ(Refusal("driver ="), "line 1: no text after the =");
  EXPECT_EQ(Refusal("slower = 0"),
            "line 1: \"0\" is not a factor from 0.001 to 1000");
  EXPECT_EQ(Refusal("slower = nan"),
            "line 1: \"nan\" is not a factor from 0.001 to 1000");
  for (const char* const condition : {"m", "m == 1", "m =", "= 1", "m = x"}) {
    EXPECT_THAT(Refusal(absl::StrCat("slower = 2 where ", condition)),
                HasSubstr("is not a condition like m <= 16 or BM = 64"))
        << condition;
  }
}

TEST(InjectedFactsTest, AFileOfOthersIsNotRead) {
  const std::string path = ::testing::TempDir() + "injected_facts_test.conf";
  std::ofstream(path) << "driver = 2\nnonsense\n";
  chmod(path.c_str(), 0600);
  EXPECT_THAT(std::string(InjectedFacts::Read(path).status().message()),
              HasSubstr(path + ": line 2: "));
  chmod(path.c_str(), 0666);
  EXPECT_EQ(InjectedFacts::Read(path).status().code(),
            absl::StatusCode::kPermissionDenied);
  std::filesystem::remove(path);
  EXPECT_EQ(InjectedFacts::Read(path).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wavetune
