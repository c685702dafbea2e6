#include "profiler_agent/testing/injected_backend.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_agent/measure/fake_device.h"
#include "profiler_agent/worker/test_kernels.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Problem kMeasuredProblem = {.extents = {100, 30}};

std::shared_ptr<FakeDeviceScript> Script() {
  auto script = std::make_shared<FakeDeviceScript>();
  script->facts.backend = "opencl";
  return script;
}

// Says of itself that it cannot watch its devices.
class BlindBackend : public FakeBackend {
 public:
  using FakeBackend::FakeBackend;
  absl::StatusOr<DeviceState> ReadTelemetry(const std::string& uuid) override {
    // NOLINTNEXTLINE(bugprone-parent-virtual-call): the interface's default.
    return Backend::ReadTelemetry(uuid);
  }
};

class InjectedBackendTest : public ::testing::Test {
 protected:
  void SetUp() override { Inject(""); }
  void TearDown() override { std::filesystem::remove(path_); }

  void Inject(const std::string& text) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), 0600);
  }
  std::unique_ptr<Device> Open() {
    absl::StatusOr<std::unique_ptr<Device>> device =
        backend_.Open("fake-0", "");
    EXPECT_TRUE(device.ok()) << device.status();
    EXPECT_TRUE((*device)->Load(TestKernel(kColumnSum)).ok());
    return *std::move(device);
  }

  const std::string path_ = ::testing::TempDir() + "injected_backend_test.conf";
  InjectedBackend backend_{std::make_unique<FakeBackend>(Script()), path_};
};

TEST_F(InjectedBackendTest, ListedAndOpenedDevicesPretendTheSame) {
  Inject("driver = 590.12\n");
  const Backend::Enumeration found = backend_.Enumerate();
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(found.devices[0].driver, "590.12");
  EXPECT_EQ(Open()->facts(), found.devices[0]);
}

TEST_F(InjectedBackendTest, ABurstFollowsTheFileOfItsMoment) {
  const std::unique_ptr<Device> device = Open();
  const auto launch_us = [&] {
    const auto times =
        device->Measure(kColumnSumConfiguration, kMeasuredProblem, 1, 1);
    EXPECT_TRUE(times.ok()) << times.status();
    return times.ok() ? times->launch_us : std::vector<double>();
  };
  EXPECT_THAT(launch_us(), ElementsAre(100));
  Inject("slower = 1.25\n");
  EXPECT_THAT(launch_us(), ElementsAre(125));
}

TEST_F(InjectedBackendTest, AnOpenDeviceIsLostWhereItsDriverChanges) {
  const std::unique_ptr<Device> device = Open();
  Inject("driver = 590.12\nslower = 1.25\n");
  const absl::Status measured =
      device->Measure(kColumnSumConfiguration, kMeasuredProblem, 1, 1).status();
  EXPECT_TRUE(absl::IsUnavailable(measured)) << measured;
  EXPECT_THAT(std::string(measured.message()),
              HasSubstr("the driver is 590.12, 1.0 and was 1.0, 1.0"));
}

TEST_F(InjectedBackendTest, ABrokenFileIsALostDeviceAndNoCandidatesFault) {
  const std::unique_ptr<Device> device = Open();
  Inject("nonsense\n");
  const absl::Status measured =
      device->Measure(kColumnSumConfiguration, kMeasuredProblem, 1, 1).status();
  EXPECT_TRUE(absl::IsUnavailable(measured)) << measured;
  EXPECT_THAT(std::string(measured.message()),
              HasSubstr("injected_backend_test.conf: line 1: unknown key"));
  EXPECT_TRUE(absl::IsUnavailable(backend_.Open("fake-0", "").status()));
  EXPECT_TRUE(absl::IsUnavailable(backend_.ReadTelemetry("fake-0").status()));
  const Backend::Enumeration found = backend_.Enumerate();
  EXPECT_TRUE(found.devices.empty());
  EXPECT_THAT(found.failure, HasSubstr("line 1: unknown key"));
}

TEST_F(InjectedBackendTest, DevicesThatAreNotWatchedAreWatchedNow) {
  InjectedBackend blind(std::make_unique<BlindBackend>(Script()), path_);
  EXPECT_TRUE(blind.Enumerate().watches);
  Inject("other_processes = 2\npower_limit_w = 350\n");
  const absl::StatusOr<DeviceState> state = blind.ReadTelemetry("fake-0");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->other_processes, 2);
  EXPECT_EQ(state->power_limit_w, 350);
  EXPECT_GT(state->looked_at_us, 0);
}

TEST_F(InjectedBackendTest, WhatTheDeviceSaysOfItselfStays) {
  Inject("other_processes = 2\n");
  const absl::StatusOr<DeviceState> state = backend_.ReadTelemetry("fake-0");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->sm_clock_mhz, 1980);
  EXPECT_EQ(state->other_processes, 2);
}

}  // namespace
}  // namespace wavetune
