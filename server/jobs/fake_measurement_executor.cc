#include "server/jobs/fake_measurement_executor.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/device_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {

LatencyFunction SyntheticLatency(const KernelSpec* spec,
                                 int64_t tiles_per_wave) {
  return [spec, tiles_per_wave](const Configuration& configuration,
                                const Problem& problem) {
    const Coordinates at = MapProblem(spec->MappingOf(problem.specialisation),
                                      problem.View(), configuration);
    double area = 1;
    double micro = 0;
    for (int i = 0; i < configuration.size(); ++i) {
      const auto value = static_cast<double>(configuration[i]);
      if (spec->parameters[static_cast<size_t>(i)].role ==
          ParameterRole::kMacro) {
        area *= value;
      } else {
        micro += value;
      }
    }
    const double iteration_us =
        0.01 * std::pow(area, 0.8) * (1 + 0.02 * std::fmod(micro, 5));
    const auto waves = static_cast<double>(Waves(at.tiles, tiles_per_wave));
    return 3 + waves * (1 + at.iterations * iteration_us);
  };
}

FakeMeasurementExecutor::FakeMeasurementExecutor(Options options)
    : options_(std::move(options)), facts_(options_.facts) {}

DeviceFacts FakeMeasurementExecutor::device() const {
  std::lock_guard lock(mutex_);
  return facts_;
}

absl::Status FakeMeasurementExecutor::BeforeReport(IfBusy if_busy) {
  std::function<void()> hook;
  {
    std::lock_guard lock(mutex_);
    hook = hook_;
  }
  if (hook) hook();
  std::lock_guard lock(mutex_);
  if (reports_left_ == 0) return absl::UnavailableError("the agent is gone");
  if (cancelled_) return absl::CancelledError("batch cancelled");
  if (if_busy == IfBusy::kYield && !busy_.empty()) {
    return absl::ResourceExhaustedError(busy_);
  }
  if (!hot_.empty()) return absl::ResourceExhaustedError(hot_);
  if (reports_left_ > 0) --reports_left_;
  return absl::OkStatus();
}

absl::Status FakeMeasurementExecutor::Prepare(
    const KernelFiles&, const std::string&,
    const std::vector<Configuration>& configurations,
    const std::vector<Problem>&, IfBusy if_busy,
    const CandidateCallback& on_candidate) {
  {
    std::lock_guard lock(mutex_);
    cancelled_ = false;
  }
  for (const Configuration& configuration : configurations) {
    RETURN_IF_ERROR(BeforeReport(if_busy));
    Preparation prepared{
        .candidate = {.configuration = configuration,
                      .tiles_per_wave = options_.tiles_per_wave}};
    {
      std::lock_guard lock(mutex_);
      const auto it = refused_.find(configuration);
      if (it != refused_.end()) {
        prepared.candidate.excluded_reason = it->second;
      }
      const auto exhausted = exhausted_.find(configuration);
      if (exhausted != exhausted_.end()) {
        prepared.candidate.excluded_reason = exhausted->second;
        prepared.environment = true;
      }
      const int check = ++checks_[configuration];
      const auto wrong = wrong_from_.find(configuration);
      if (wrong != wrong_from_.end() && check >= wrong->second) {
        prepared.candidate.excluded_reason = "wrong result: error 0.5";
      }
    }
    prepared_.fetch_add(1);
    if (!on_candidate(prepared)) return absl::CancelledError("by callback");
  }
  return absl::OkStatus();
}

absl::Status FakeMeasurementExecutor::Measure(
    const KernelFiles&, const std::vector<MeasureItem>& items, IfBusy if_busy,
    const OutcomeCallback& on_outcome) {
  {
    std::lock_guard lock(mutex_);
    cancelled_ = false;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    RETURN_IF_ERROR(BeforeReport(if_busy));
    bool crashes = false;
    std::string failure;
    {
      std::lock_guard lock(mutex_);
      crashes = crashing_.contains(items[i].configuration) ||
                crashing_at_.contains(items[i].problem);
      const auto failing = failing_.find(items[i].problem);
      if (failing != failing_.end()) failure = failing->second;
      items_.push_back(items[i]);
    }
    Outcome outcome{.index = i};
    Sample sample{.configuration = items[i].configuration,
                  .problem = items[i].problem};
    if (crashes) {
      outcome.failure = "the worker crashed (signal 11)";
      outcome.exclude = true;
    } else if (!failure.empty()) {
      outcome.failure = failure;
    } else {
      sample.latency_us =
          items[i].vendor_baseline.empty()
              ? options_.latency_us(items[i].configuration, items[i].problem)
              : options_.peer_us;
      MakeSlower(sample);
      sample.min_us = sample.latency_us;
      sample.launches = 10;
      sample.relative_spread = 0.005;
      sample.device_time_us = 10 * sample.latency_us;
      AddThrottling(sample);
      outcome.sample = &sample;
      measured_.fetch_add(1);
    }
    if (!on_outcome(outcome)) return absl::CancelledError("by callback");
  }
  return absl::OkStatus();
}

void FakeMeasurementExecutor::AddThrottling(Sample& sample) const {
  std::lock_guard lock(mutex_);
  if (throttle_reasons_ == 0) return;
  sample.throttle_reasons = throttle_reasons_;
  sample.suspect = sample.throttled = true;
}

void FakeMeasurementExecutor::MakeSlower(Sample& sample) const {
  std::lock_guard lock(mutex_);
  sample.latency_us *= slower_;
}

void FakeMeasurementExecutor::SetSlower(double factor) {
  std::lock_guard lock(mutex_);
  slower_ = factor;
}

void FakeMeasurementExecutor::SetHot(const std::string& reason) {
  std::lock_guard lock(mutex_);
  hot_ = reason;
}

std::string FakeMeasurementExecutor::WhyHot() {
  std::lock_guard lock(mutex_);
  return hot_;
}

void FakeMeasurementExecutor::SetBusy(const std::string& reason) {
  std::lock_guard lock(mutex_);
  busy_ = reason;
}

void FakeMeasurementExecutor::OnAwaitIdle(std::function<void(bool)> hook) {
  std::lock_guard lock(mutex_);
  idle_hook_ = std::move(hook);
}

std::string FakeMeasurementExecutor::AwaitIdle(double /*timeout_s*/) {
  std::function<void(bool)> hook;
  bool busy = false;
  {
    std::lock_guard lock(mutex_);
    hook = idle_hook_;
    busy = !busy_.empty();
  }
  if (hook) hook(busy);
  std::lock_guard lock(mutex_);
  return busy_;
}

void FakeMeasurementExecutor::Throttle(uint32_t reasons) {
  std::lock_guard lock(mutex_);
  throttle_reasons_ = reasons;
}

void FakeMeasurementExecutor::AcknowledgeStored(int64_t count) {
  acknowledged_.store(count);
}

void FakeMeasurementExecutor::CancelBatch() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  cancels_.fetch_add(1);
}

void FakeMeasurementExecutor::SetFacts(DeviceFacts facts) {
  std::lock_guard lock(mutex_);
  facts_ = std::move(facts);
}

void FakeMeasurementExecutor::Refuse(const Configuration& configuration,
                                     const std::string& reason) {
  std::lock_guard lock(mutex_);
  refused_[configuration] = reason;
}

void FakeMeasurementExecutor::Exhaust(const Configuration& configuration,
                                      const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (reason.empty()) {
    exhausted_.erase(configuration);
  } else {
    exhausted_[configuration] = reason;
  }
}

void FakeMeasurementExecutor::CrashAt(const Problem& problem) {
  std::lock_guard lock(mutex_);
  crashing_at_.insert(problem);
}

void FakeMeasurementExecutor::ComputeWrong(const Configuration& configuration,
                                           int from_check) {
  std::lock_guard lock(mutex_);
  wrong_from_[configuration] = from_check;
}

void FakeMeasurementExecutor::CrashOn(const Configuration& configuration) {
  std::lock_guard lock(mutex_);
  crashing_[configuration] = true;
}

void FakeMeasurementExecutor::FailAt(const Problem& problem,
                                     const std::string& reason) {
  std::lock_guard lock(mutex_);
  failing_[problem] = reason;
}

void FakeMeasurementExecutor::LoseAfter(int64_t reports) {
  std::lock_guard lock(mutex_);
  reports_left_ = reports;
}

void FakeMeasurementExecutor::Restore() { LoseAfter(-1); }

void FakeMeasurementExecutor::OnReport(std::function<void()> hook) {
  std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

std::vector<MeasureItem> FakeMeasurementExecutor::items() const {
  std::lock_guard lock(mutex_);
  return items_;
}

MeasurementExecutor* FakeExecutorDirectory::Lookup(
    const std::string& device_uuid) {
  std::lock_guard lock(mutex_);
  const auto it = attached_.find(device_uuid);
  return it == attached_.end() ? nullptr : it->second;
}

std::shared_ptr<MeasurementExecutor> FakeExecutorDirectory::Find(
    const std::string& device_uuid, double timeout_s) {
  MeasurementExecutor* executor = Lookup(device_uuid);
  if (executor == nullptr && timeout_s > 0) {
    std::function<void()> hook;
    {
      std::lock_guard lock(mutex_);
      hook = hook_;
    }
    if (hook) hook();
    executor = Lookup(device_uuid);
  }
  if (executor == nullptr) return nullptr;
  return {executor, [](MeasurementExecutor*) {}};
}

std::vector<std::string> FakeExecutorDirectory::Attached() {
  std::lock_guard lock(mutex_);
  std::vector<std::string> uuids;
  for (const auto& [uuid, executor] : attached_) uuids.push_back(uuid);
  return uuids;
}

std::string FakeExecutorDirectory::WhyUnusable(const std::string&) {
  std::lock_guard lock(mutex_);
  return why_;
}

void FakeExecutorDirectory::Explain(const std::string& why) {
  std::lock_guard lock(mutex_);
  why_ = why;
}

void FakeExecutorDirectory::Attach(MeasurementExecutor* executor) {
  const std::string uuid = executor->device().uuid;
  std::lock_guard lock(mutex_);
  attached_[uuid] = executor;
}

void FakeExecutorDirectory::Detach(const std::string& device_uuid) {
  std::lock_guard lock(mutex_);
  attached_.erase(device_uuid);
}

void FakeExecutorDirectory::OnWait(std::function<void()> hook) {
  std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

void FakeKernelCatalog::Add(const KernelSpec& spec,
                            const std::string& version) {
  std::lock_guard lock(mutex_);
  kernels_[spec.name] = {std::make_shared<const KernelSpec>(spec), version};
  ++revision_;
}

absl::StatusOr<std::shared_ptr<const TunableKernel>> FakeKernelCatalog::Get(
    const std::string& name, const DeviceFacts& device) {
  std::lock_guard lock(mutex_);
  const auto it = kernels_.find(name);
  if (it == kernels_.end()) {
    return absl::NotFoundError(absl::StrCat("no kernel \"", name, "\""));
  }
  auto kernel = std::make_shared<TunableKernel>();
  ASSIGN_OR_RETURN(kernel->spec, SpecForDevice(*it->second.spec, device));
  kernel->not_meant_for_device = CountNotMeantFor(*it->second.spec, device);
  kernel->files.name = name;
  kernel->files.fingerprint = Sha256Hex(
      absl::StrCat(name, " ", it->second.version, " ",
                   ImplementationFor(*it->second.spec, device).compiler));
  return kernel;
}

absl::StatusOr<std::shared_ptr<const KernelSpec>> FakeKernelCatalog::Spec(
    const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto it = kernels_.find(name);
  if (it == kernels_.end()) {
    return absl::NotFoundError(absl::StrCat("no kernel \"", name, "\""));
  }
  return it->second.spec;
}

absl::StatusOr<std::string> FakeKernelCatalog::Fingerprint(
    const std::string& name, const DeviceFacts& device) {
  std::lock_guard lock(mutex_);
  const auto it = kernels_.find(name);
  if (it == kernels_.end()) {
    return absl::NotFoundError(absl::StrCat("no kernel \"", name, "\""));
  }
  return Sha256Hex(
      absl::StrCat(name, " ", it->second.version, " ",
                   ImplementationFor(*it->second.spec, device).compiler));
}

std::vector<std::string> FakeKernelCatalog::Names() {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, entry] : kernels_) names.push_back(name);
  return names;
}

void FakeKernelCatalog::Reload() {
  std::lock_guard lock(mutex_);
  ++reloads_;
  for (auto& [name, entry] : kernels_) {
    if (std::exchange(entry.edited, false)) entry.version += " edited";
  }
  ++revision_;
}

void FakeKernelCatalog::EditOnReload(const std::string& name) {
  std::lock_guard lock(mutex_);
  kernels_[name].edited = true;
}

int FakeKernelCatalog::reloads() {
  std::lock_guard lock(mutex_);
  return reloads_;
}

}  // namespace wavetune
