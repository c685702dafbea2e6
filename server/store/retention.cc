#include "server/store/retention.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
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
bool HasADevice(const RetentionView& view, const TableRecord& table) {
  return std::any_of(view.devices.begin(), view.devices.end(),
                     [&](const DeviceRecord& device) {
                       return SiliconKey(device.facts) ==
                                  table.key.silicon_key &&
                              table.IsFor(EnvironmentKey(device.facts));
                     });
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

void PlanClasses(const RetentionView& view, const RetentionLimits& limits,
                 int64_t now_us, RetentionPlan& plan) {
  for (const TableRecord& table : view.serving) {
    const TableRecord* const newer = NewerBeside(view, table);
    if (newer == nullptr || IsPinned(view, table) || HasADevice(view, table) ||
        !IsOver(limits.classes_days, newer->promoted_at_us, now_us)) {
      continue;
    }
    plan.classes.push_back(table);
    plan.lines.push_back(absl::StrCat(
        "retires table ", table.digest.substr(0, 16), " of kernel ",
        table.key.kernel, ": no device has ", table.key.environment_key,
        ", and another has served on its silicon for ",
        DaysText(newer->promoted_at_us, now_us)));
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
        "forgets table ", table.digest.substr(0, 16), " of kernel ",
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
  PlanJobs(known, limits, now_us, plan);
  return plan;
}

}  // namespace wavetune
