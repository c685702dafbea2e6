#include "profiler_agent/link/device_monitor.h"

#include <string>

#include "gtest/gtest.h"
#include "profiler_agent/link/agent_devices.h"
#include "profiler_agent/worker/remote_device.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

const char kFakeWorker[] = WAVETUNE_BIN_DIR "/fake_worker";

TEST(DeviceMonitorTest, AsksAWorkerThatOpensNoDevice) {
  DeviceMonitor monitor({kFakeWorker});
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<DeviceState> state = monitor.ReadTelemetry("fake-0");
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(state->sm_clock_mhz, 1980);
    EXPECT_EQ(state->other_processes, 0);
    EXPECT_EQ(state->utilisation_percent, std::nullopt);
  }
}

TEST(DeviceMonitorTest, OneThatWasReleasedStartsAgain) {
  DeviceMonitor monitor({kFakeWorker});
  monitor.Release();
  ASSERT_TRUE(monitor.ReadTelemetry("fake-0").ok());
  monitor.Release();
  EXPECT_TRUE(monitor.ReadTelemetry("fake-0").ok());
}

TEST(DeviceMonitorTest, AnUnknownDeviceIsAnErrorAndTheWorkerLivesOn) {
  DeviceMonitor monitor({kFakeWorker});
  EXPECT_FALSE(monitor.ReadTelemetry("fake-1").ok());
  EXPECT_TRUE(monitor.ReadTelemetry("fake-0").ok());
}

TEST(DeviceMonitorTest, AWorkerThatDiesIsAnError) {
  DeviceMonitor monitor({"/bin/false"});
  EXPECT_FALSE(monitor.ReadTelemetry("fake-0").ok());
  EXPECT_FALSE(monitor.ReadTelemetry("fake-0").ok());
}

TEST(DeviceMonitorTest, EnumeratingSaysWhetherABackendWatches) {
  RemoteDevice scout({.command = {kFakeWorker}});
  EXPECT_TRUE(scout.Enumerate()->watches);
}

TEST(WorkerCommandTest, PassesOnWhatAWorkerMustKnow) {
  AgentDevicesOptions options = {.program = "agent"};
  options.backend.memory_cap = 2048;
  options.backend.python = "python3.12";
  options.backend.skip_nvidia_opencl = true;
  EXPECT_EQ(WorkerCommand(options, "opencl"),
            (std::vector<std::string>{"agent", "worker", "--backend", "opencl",
                                      "--memory-cap", "2048", "--python",
                                      "python3.12", "--skip-nvidia-opencl"}));
}

}  // namespace
}  // namespace wavetune
