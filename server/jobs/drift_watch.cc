#include "server/jobs/drift_watch.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "model/kernel/key_difference.h"
#include "server/catalog/table_staleness.h"
#include "server/jobs/carry_over.h"

namespace wavetune {
namespace {

constexpr std::chrono::minutes kFirstRetry{10};
constexpr int kMostRetryDoublings = 7;  // 21 hours.
// Kernels times classes of devices that came and went.
constexpr size_t kMostAttempts = 4096;

}  // namespace

void DriftWatch::Look() {
  if (attempts_.size() > kMostAttempts) attempts_.clear();
  for (const DeviceFacts& device : Classes()) LookAt(device);
}

bool DriftWatch::WillJudge(const TableRecord& table) {
  for (const DeviceFacts& device : Classes()) {
    if (SiliconKey(device) != table.key.silicon_key) continue;
    const auto judged = Judged(table.key.kernel, device);
    if (judged && judged->serving && judged->serving->digest == table.digest)
      return true;
  }
  return false;
}

std::vector<DeviceFacts> DriftWatch::Classes() {
  std::vector<DeviceFacts> devices;
  std::set<std::pair<std::string, std::string>> classes;
  for (const std::string& uuid : options_.executors->Attached()) {
    const auto executor = options_.executors->Find(uuid, 0);
    if (executor == nullptr) continue;
    DeviceFacts device = executor->device();
    if (classes.emplace(SiliconKey(device), EnvironmentKey(device)).second)
      devices.push_back(std::move(device));
  }
  return devices;
}

std::optional<DriftWatch::ToJudge> DriftWatch::Judged(
    const std::string& kernel, const DeviceFacts& device) {
  const auto fingerprint = options_.kernels->Fingerprint(kernel, device);
  if (!fingerprint.ok()) return std::nullopt;
  ToJudge judged{.key = {kernel, *fingerprint, SiliconKey(device),
                         EnvironmentKey(device)}};
  const std::optional<ServingTable> serving =
      options_.tables->Incumbent(judged.key);
  if (serving && IsToBeJudged(serving->record, judged.key, device))
    judged.serving = serving->record;
  return judged;
}

void DriftWatch::LookAt(const DeviceFacts& device) {
  std::set<std::string> kernels;
  for (const auto current = options_.tables->snapshot();
       const ServingTable& table : current->tables) {
    if (table.record.key.silicon_key == SiliconKey(device)) {
      kernels.insert(table.record.key.kernel);
    }
  }
  for (const std::string& kernel : kernels) {
    const auto judged = Judged(kernel, device);
    if (!judged) continue;
    if (judged->serving) {
      Attempt(judged->key, *judged->serving, device);
    } else {
      attempts_.erase(judged->key);
    }
  }
}

void DriftWatch::Attempt(const ProfileKey& key, const TableRecord& serving,
                         const DeviceFacts& device) {
  Attempts& attempts = attempts_[key];
  const Clock::Duration now = options_.clock->SteadyNow();
  if ((attempts.made > 0 && now < attempts.next) ||
      options_.jobs->IsProfiling(key.kernel, device.uuid)) {
    return;
  }
  attempts.next = now + kFirstRetry * (1 << attempts.made);
  attempts.made = std::min(attempts.made + 1, kMostRetryDoublings);
  Queue(key, serving, device);
}

bool DriftWatch::IsToBeJudged(const TableRecord& serving, const ProfileKey& key,
                              const DeviceFacts& device) {
  // An operator's choice holds for where it was made.
  const bool chosen_here = serving.how == PromotionKind::kRolledBack &&
                           serving.IsFor(key.environment_key);
  if (chosen_here || serving.unverified ||
      options_.tables->snapshot()->PinOf(key.kernel, key.silicon_key)) {
    return false;
  }
  if (StaysWithAttached(*options_.executors, serving, key.environment_key)) {
    return false;
  }
  if (serving.key.fingerprint == key.fingerprint) {
    return !serving.IsFor(key.environment_key);
  }
  const auto spec = options_.kernels->Spec(key.kernel);
  return spec.ok() &&
         DiffersByCompilerAlone(serving, **spec, device, *options_.kernels);
}

void DriftWatch::Queue(const ProfileKey& key, const TableRecord& serving,
                       const DeviceFacts& device) {
  ReprofileRequest request{.kernel = key.kernel,
                           .silicon_key = key.silicon_key,
                           .environment_key = key.environment_key};
  request.reason = absl::StrCat(
      "automatic: table ", ShortDigest(serving.digest),
      " is stale: ", StaleReason(serving, device, *options_.kernels));
  request.options.drift_probe = true;
  request.fingerprint = key.fingerprint;
  const auto jobs = options_.jobs->Reprofile(request);
  if (!jobs.ok()) {
    options_.warn(absl::StrCat("the stale table of kernel ", key.kernel,
                               " is not judged: ", jobs.status().message()));
  }
}

}  // namespace wavetune
