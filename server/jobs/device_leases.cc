#include "server/jobs/device_leases.h"

#include <algorithm>
#include <chrono>

#include "base/status_macros.h"

namespace wavetune {
namespace {

// How often a job that waits looks whether it should.
constexpr std::chrono::milliseconds kLeasePoll{200};

}  // namespace

DeviceLease DeviceLeases::TakeFree(const std::shared_ptr<State>& state,
                                   const std::string& device_uuid,
                                   uint64_t job) {
  if (!state->holders.emplace(device_uuid, job).second) return nullptr;
  return {state.get(), [state, device_uuid](const void*) {
            std::lock_guard lock(state->mutex);
            state->holders.erase(device_uuid);
            state->returned.notify_all();
          }};
}

DeviceLease DeviceLeases::TryTake(const std::string& device_uuid,
                                  uint64_t job) {
  std::lock_guard lock(state_->mutex);
  const auto waiting = state_->waiting.find(device_uuid);
  if (waiting != state_->waiting.end() &&
      std::any_of(waiting->second.begin(), waiting->second.end(),
                  [&](uint64_t other) { return other != job; })) {
    return nullptr;
  }
  return TakeFree(state_, device_uuid, job);
}

absl::StatusOr<DeviceLease> DeviceLeases::Take(
    const std::string& device_uuid, uint64_t job,
    const std::function<absl::Status(uint64_t holder)>& go_on) {
  std::unique_lock lock(state_->mutex);
  state_->waiting[device_uuid].insert(job);
  absl::Status status;
  DeviceLease lease;
  while (status.ok()) {
    lease = TakeFree(state_, device_uuid, job);
    if (lease != nullptr) break;
    const uint64_t holder = state_->holders[device_uuid];
    lock.unlock();
    status = go_on(holder);
    lock.lock();
    if (!status.ok()) break;
    state_->returned.wait_for(lock, kLeasePoll, [&] {
      return !state_->holders.contains(device_uuid);
    });
  }
  std::set<uint64_t>& waiting = state_->waiting[device_uuid];
  waiting.erase(job);
  if (waiting.empty()) state_->waiting.erase(device_uuid);
  lock.unlock();
  RETURN_IF_ERROR(status);
  return lease;
}

uint64_t DeviceLeases::Holder(const std::string& device_uuid) const {
  std::lock_guard lock(state_->mutex);
  const auto it = state_->holders.find(device_uuid);
  return it == state_->holders.end() ? 0 : it->second;
}

}  // namespace wavetune
