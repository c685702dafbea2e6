#include "profiler_agent/measure/fake_device.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/kernel_checks.h"

namespace wavetune {

absl::Status FakeDevice::Load(LoadedKernel kernel) {
  absl::StatusOr<const Implementation*> implementation =
      FindImplementation(kernel.spec, script_->facts);
  if (!implementation.ok()) return implementation.status();
  loaded_.push_back(std::move(kernel));
  return absl::OkStatus();
}

absl::StatusOr<Candidate> FakeDevice::Prepare(
    const Configuration& configuration,
    const std::vector<Problem>& correctness_problems) {
  observer_(script_->reference_use);
  script_->on_reference();
  observer_(ReferenceUse::kNone);
  script_->on_call(configuration);
  if (loaded_.empty()) return NoKernelLoaded();
  absl::Status legal = CheckConfiguration(loaded_.back().spec, configuration);
  if (!legal.ok()) return legal;
  prepared_.push_back(configuration);
  checked_at_[configuration] = correctness_problems;
  if (auto it = script_->prepare_errors.find(configuration);
      it != script_->prepare_errors.end()) {
    return it->second;
  }
  return Candidate{.configuration = configuration,
                   .tiles_per_wave = script_->facts.multiprocessors};
}

absl::StatusOr<LaunchTimes> FakeDevice::Measure(
    const Configuration& configuration, const Problem& problem, int warmup,
    int launches) {
  script_->on_call(configuration);
  if (loaded_.empty()) return NoKernelLoaded();
  absl::Status legal =
      CheckLaunch(loaded_.back().spec, configuration, problem, launches);
  if (!legal.ok()) return legal;
  measured_.push_back(configuration);
  if (auto it = script_->measure_errors.find(configuration);
      it != script_->measure_errors.end()) {
    return it->second;
  }
  LaunchTimes times{.launches_per_timing = script_->launches_per_timing};
  for (int i = 0; i < warmup; ++i) {
    times.warmup_us += script_->latency_us(configuration, problem, launches_++);
  }
  for (int i = 0; i < launches; ++i) {
    times.launch_us.push_back(
        script_->latency_us(configuration, problem, launches_++));
  }
  script_->on_times(static_cast<int>(measured_.size()) - 1, times);
  return times;
}

absl::StatusOr<LaunchTimes> FakeDevice::MeasureVendorBaseline(
    const std::string& library, const Problem& problem, int warmup,
    int launches) {
  const auto it = script_->peer_us.find(library);
  if (it == script_->peer_us.end()) {
    return Device::MeasureVendorBaseline(library, problem, warmup, launches);
  }
  return LaunchTimes{.launch_us = std::vector<double>(
                         static_cast<size_t>(launches), it->second),
                     .warmup_us = warmup * it->second};
}

absl::StatusOr<std::unique_ptr<Device>> FakeBackend::Open(
    const std::string& device_uuid, const std::string& /*cache_dir*/) {
  if (device_uuid != script_->facts.uuid) {
    return absl::NotFoundError(absl::StrCat("no device ", device_uuid));
  }
  return std::make_unique<FakeDevice>(script_);
}

absl::StatusOr<DeviceState> FakeBackend::ReadTelemetry(
    const std::string& device_uuid) {
  if (device_uuid == script_->facts.uuid) return script_->state;
  return absl::NotFoundError(absl::StrCat("no device ", device_uuid));
}

}  // namespace wavetune
