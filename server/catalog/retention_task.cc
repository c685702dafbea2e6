#include "server/catalog/retention_task.h"

#include <limits>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

constexpr int64_t kUsBetweenRuns = int64_t{86400} * 1'000'000;

}  // namespace

absl::StatusOr<RetentionPlan> RetentionTask::Plan() {
  RetentionView view;
  const std::shared_ptr<const TableSnapshot> snapshot =
      options_.tables->snapshot();
  for (const ServingTable& table : snapshot->tables)
    view.serving.push_back(table.record);
  for (const ServingTable& table : snapshot->withdrawn)
    view.withdrawn.push_back(table.record);
  view.pins = snapshot->pins;
  ASSIGN_OR_RETURN(TableStore::Inventory inventory,
                   options_.table_store->TakeInventory());
  view.history = std::move(inventory.history);
  view.payloads = std::move(inventory.payloads);
  view.rejected = std::move(inventory.rejected);
  for (const AgentDirectory::Known& known : options_.devices->List()) {
    view.devices.push_back(known.record);
    if (known.attached) view.attached.insert(known.record.facts.uuid);
  }
  ASSIGN_OR_RETURN(view.samples, options_.samples->Keys());
  std::set<std::string> kernels;
  for (const TableRecord& table : view.serving)
    kernels.insert(table.key.kernel);
  for (const StoredKey& stored : view.samples)
    kernels.insert(stored.key.kernel);
  for (const std::string& kernel : kernels) {
    for (const DeviceRecord& device : view.devices) {
      const auto now = options_.kernels->Fingerprint(kernel, device.facts);
      if (now.ok()) view.fingerprints[{kernel, device.facts.uuid}] = *now;
    }
  }
  ASSIGN_OR_RETURN(view.jobs,
                   options_.jobs->List(std::numeric_limits<int>::max()));
  return PlanRetention(view, options_.limits, options_.clock->NowUs());
}

std::vector<std::string> RetentionTask::Lines() {
  const absl::StatusOr<RetentionPlan> plan = Plan();
  if (plan.ok()) return plan->lines;
  return {absl::StrCat("cannot say what it would forget: ",
                       plan.status().message())};
}

absl::Status RetentionTask::Run() {
  std::lock_guard lock(mutex_);
  last_run_us_ = options_.clock->NowUs();
  ASSIGN_OR_RETURN(const RetentionPlan plan, Plan());
  for (const std::string& line : plan.lines)
    options_.log(absl::StrCat("the daily look ", line));
  return Do(plan);
}

absl::Status RetentionTask::Do(const RetentionPlan& plan) {
  for (const RetentionPlan::OldTable& old : plan.classes) {
    absl::Status retired =
        options_.tables->Retire(old.table.key, kDaemonUser, old.why);
    // Somebody was faster.
    if (!retired.ok() && !absl::IsNotFound(retired)) return retired;
  }
  RETURN_IF_ERROR(options_.table_store->Forget(plan.payloads).status());
  for (const ProfileKey& key : plan.samples) {
    RETURN_IF_ERROR(options_.samples->Forget(key));
  }
  for (const std::string& uuid : plan.devices) options_.devices->Forget(uuid);
  return options_.jobs->Delete(plan.jobs);
}

void RetentionTask::RunDaily() {
  {
    std::lock_guard lock(mutex_);
    const int64_t now_us = options_.clock->NowUs();
    // A clock that was set back must not put it off for years.
    if (last_run_us_ != 0 && now_us >= last_run_us_ &&
        now_us - last_run_us_ < kUsBetweenRuns) {
      return;
    }
  }
  if (const absl::Status status = Run(); !status.ok()) {
    options_.log(absl::StrCat("old entries of the store stay for a day more: ",
                              status.message()));
  }
}

}  // namespace wavetune
