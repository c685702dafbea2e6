#include "profiler_agent/testing/injected_backend.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/testing/injected_facts.h"

namespace wavetune {
namespace {

// A file that is broken for a moment is no fault of a candidate: the device is
// lost until it is mended.
absl::StatusOr<InjectedFacts> ReadOrLost(const std::string& path) {
  absl::StatusOr<InjectedFacts> facts = InjectedFacts::Read(path);
  if (facts.ok()) return facts;
  return absl::UnavailableError(
      absl::StrCat("injected facts: ", facts.status().message()));
}

class InjectedDevice : public Device {
 public:
  InjectedDevice(std::unique_ptr<Device> device, DeviceFacts facts,
                 std::string path)
      : device_(std::move(device)),
        facts_(std::move(facts)),
        path_(std::move(path)) {}

  const DeviceFacts& facts() const override { return facts_; }

  absl::Status Load(LoadedKernel kernel) override {
    KernelSpec spec = kernel.spec;
    RETURN_IF_ERROR(device_->Load(std::move(kernel)));
    spec_ = std::move(spec);
    return absl::OkStatus();
  }

  absl::StatusOr<Candidate> Prepare(
      const Configuration& configuration,
      const std::vector<Problem>& correctness_problems) override {
    return device_->Prepare(configuration, correctness_problems);
  }

  absl::StatusOr<LaunchTimes> Measure(const Configuration& configuration,
                                      const Problem& problem, int warmup,
                                      int launches) override {
    return Pretend(device_->Measure(configuration, problem, warmup, launches),
                   &configuration, problem);
  }

  absl::StatusOr<LaunchTimes> MeasureVendorBaseline(const std::string& library,
                                                    const Problem& problem,
                                                    int warmup,
                                                    int launches) override {
    return Pretend(
        device_->MeasureVendorBaseline(library, problem, warmup, launches),
        nullptr, problem);
  }

  void ObserveReference(ReferenceObserver observer) override {
    device_->ObserveReference(std::move(observer));
  }
  void Release() override { device_->Release(); }

 private:
  absl::StatusOr<LaunchTimes> Pretend(absl::StatusOr<LaunchTimes> times,
                                      const Configuration* configuration,
                                      const Problem& problem) const {
    if (!times.ok()) return times;
    ASSIGN_OR_RETURN(const InjectedFacts injected, ReadOrLost(path_));
    const InjectedDeviceFacts own = injected.Of(facts_.uuid);
    RETURN_IF_ERROR(CheckSameDriver(own));
    own.ApplyTo(*times, own.SlowerBy(*spec_, configuration, problem));
    return times;
  }

  // A real driver does not change under a process that has loaded it: times of
  // another one must not be taken for this one's.
  absl::Status CheckSameDriver(const InjectedDeviceFacts& now) const {
    DeviceFacts facts = device_->facts();
    now.ApplyTo(facts);
    if (facts.driver == facts_.driver && facts.runtime == facts_.runtime) {
      return absl::OkStatus();
    }
    return absl::UnavailableError(
        absl::StrCat("injected facts: the driver is ", facts.driver, ", ",
                     facts.runtime, " and was ", facts_.driver, ", ",
                     facts_.runtime, " when the device was opened"));
  }

  const std::unique_ptr<Device> device_;
  const DeviceFacts facts_;
  const std::string path_;
  std::optional<KernelSpec> spec_;  // There once something was measured.
};

}  // namespace

Backend::Enumeration InjectedBackend::Enumerate() {
  const absl::StatusOr<InjectedFacts> injected = ReadOrLost(path_);
  if (!injected.ok()) {
    return {.failure = std::string(injected.status().message())};
  }
  Enumeration found = backend_->Enumerate();
  for (DeviceFacts& facts : found.devices) {
    injected->Of(facts.uuid).ApplyTo(facts);
  }
  found.watches = true;
  return found;
}

absl::StatusOr<std::unique_ptr<Device>> InjectedBackend::Open(
    const std::string& device_uuid, const std::string& cache_dir) {
  ASSIGN_OR_RETURN(const InjectedFacts injected, ReadOrLost(path_));
  ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                   backend_->Open(device_uuid, cache_dir));
  DeviceFacts facts = device->facts();
  injected.Of(device_uuid).ApplyTo(facts);
  return std::make_unique<InjectedDevice>(std::move(device), std::move(facts),
                                          path_);
}

absl::StatusOr<DeviceState> InjectedBackend::ReadTelemetry(
    const std::string& device_uuid) {
  ASSIGN_OR_RETURN(const InjectedFacts injected, ReadOrLost(path_));
  absl::StatusOr<DeviceState> state = backend_->ReadTelemetry(device_uuid);
  if (absl::IsUnimplemented(state.status())) {
    state = DeviceState{.looked_at_us = SystemClock().NowUs()};
  }
  RETURN_IF_ERROR(state.status());
  injected.Of(device_uuid).ApplyTo(*state);
  return state;
}

}  // namespace wavetune
