#include "server/usage/usage_top_ups.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "usage/usage_weights.h"

namespace wavetune {
namespace {

// What was uncertain must shrink by a tenth for a top-up to count as a
// help.
constexpr double kHelped = 0.9;
constexpr int32_t kMostDoublings = 5;

}  // namespace

UsageTopUps::UsageTopUps(Services services, Options options)
    : services_(std::move(services)), asked_(options), options_(options) {}

void UsageTopUps::SetOptions(const Options& options) {
  std::lock_guard lock(options_mutex_);
  asked_ = options;
}

bool UsageTopUps::enabled() const {
  std::lock_guard lock(options_mutex_);
  return asked_.enabled;
}

std::optional<JobRecord> UsageTopUps::Consider(const std::string& kernel,
                                               const std::string& silicon_key) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  // Somebody considers already; the next report is not far.
  if (!lock.owns_lock()) return std::nullopt;
  {
    std::lock_guard options_lock(options_mutex_);
    options_ = asked_;
  }
  if (!options_.enabled) return std::nullopt;
  const int64_t now_us = services_.clock->NowUs();
  const std::optional<UsageRecord> record =
      services_.ledger->FindCounts(kernel, silicon_key);
  const bool due = record && IsDue(*record, now_us);
  if (!IsDueForLong({kernel, silicon_key}, due, now_us)) return std::nullopt;
  const auto retry = retry_at_us_.find({kernel, silicon_key});
  if (retry != retry_at_us_.end() && now_us < retry->second) {
    return std::nullopt;
  }
  const std::optional<Target> target = TargetFor(*record);
  if (!target || services_.jobs->IsProfiling(kernel, target->device_uuid)) {
    return std::nullopt;
  }
  // Before the job: a daemon that dies in between must not queue two.
  services_.ledger->SetRefined(
      kernel, silicon_key,
      {.at_us = now_us,
       .uncertain_share = record->with_table.uncertain_share(),
       .in_vain = InVain(*record)});
  const absl::StatusOr<std::vector<JobRecord>> jobs = services_.jobs->Reprofile(
      {.kernel = kernel,
       .device_uuid = target->device_uuid,
       .reason = ReasonFor(*record),
       .options = {.budget_s = options_.budget_s, .top_up = true},
       .fingerprint = target->fingerprint});
  if (!jobs.ok() || jobs->empty()) {
    services_.ledger->SetRefined(kernel, silicon_key, record->refined);
    retry_at_us_[{kernel, silicon_key}] =
        now_us + static_cast<int64_t>(options_.retry_s * 1e6);
    services_.warn(
        absl::StrCat("a top-up of kernel ", kernel,
                     " could not be queued: ", jobs.status().message()));
    return std::nullopt;
  }
  retry_at_us_.erase({kernel, silicon_key});
  return jobs->front();
}

bool UsageTopUps::IsDueForLong(const Key& key, bool due, int64_t now_us) {
  if (!due) {
    due_since_us_.erase(key);
    return false;
  }
  // Records that the ledger no longer has are not reported to be over.
  if (due_since_us_.size() > 2 * UsageLedger::kMostRecords) {
    due_since_us_.clear();
  }
  if (retry_at_us_.size() > 2 * UsageLedger::kMostRecords) {
    retry_at_us_.clear();
  }
  const auto [since, first] = due_since_us_.emplace(key, now_us);
  // The clock may have been set back.
  if (now_us < since->second) since->second = now_us;
  return static_cast<double>(now_us - since->second) >=
         options_.due_for_s * 1e6;
}

bool UsageTopUps::IsDue(const UsageRecord& record, int64_t now_us) const {
  const UsageWeights& weights = record.with_table;
  if (weights.total() < options_.fewest_decisions ||
      weights.uncertain_share() <= options_.most_uncertain) {
    return false;
  }
  const double since_s =
      static_cast<double>(now_us - record.refined.at_us) * 1e-6;
  const double interval_s = options_.interval_s * (1 << InVain(record));
  // A clock that was set back far must not silence it for ever.
  return record.refined.at_us == 0 || since_s >= interval_s ||
         since_s < -options_.interval_s;
}

int32_t UsageTopUps::InVain(const UsageRecord& record) {
  const TopUp& last = record.refined;
  // A share of 0: none was queued yet, or before shares were noted.
  const bool helped =
      last.uncertain_share == 0 ||
      record.with_table.uncertain_share() <= kHelped * last.uncertain_share;
  return helped ? 0 : std::min(last.in_vain + 1, kMostDoublings);
}

std::optional<UsageTopUps::Target> UsageTopUps::TargetFor(
    const UsageRecord& record) const {
  const auto snapshot = services_.tables->snapshot();
  const auto serving = std::find_if(
      snapshot->tables.begin(), snapshot->tables.end(),
      [&](const ServingTable& t) { return t.record.digest == record.digest; });
  if (serving == snapshot->tables.end()) return std::nullopt;
  // Its samples are of another environment: a top-up would be a profile.
  if (!serving->record.carried_from.empty()) return std::nullopt;
  const ProfileKey& key = serving->record.key;
  for (const std::string& uuid : services_.executors->Attached()) {
    const auto executor = services_.executors->Find(uuid, 0);
    if (executor == nullptr) continue;
    const DeviceFacts facts = executor->device();
    if (!IsOfClass(facts, key)) continue;
    const auto kernel = services_.kernels->Get(key.kernel, facts);
    if (kernel.ok() && (*kernel)->files.fingerprint == key.fingerprint) {
      return Target{uuid, key.fingerprint};
    }
  }
  return std::nullopt;
}

std::string UsageTopUps::ReasonFor(const UsageRecord& record) const {
  const UsageWeights& weights = record.with_table;
  const double total = weights.total();
  return absl::StrFormat(
      "automatic: %.1f %% of some %.0f decisions with table %s were "
      "extrapolated (%.1f %%) or had a bound above %.0f %% (%.1f %%)",
      100 * weights.uncertain_share(), total, ShortDigest(record.digest),
      100 * weights.extrapolated / total, 100 * kWideBound,
      100 * weights.wide_bound / total);
}

}  // namespace wavetune
