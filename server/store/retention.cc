#include "server/store/retention.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "model/kernel/device.h"

namespace wavetune {
namespace {

constexpr double kUsPerDay = 86400e6;

// Whether something that was last of use at `at_us` has been kept long enough.
// A time in the future, as of a clock that was set back, is none.
bool IsOver(double days, int64_t at_us, int64_t now_us) {
  return days > 0 && static_cast<double>(now_us - at_us) > days * kUsPerDay;
}

std::string DaysText(int64_t at_us, int64_t now_us) {
  return absl::StrCat(
      static_cast<int64_t>(static_cast<double>(now_us - at_us) / kUsPerDay),
      " days");
}

using KernelOnSilicon = std::pair<std::string, std::string>;

KernelOnSilicon PlaceOf(const TableRecord& table) {
  return {table.key.kernel, table.key.silicon_key};
}

bool IsPinned(const RetentionView& view, const TableRecord& table) {
  return std::any_of(
      view.pins.begin(), view.pins.end(), [&](const PinRecord& pin) {
        return PlaceOf(table) == KernelOnSilicon(pin.kernel, pin.silicon_key);
      });
}

// Returns the devices that may go.
std::vector<DeviceRecord> OldDevices(const RetentionView& view,
                                     const RetentionLimits& limits,
                                     int64_t now_us) {
  std::vector<DeviceRecord> old;
  for (const DeviceRecord& device : view.devices) {
    if (!view.attached.contains(device.facts.uuid) &&
        IsOver(limits.devices_days, device.last_seen_us, now_us))
      old.push_back(device);
  }
  return old;
}

// Whether a device that is known has the table's environment and silicon.
bool IsForDevice(const TableRecord& table, const DeviceRecord& device) {
  return SiliconKey(device.facts) == table.key.silicon_key &&
         table.IsFor(EnvironmentKey(device.facts));
}

// Returns the newest table that serves beside `table`; nullptr: none does.
const TableRecord* NewerBeside(const RetentionView& view,
                               const TableRecord& table) {
  const TableRecord* newest = nullptr;
  for (const TableRecord& other : view.serving) {
    if (PlaceOf(other) != PlaceOf(table) || other.epoch <= table.epoch ||
        other.unverified) {
      continue;
    }
    if (newest == nullptr || newest->epoch < other.epoch) newest = &other;
  }
  return newest;
}

// Returns the newest table that answers for the build of the kernel that a
// device has now, where `table` is of another build; nullptr: there is none, or
// nobody knows the build.
const TableRecord* ReplacementOn(const RetentionView& view,
                                 const TableRecord& table,
                                 const DeviceRecord& device) {
  const auto now =
      view.fingerprints.find({table.key.kernel, device.facts.uuid});
  if (now == view.fingerprints.end() || table.key.fingerprint == now->second) {
    return nullptr;
  }
  const TableRecord* newest = nullptr;
  for (const TableRecord& other : view.serving) {
    if (PlaceOf(other) != PlaceOf(table) || other.epoch <= table.epoch ||
        other.unverified || other.key.fingerprint != now->second ||
        !IsForDevice(other, device)) {
      continue;
    }
    if (newest == nullptr || newest->epoch < other.epoch) newest = &other;
  }
  return newest;
}

// Returns since when `table` has been superseded by `other`: since that one was
// promoted first. Going back to an older one and on again begins nothing anew;
// where `table` itself was gone back to, nothing before that counts.
int64_t SupersededSince(const RetentionView& view, const TableRecord& table,
                        const TableRecord& other) {
  int64_t first_us = other.promoted_at_us;
  for (const TableRecord& earlier : view.history) {
    if (earlier.digest == other.digest && earlier.key == other.key)
      first_us = std::min(first_us, earlier.promoted_at_us);
  }
  return std::max(first_us, table.promoted_at_us);
}

// What answers wherever a table might, since when, and why.
struct Successor {
  const TableRecord* table = nullptr;  // nullptr: the table is needed.
  int64_t since_us = 0;
  std::string why;
};

// Where several devices have the table's class, the one that came last.
Successor SuccessorOf(const RetentionView& view, const TableRecord& table) {
  Successor successor;
  for (const DeviceRecord& device : view.devices) {
    if (!IsForDevice(table, device)) continue;
    const TableRecord* const other = ReplacementOn(view, table, device);
    if (other == nullptr) return {};
    const int64_t since_us = SupersededSince(view, table, *other);
    if (successor.table == nullptr || successor.since_us < since_us) {
      successor = {other, since_us, "the kernel has another build now"};
    }
  }
  if (successor.table != nullptr) return successor;
  const TableRecord* const newer = NewerBeside(view, table);
  if (newer == nullptr) return {};
  return {newer, SupersededSince(view, table, *newer),
          absl::StrCat("no device has ", table.key.environment_key)};
}

void PlanClasses(const RetentionView& view, const RetentionLimits& limits,
                 int64_t now_us, RetentionPlan& plan) {
  for (const TableRecord& table : view.serving) {
    const Successor newer = SuccessorOf(view, table);
    if (newer.table == nullptr || IsPinned(view, table) ||
        !IsOver(limits.classes_days, newer.since_us, now_us)) {
      continue;
    }
    plan.classes.push_back({table, newer.why});
    plan.lines.push_back(
        absl::StrCat("retires table ", ShortDigest(table.digest), " of kernel ",
                     table.key.kernel, ": ", newer.why,
                     ", and another has served on its silicon for ",
                     DaysText(newer.since_us, now_us)));
  }
}

// Returns the digests that must stay.
std::set<std::string> DigestsToKeep(const RetentionView& view,
                                    size_t history_kept) {
  std::set<std::string> keep = view.rejected;
  for (const auto* records : {&view.serving, &view.withdrawn}) {
    for (const TableRecord& record : *records) keep.insert(record.digest);
  }
  for (const PinRecord& pin : view.pins) keep.insert(pin.digest);
  std::vector<TableRecord> newest_first = view.history;
  std::sort(newest_first.begin(), newest_first.end(),
            [](const TableRecord& a, const TableRecord& b) {
              return a.epoch > b.epoch;
            });
  // Of different tables, as a rollback chooses among these.
  std::map<KernelOnSilicon, std::set<std::string>> kept;
  for (const TableRecord& record : newest_first) {
    // Or one that was retired would be shipped anew.
    if (record.how == PromotionKind::kShipped) keep.insert(record.digest);
    std::set<std::string>& digests = kept[PlaceOf(record)];
    if (digests.size() < history_kept) digests.insert(record.digest);
  }
  for (const auto& [place, digests] : kept)
    keep.insert(digests.begin(), digests.end());
  return keep;
}

void PlanPayloads(const RetentionView& view, const RetentionLimits& limits,
                  int64_t now_us, RetentionPlan& plan) {
  const std::set<std::string> keep = DigestsToKeep(view, limits.history_kept);
  for (const TableRecord& table : view.payloads) {
    if (keep.contains(table.digest) ||
        !IsOver(limits.payloads_days, table.promoted_at_us, now_us)) {
      continue;
    }
    plan.payloads.push_back(table.digest);
    plan.lines.push_back(absl::StrCat(
        "forgets table ", ShortDigest(table.digest), " of kernel ",
        table.key.kernel, ", which was promoted ",
        DaysText(table.promoted_at_us, now_us), " ago and serves no longer"));
  }
}

void PlanJobs(const RetentionView& view, const RetentionLimits& limits,
              int64_t now_us, RetentionPlan& plan) {
  for (const JobRecord& job : view.jobs) {
    if (!job.finished() ||
        !IsOver(limits.jobs_days, job.finished_at_us, now_us)) {
      continue;
    }
    plan.jobs.push_back(job.id);
  }
  if (plan.jobs.empty()) return;
  plan.lines.push_back(absl::StrCat("forgets ", plan.jobs.size(),
                                    " jobs that ended more than ",
                                    limits.jobs_days, " days ago"));
}

// Whether samples of a key were measured for a table.
bool IsOf(const ProfileKey& key, const TableRecord& table) {
  return key.fingerprint == table.key.fingerprint &&
         KernelOnSilicon(key.kernel, key.silicon_key) == PlaceOf(table) &&
         table.IsFor(key.environment_key);
}

// Whether a profile on a device that is known would begin with a key's samples.
bool HasADevice(const RetentionView& view, const ProfileKey& key) {
  return std::any_of(
      view.devices.begin(), view.devices.end(),
      [&](const DeviceRecord& device) {
        if (!IsOfClass(device.facts, key)) return false;
        const auto now =
            view.fingerprints.find({key.kernel, device.facts.uuid});
        return now == view.fingerprints.end() || now->second == key.fingerprint;
      });
}

// Returns when a key was last of use: its newest sample, or the end of a job
// that excluded its candidates and measured none.
int64_t LastOfUse(const RetentionView& view, const StoredKey& stored) {
  int64_t last_us = stored.newest_us;
  for (const JobRecord& job : view.jobs) {
    if (job.key == stored.key) last_us = std::max(last_us, job.finished_at_us);
  }
  return last_us;
}

void PlanSamples(const RetentionView& view, const RetentionLimits& limits,
                 int64_t now_us, RetentionPlan& plan) {
  std::vector<TableRecord> tables = view.serving;
  tables.insert(tables.end(), view.withdrawn.begin(), view.withdrawn.end());
  const std::set<std::string> gone(plan.payloads.begin(), plan.payloads.end());
  for (const auto* records : {&view.history, &view.payloads}) {
    std::copy_if(
        records->begin(), records->end(), std::back_inserter(tables),
        [&](const TableRecord& t) { return !gone.contains(t.digest); });
  }
  for (const StoredKey& stored : view.samples) {
    const ProfileKey& key = stored.key;
    const bool needed =
        HasADevice(view, key) ||
        std::any_of(tables.begin(), tables.end(),
                    [&](const TableRecord& t) { return IsOf(key, t); }) ||
        std::any_of(view.jobs.begin(), view.jobs.end(),
                    [&](const JobRecord& job) {
                      return !job.finished() && job.key == key;
                    });
    if (needed) continue;
    const int64_t last_us = LastOfUse(view, stored);
    if (!IsOver(limits.samples_days, last_us, now_us)) continue;
    plan.samples.push_back(key);
    plan.lines.push_back(
        absl::StrCat("forgets ", stored.samples, " samples of kernel ",
                     key.kernel, " (fingerprint ",
                     key.fingerprint.substr(0, 12), ", ", key.environment_key,
                     "): no table is of them any more, and none was "
                     "measured for ",
                     DaysText(last_us, now_us)));
  }
}

}  // namespace

RetentionPlan PlanRetention(const RetentionView& view,
                            const RetentionLimits& limits, int64_t now_us) {
  RetentionPlan plan;
  RetentionView known = view;
  for (const DeviceRecord& device : OldDevices(view, limits, now_us)) {
    plan.devices.push_back(device.facts.uuid);
    plan.lines.push_back(absl::StrCat(
        "forgets device ", device.facts.uuid, " (", device.facts.label,
        "), last seen ", DaysText(device.last_seen_us, now_us), " ago"));
    std::erase(known.devices, device);
  }
  PlanClasses(known, limits, now_us, plan);
  PlanPayloads(known, limits, now_us, plan);
  PlanSamples(known, limits, now_us, plan);
  PlanJobs(known, limits, now_us, plan);
  return plan;
}

}  // namespace wavetune
