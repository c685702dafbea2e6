#include "server/agents/agent_directory.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "server/agents/agent_limits.h"

namespace wavetune {
namespace {

// Five heartbeats.
constexpr double kNoticeableSilenceS = 10;

absl::Status CheckDevices(
    const std::vector<std::shared_ptr<AgentDevice>>& devices) {
  std::set<std::string> uuids;
  for (const std::shared_ptr<AgentDevice>& device : devices) {
    const std::string uuid = device->device().uuid;
    if (uuid.empty()) {
      return absl::InvalidArgumentError("a device of the agent has no UUID");
    }
    if (!uuids.insert(uuid).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the agent names device ", uuid, " twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

AgentDirectory::AgentDirectory(DeviceStore* store, Clock* clock, Later later)
    : store_(store), clock_(clock), later_(std::move(later)) {}

absl::Status AgentDirectory::Load() {
  ASSIGN_OR_RETURN(const std::vector<DeviceRecord> records, store_->List());
  std::lock_guard lock(mutex_);
  for (const DeviceRecord& record : records) seen_[record.facts.uuid] = record;
  ++revision_;
  for (const std::string& uuid : ForgetOldest()) {
    store_->Delete(uuid).IgnoreError();  // The next start tries again.
  }
  return absl::OkStatus();
}

absl::Status AgentDirectory::CheckFree(
    const std::vector<std::shared_ptr<AgentDevice>>& devices) const {
  RETURN_IF_ERROR(CheckDevices(devices));
  for (const std::shared_ptr<AgentDevice>& device : devices) {
    const auto it = attached_.find(device->device().uuid);
    if (it == attached_.end() || it->second->EndIfSilent()) continue;
    return absl::AlreadyExistsError(absl::StrCat(
        "device ", it->first, " is held by another agent, ",
        it->second->agent_name(),
        " (host:process id): stop that one, or start this one with other "
        "--backends"));
  }
  const auto others = static_cast<size_t>(
      std::count_if(devices.begin(), devices.end(), [&](const auto& device) {
        return !attached_.contains(device->device().uuid);
      }));
  if (attached_.size() + others > kMaxAttachedDevices) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the agent has ", devices.size(), " devices and ", attached_.size(),
        " are attached: a daemon takes ", kMaxAttachedDevices));
  }
  return absl::OkStatus();
}

absl::Status AgentDirectory::Check(
    const std::vector<std::shared_ptr<AgentDevice>>& devices) {
  std::lock_guard lock(mutex_);
  return CheckFree(devices);
}

absl::Status AgentDirectory::Attach(
    const std::vector<std::shared_ptr<AgentDevice>>& devices) {
  {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(CheckFree(devices));
    for (const std::shared_ptr<AgentDevice>& device : devices) {
      attached_[device->device().uuid] = device;
    }
    ++revision_;
  }
  for (const std::shared_ptr<AgentDevice>& device : devices) {
    on_change_({.kind = Change::Kind::kAttached, .device = device->device()});
  }
  See(devices);
  changed_.notify_all();
  return absl::OkStatus();
}

std::vector<std::string> AgentDirectory::ForgetOldest() {
  std::vector<std::string> forgotten;
  while (seen_.size() > kMaxSeenDevices) {
    auto oldest = seen_.end();
    for (auto it = seen_.begin(); it != seen_.end(); ++it) {
      if (attached_.contains(it->first)) continue;
      if (oldest == seen_.end() ||
          it->second.last_seen_us < oldest->second.last_seen_us) {
        oldest = it;
      }
    }
    if (oldest == seen_.end()) break;
    forgotten.push_back(oldest->first);
    standings_.erase(oldest->first);
    seen_.erase(oldest);
  }
  return forgotten;
}

void AgentDirectory::Detach(
    const std::vector<std::shared_ptr<AgentDevice>>& devices) {
  std::vector<DeviceFacts> gone;
  {
    std::lock_guard lock(mutex_);
    for (const std::shared_ptr<AgentDevice>& device : devices) {
      const auto it = attached_.find(device->device().uuid);
      if (it == attached_.end() || it->second != device) continue;
      attached_.erase(it);
      gone.push_back(device->device());
      // Its next agent says anew whether it can be used.
      standings_[device->device().uuid].lost.clear();
    }
    ++revision_;
  }
  See(devices);
  for (const DeviceFacts& device : gone) {
    on_change_({.kind = Change::Kind::kDetached, .device = device});
  }
}

void AgentDirectory::See(
    const std::vector<std::shared_ptr<AgentDevice>>& devices) {
  for (const std::shared_ptr<AgentDevice>& device : devices) {
    const DeviceRecord record{device->device(), clock_->NowUs()};
    std::vector<std::string> forgotten;
    std::string before;
    {
      std::lock_guard lock(mutex_);
      const auto known = seen_.find(record.facts.uuid);
      if (known != seen_.end()) before = EnvironmentKey(known->second.facts);
      seen_[record.facts.uuid] = record;
      forgotten = ForgetOldest();
      ++revision_;
    }
    if (!before.empty() && before != EnvironmentKey(record.facts)) {
      on_change_({.kind = Change::Kind::kEnvironmentChanged,
                  .device = record.facts,
                  .environment_before = before});
    }
    for (const std::string& uuid : forgotten) {
      LogOfKind(
          LogLevel::kWarning, "agent", "forgotten",
          absl::StrCat("device ", uuid, ", seen longest ago, is forgotten: ",
                       kMaxSeenDevices, " are kept"));
      StoreLater(uuid);
    }
    StoreLater(record.facts.uuid);
  }
}

void AgentDirectory::StoreLater(const std::string& uuid) {
  {
    std::lock_guard lock(mutex_);
    if (!pending_.insert(uuid).second) return;
  }
  const auto store = [this, uuid] {
    std::optional<DeviceRecord> record;
    {
      std::lock_guard lock(mutex_);
      pending_.erase(uuid);  // What is seen from now on is another write.
      const auto seen = seen_.find(uuid);
      if (seen != seen_.end()) record = seen->second;
    }
    if (record) {
      Store(*record);
    } else {
      store_->Delete(uuid).IgnoreError();  // The next start tries again.
    }
  };
  if (later_) {
    later_(store);
  } else {
    store();
  }
}

void AgentDirectory::Store(const DeviceRecord& record) {
  const absl::Status status = store_->Put(record);
  {
    std::lock_guard lock(mutex_);
    if (status.ok()) {
      unsaved_.erase(record.facts.uuid);
      return;
    }
    unsaved_.insert(record.facts.uuid);
  }
  LogOfKind(
      LogLevel::kWarning, "agent", absl::StrCat("store ", record.facts.uuid),
      absl::StrCat(
          "device ", record.facts.uuid,
          " is not on disk, and written when it can be: ", status.message()));
}

void AgentDirectory::SaveDevices() {
  std::vector<DeviceRecord> records;
  {
    std::lock_guard lock(mutex_);
    for (const std::string& uuid : unsaved_) {
      const auto seen = seen_.find(uuid);
      if (seen != seen_.end()) records.push_back(seen->second);
    }
  }
  for (const DeviceRecord& record : records) Store(record);
}

void AgentDirectory::See(const std::shared_ptr<AgentDevice>& device) {
  See(std::vector<std::shared_ptr<AgentDevice>>{device});
}

void AgentDirectory::SetHot(const std::string& device_uuid,
                            const std::string& why) {
  Note(device_uuid, &Standing::hot, Change::Kind::kHot, why);
}

void AgentDirectory::SetClassRatio(const std::string& device_uuid,
                                   const DeviceRatio& ratio) {
  Note(device_uuid, &Standing::unrated, Change::Kind::kUnrated,
       ratio.known()
           ? ""
           : absl::StrFormat(
                 "the last profile of its class could not compare it: %d "
                 "measurements in common were clean, %d are needed",
                 ratio.pairs, kLeastRatioPairs));
  if (!ratio.known()) return;
  {
    std::lock_guard lock(mutex_);
    if (!seen_.contains(device_uuid)) return;  // Forgotten.
    standings_[device_uuid].class_ratio = ratio.ratio;
  }
  Note(device_uuid, &Standing::slow, Change::Kind::kSlow,
       ratio.deviates()
           ? absl::StrFormat(
                 "its launches take %.3f times as long as those of its class, "
                 "over %d pairs",
                 ratio.ratio, ratio.pairs)
           : "");
}

void AgentDirectory::Note(const std::string& device_uuid,
                          std::string Standing::*standing, Change::Kind kind,
                          const std::string& why) {
  Change change{.kind = kind, .why = why};
  {
    std::lock_guard lock(mutex_);
    const auto seen = seen_.find(device_uuid);
    if (seen == seen_.end()) return;
    Standing& of_device = standings_[device_uuid];
    const bool was = !(of_device.*standing).empty();
    of_device.*standing = why;
    if (was == !why.empty()) return;
    if (why.empty()) change.kind = Change::Kind::kUsable;
    change.device = seen->second.facts;
  }
  on_change_(change);
}

void AgentDirectory::Forget(const std::string& device_uuid) {
  {
    std::lock_guard lock(mutex_);
    if (attached_.contains(device_uuid) || seen_.erase(device_uuid) == 0)
      return;
    unsaved_.erase(device_uuid);
    standings_.erase(device_uuid);
    ++revision_;
  }
  StoreLater(device_uuid);
}

void AgentDirectory::NoteProblem(const AgentDevice& device) {
  Note(device.device().uuid, &Standing::lost, Change::Kind::kLost,
       device.problem());
  changed_.notify_all();
}

void AgentDirectory::SetAgentProblems(const AgentDevice::Stream* stream,
                                      std::vector<std::string> problems) {
  std::lock_guard lock(mutex_);
  if (problems.empty()) {
    agent_problems_.erase(stream);
  } else {
    agent_problems_[stream] = std::move(problems);
  }
}

std::vector<std::string> AgentDirectory::AgentProblems() {
  std::lock_guard lock(mutex_);
  std::set<std::string> lines;
  for (const auto& [stream, problems] : agent_problems_) {
    lines.insert(problems.begin(), problems.end());
  }
  return {lines.begin(), lines.end()};
}

std::vector<AgentDirectory::Known> AgentDirectory::List() {
  std::lock_guard lock(mutex_);
  std::vector<Known> list;
  for (const auto& [uuid, record] : seen_) {
    Known known{.record = record};
    const auto it = attached_.find(uuid);
    if (it != attached_.end()) {
      known.attached = true;
      known.problem = it->second->problem();
      known.state = it->second->state();
      known.record.last_seen_us = clock_->NowUs();
      const double silent_s = it->second->silent_for_s();
      if (silent_s > kNoticeableSilenceS || it->second->silent()) {
        known.silent_s = silent_s;
        known.record.last_seen_us -= static_cast<int64_t>(silent_s * 1e6);
      }
    }
    if (const auto found = standings_.find(uuid); found != standings_.end()) {
      const Standing& standing = found->second;
      known.class_ratio = standing.class_ratio;
      known.left_out = !standing.hot.empty() ? standing.hot : standing.slow;
      known.unrated = standing.unrated;
    }
    list.push_back(std::move(known));
  }
  return list;
}

absl::StatusOr<DeviceFacts> AgentDirectory::Facts(
    const std::string& device_uuid) {
  std::lock_guard lock(mutex_);
  const auto it = seen_.find(device_uuid);
  if (it != seen_.end()) return it->second.facts;
  return absl::NotFoundError(absl::StrCat(
      "device \"", device_uuid, "\" is not known; ",
      seen_.empty()
          ? std::string("no agent was attached yet")
          : absl::StrCat("known: ",
                         absl::StrJoin(seen_, ", ",
                                       [](std::string* out, const auto& entry) {
                                         absl::StrAppend(
                                             out, entry.first, " (",
                                             entry.second.facts.label, ")");
                                       }))));
}

std::optional<DeviceFacts> AgentDirectory::ImpliedDevice() {
  std::vector<DeviceFacts> devices;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [uuid, device] : attached_) {
      devices.push_back(device->device());
    }
    if (attached_.empty()) {
      for (const auto& [uuid, record] : seen_) devices.push_back(record.facts);
    }
  }
  if (devices.empty()) return std::nullopt;
  for (const DeviceFacts& device : devices) {
    if (SiliconKey(device) != SiliconKey(devices.front()) ||
        EnvironmentKey(device) != EnvironmentKey(devices.front())) {
      return std::nullopt;
    }
  }
  return devices.front();
}

std::shared_ptr<AgentDevice> AgentDirectory::Usable(
    const std::string& device_uuid) const {
  const auto it = attached_.find(device_uuid);
  if (it == attached_.end() || !it->second->problem().empty()) return nullptr;
  // Not one that has hung: a batch for it would fail at once, again and again.
  if (it->second->EndIfSilent()) return nullptr;
  return it->second;
}

std::string AgentDirectory::WhyUnusable(const std::string& device_uuid) {
  std::lock_guard lock(mutex_);
  const auto it = attached_.find(device_uuid);
  if (it == attached_.end()) return "";
  if (it->second->silent()) {
    return absl::StrCat("agent ", it->second->agent_name(),
                        " has sent nothing for more than ",
                        it->second->heartbeat_timeout_s(),
                        " s (is it stopped, or its host overloaded?)");
  }
  return it->second->problem();
}

std::shared_ptr<MeasurementExecutor> AgentDirectory::Find(
    const std::string& device_uuid, double timeout_s) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(timeout_s),
                    [&] { return Usable(device_uuid) != nullptr; });
  return Usable(device_uuid);
}

std::vector<std::string> AgentDirectory::Attached() {
  std::lock_guard lock(mutex_);
  std::vector<std::string> uuids;
  for (const auto& [uuid, device] : attached_) {
    if (device->problem().empty() && !device->silent()) uuids.push_back(uuid);
  }
  return uuids;
}

std::vector<DeviceFacts> AttachedElseSeen(
    const std::vector<AgentDirectory::Known>& known,
    const std::function<bool(const DeviceFacts&)>& wanted) {
  std::vector<DeviceFacts> attached;
  std::vector<DeviceFacts> seen;
  for (const AgentDirectory::Known& device : known) {
    if (!wanted(device.record.facts)) continue;
    seen.push_back(device.record.facts);
    if (device.attached) attached.push_back(device.record.facts);
  }
  return attached.empty() ? seen : attached;
}

}  // namespace wavetune
