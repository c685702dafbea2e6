// FakeDevice and FakeBackend: a device that computes its answers, and fails
// where it is told to. Thread safety: one thread each, as for any Device.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_FAKE_DEVICE_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_FAKE_DEVICE_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiler_agent/measure/backend.h"

namespace wavetune {

// Shared by the backend and its devices, so that a test keeps a hand on them.
struct FakeDeviceScript {
  DeviceFacts facts = {.uuid = "fake-0",
                       .label = "Fake device",
                       .backend = "fake",
                       .architecture = "fake_1",
                       .multiprocessors = 4,
                       .memory_bytes = int64_t{1} << 30,
                       .driver = "1.0",
                       .runtime = "1.0",
                       .compiler = "fake 1.0",
                       .max_group_size = 1024,
                       .max_shared_memory_bytes = 65536};
  DeviceState state = {.sm_clock_mhz = 1980, .other_processes = 0};
  // Device time of a launch; `launch` counts all launches of the device.
  std::function<double(const Configuration&, const Problem&, int launch)>
      latency_us =
          [](const Configuration&, const Problem&, int) { return 100.0; };
  // Latencies of the vendor libraries that there are.
  std::map<std::string, double> peer_us;
  // Launches in a row that each timing is the mean of.
  int launches_per_timing = 1;
  // Changes what a burst reports; `burst` counts those of the device from 0.
  std::function<void(int burst, LaunchTimes& times)> on_times =
      [](int, LaunchTimes&) {};
  // Errors by configuration.
  std::map<Configuration, absl::Status> prepare_errors;
  std::map<Configuration, absl::Status> measure_errors;
  // Called at the start of each Prepare, as what runs the reference.
  std::function<void()> on_reference = [] {};
  ReferenceUse reference_use = ReferenceUse::kBeforeCandidates;
  // Called at the start of each Prepare and Measure.
  std::function<void(const Configuration&)> on_call = [](const auto&) {};
  // Called by each WarmUp.
  std::function<void(Device::Use)> on_warm_up = [](Device::Use) {};
};

class FakeDevice : public Device {
 public:
  explicit FakeDevice(std::shared_ptr<FakeDeviceScript> script)
      : script_(std::move(script)) {}

  const DeviceFacts& facts() const override { return script_->facts; }
  absl::Status Load(LoadedKernel kernel) override;
  absl::StatusOr<Candidate> Prepare(
      const Configuration& configuration,
      const std::vector<Problem>& correctness_problems) override;
  absl::StatusOr<LaunchTimes> Measure(const Configuration& configuration,
                                      const Problem& problem, int warmup,
                                      int launches) override;
  absl::StatusOr<LaunchTimes> MeasureVendorBaseline(const std::string& library,
                                                    const Problem& problem,
                                                    int warmup,
                                                    int launches) override;

  void ObserveReference(ReferenceObserver observer) override {
    observer_ = std::move(observer);
  }

  void WarmUp(Use use) override { script_->on_warm_up(use); }
  void Release() override { ++releases_; }

  int releases() const { return releases_; }  // By any thread.
  // The device's calls, in order.
  const std::vector<LoadedKernel>& loaded() const { return loaded_; }
  const std::vector<Configuration>& prepared() const { return prepared_; }
  const std::vector<Configuration>& measured() const { return measured_; }
  // Where each configuration was last to be checked.
  const std::map<Configuration, std::vector<Problem>>& checked_at() const {
    return checked_at_;
  }

 private:
  std::shared_ptr<FakeDeviceScript> script_;
  std::vector<LoadedKernel> loaded_;
  std::vector<Configuration> prepared_;
  std::vector<Configuration> measured_;
  std::map<Configuration, std::vector<Problem>> checked_at_;
  ReferenceObserver observer_ = [](ReferenceUse) {};
  int launches_ = 0;
  std::atomic<int> releases_ = 0;
};

class FakeBackend : public Backend {
 public:
  explicit FakeBackend(std::shared_ptr<FakeDeviceScript> script =
                           std::make_shared<FakeDeviceScript>())
      : script_(std::move(script)) {}

  std::string name() const override { return "fake"; }
  Enumeration Enumerate() override {
    return {.devices = {script_->facts}, .watches = true};
  }
  absl::StatusOr<std::unique_ptr<Device>> Open(
      const std::string& device_uuid, const std::string& cache_dir) override;
  absl::StatusOr<DeviceState> ReadTelemetry(
      const std::string& device_uuid) override;

 private:
  std::shared_ptr<FakeDeviceScript> script_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_FAKE_DEVICE_H_
