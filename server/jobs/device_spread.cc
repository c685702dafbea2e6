#include "server/jobs/device_spread.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "server/jobs/device_leases.h"
#include "server/jobs/job_wait.h"

namespace wavetune {
namespace {

// How often devices that cannot go on are looked at again.
constexpr std::chrono::milliseconds kDevicePoll{200};
// Parts in a row of which a device did nothing before it is not asked again.
constexpr int kFruitlessParts = 3;

// Why a device cannot take a part now.
struct Obstacle {
  enum class Kind { kNone, kAway, kOut, kHot, kBusy, kTaken };
  Kind kind = Kind::kNone;
  std::string text;
};

Obstacle WhyNotNow(const JobServices& services, bool even_if_busy,
                   const std::string& uuid) {
  const auto executor = services.executors->Find(uuid, 0);
  if (executor == nullptr) {
    const std::string why = services.executors->WhyUnusable(uuid);
    return {Obstacle::Kind::kAway, why.empty() ? "has no agent" : why};
  }
  std::string hot = executor->WhyHot();
  if (!hot.empty()) return {Obstacle::Kind::kHot, std::move(hot)};
  std::string busy = even_if_busy ? "" : executor->AwaitIdle(0);
  if (!busy.empty()) return {Obstacle::Kind::kBusy, std::move(busy)};
  const uint64_t holder = services.leases->Holder(uuid);
  if (holder == 0) return {};
  return {Obstacle::Kind::kTaken, absl::StrCat("job ", holder, " uses it")};
}

class DeviceSpread {
 public:
  DeviceSpread(const JobServices& services, JobControl* control,
               const DeviceWork& work, std::vector<DeviceWork::Part> parts)
      : services_(services),
        control_(control),
        work_(work),
        job_id_(control->record().id),
        even_if_busy_(control->record().options.even_if_busy),
        parts_(std::make_move_iterator(parts.begin()),
               std::make_move_iterator(parts.end())) {}

  absl::Status Run();

 private:
  struct Device {
    std::thread thread;
    bool running = false;
    bool out = false;   // Not asked again.
    bool took = false;  // A part.
    int fruitless = 0;
    std::string why;  // Of the last part that failed.
  };
  using Obstacles = std::map<std::string, Obstacle>;

  // Starts every device that can take a part; returns what keeps the others.
  Obstacles StartDevices();
  // Adds what keeps DeviceWork::others. Returns whether one could be used.
  bool AddOthers(Obstacles& obstacles) const;
  void Start(const std::string& uuid);
  // Runs parts on a device until there are none, or it cannot go on.
  void Serve(const std::string& uuid);
  bool Take(const std::string& uuid, DeviceWork::Part* part);
  // Asks for more parts where none is left. Holds mutex_.
  void Refill();
  // Returns whether the device may take another part.
  bool Settle(const std::string& uuid, const DeviceWork::Part& part,
              const DeviceWork::Outcome& outcome);
  // Whether all has been done that will be.
  bool Done();
  // Says what the job waits for. Errors: it has waited for too long.
  absl::Status ShowWaiting(const Obstacles& obstacles, JobWait& wait);
  void Fail(const absl::Status& status);

  const JobServices& services_;
  JobControl* const control_;
  const DeviceWork& work_;
  const uint64_t job_id_;
  const bool even_if_busy_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<DeviceWork::Part> parts_;
  std::map<std::string, Device> devices_;
  int running_ = 0;
  // Devices that run and have no part, but will look for one: no more of them
  // are started than there are parts.
  size_t unoccupied_ = 0;
  int finished_ = 0;
  bool stopping_ = false;
  absl::Status failure_;
  // Of the wait that goes on: until then a device was busy, for which there is
  // no limit. Of the job's thread.
  double excused_s_ = 0;
};

DeviceSpread::Obstacles DeviceSpread::StartDevices() {
  Obstacles obstacles;
  for (const std::string& uuid : work_.devices()) {
    {
      std::lock_guard lock(mutex_);
      if (running_ > 0) Refill();
      const Device& device = devices_[uuid];
      if (stopping_ || parts_.size() <= unoccupied_) break;
      if (device.running || (work_.once && device.took)) continue;
      if (device.out) {
        obstacles[uuid] = {Obstacle::Kind::kOut, device.why};
        continue;
      }
    }
    Obstacle obstacle = WhyNotNow(services_, even_if_busy_, uuid);
    if (obstacle.kind == Obstacle::Kind::kNone) {
      Start(uuid);
    } else {
      obstacles[uuid] = std::move(obstacle);
    }
  }
  return obstacles;
}

bool DeviceSpread::AddOthers(Obstacles& obstacles) const {
  for (const std::string& uuid : work_.others()) {
    Obstacle obstacle = WhyNotNow(services_, even_if_busy_, uuid);
    if (obstacle.kind == Obstacle::Kind::kNone) return true;
    obstacles[uuid] = std::move(obstacle);
  }
  return false;
}

void DeviceSpread::Start(const std::string& uuid) {
  std::thread before;
  {
    std::lock_guard lock(mutex_);
    Device& device = devices_[uuid];
    before = std::move(device.thread);
    device.running = true;
    ++running_;
    ++unoccupied_;
  }
  if (before.joinable()) before.join();
  try {
    std::thread thread = services_.start_thread([this, uuid] { Serve(uuid); });
    std::lock_guard lock(mutex_);
    devices_[uuid].thread = std::move(thread);
  } catch (const std::system_error& error) {
    services_.warn(absl::StrCat("no thread for device ", uuid, " of job ",
                                job_id_, ": ", error.what()));
    Serve(uuid);  // On this one, then.
  }
}

void DeviceSpread::Serve(const std::string& uuid) {
  for (;;) {
    const DeviceLease lease = services_.leases->TryTake(uuid, job_id_);
    DeviceWork::Part part;
    if (lease == nullptr || !Take(uuid, &part)) break;
    const bool goes_on = Settle(uuid, part, work_.run(uuid, part));
    std::lock_guard lock(mutex_);
    ++unoccupied_;
    if (!goes_on) break;
  }
  std::lock_guard lock(mutex_);
  --unoccupied_;
  devices_[uuid].running = false;
  --running_;
  changed_.notify_all();
}

void DeviceSpread::Refill() {
  if (stopping_ || !parts_.empty() || work_.once) return;
  for (DeviceWork::Part& part : work_.more()) parts_.push_back(std::move(part));
}

bool DeviceSpread::Take(const std::string& uuid, DeviceWork::Part* part) {
  std::lock_guard lock(mutex_);
  Refill();
  Device& device = devices_[uuid];
  if (stopping_ || parts_.empty() || (work_.once && device.took)) return false;
  const auto next =
      parts_.begin() + static_cast<ptrdiff_t>(work_.choose(uuid, parts_));
  *part = std::move(*next);
  parts_.erase(next);
  --unoccupied_;
  device.took = true;
  return true;
}

bool DeviceSpread::Settle(const std::string& uuid, const DeviceWork::Part& part,
                          const DeviceWork::Outcome& outcome) {
  const absl::Status go_on = control_->CheckGoOn();
  if (!go_on.ok()) {
    Fail(go_on);
    return false;
  }
  const absl::Status& status = outcome.status;
  const bool pauses = absl::IsResourceExhausted(status);
  const bool lost = absl::IsUnavailable(status) || absl::IsCancelled(status);
  bool other_device = false;
  if (!status.ok() && !pauses && !lost) {
    const std::vector<std::string> devices = work_.devices();
    other_device =
        std::find(devices.begin(), devices.end(), uuid) == devices.end();
    if (!other_device) {
      Fail(status);
      return false;
    }
  }
  std::lock_guard lock(mutex_);
  Device& device = devices_[uuid];
  if (outcome.enough) stopping_ = true;
  if (status.ok()) {
    ++finished_;
    device.fruitless = 0;
    return !outcome.enough;
  }
  if (!work_.once && !outcome.left.empty()) parts_.push_front(outcome.left);
  device.why = std::string(status.message());
  device.fruitless =
      outcome.left.size() < part.size() || pauses ? 0 : device.fruitless + 1;
  device.out = other_device || device.fruitless >= kFruitlessParts;
  return false;
}

void DeviceSpread::Fail(const absl::Status& status) {
  std::vector<std::string> running;
  {
    std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
    stopping_ = true;
    for (const auto& [uuid, device] : devices_) {
      if (device.running) running.push_back(uuid);
    }
  }
  for (const std::string& uuid : running) work_.cancel(uuid);
}

bool DeviceSpread::Done() {
  std::lock_guard lock(mutex_);
  if (running_ > 0) return false;
  return stopping_ || parts_.empty() ||
         (work_.once && (finished_ > 0 || !work_.at_least_one));
}

absl::Status DeviceSpread::ShowWaiting(const Obstacles& obstacles,
                                       JobWait& wait) {
  const auto any = [&](Obstacle::Kind kind) {
    return std::any_of(obstacles.begin(), obstacles.end(),
                       [&](const auto& o) { return o.second.kind == kind; });
  };
  const std::string list = absl::StrJoin(
      obstacles, "; ", [](std::string* out, const auto& obstacle) {
        absl::StrAppend(out, obstacle.first, ": ", obstacle.second.text);
      });
  const std::string text =
      absl::StrCat("waiting for a device of its class: ",
                   list.empty() ? "none has an agent" : list);
  const bool busy = any(Obstacle::Kind::kBusy);
  if (busy || any(Obstacle::Kind::kTaken)) {
    wait.Show(absl::StrCat(
        text, busy ? "; reprofile with --even-if-busy to measure anyway" : ""));
    excused_s_ = wait.WaitedS();
    return absl::OkStatus();
  }
  const bool hot = any(Obstacle::Kind::kHot);
  if (!hot && !list.empty() && !any(Obstacle::Kind::kAway)) {
    return absl::UnavailableError(absl::StrCat(
        "every device of its class went away ", kFruitlessParts,
        " times without reporting anything (", list,
        "): look at the agent's log on their host, then reprofile again; what "
        "was measured is kept"));
  }
  const double limit_s = hot ? services_.hot_wait_s : services_.agent_wait_s;
  const double left_s = limit_s - (wait.WaitedS() - excused_s_);
  if (left_s > 0) {
    wait.Show(absl::StrCat(text, "; gives up in ", DurationText(left_s)));
    return absl::OkStatus();
  }
  const std::string why = absl::StrCat(
      "no device of its class could be used for ", DurationText(limit_s), " (",
      list.empty() ? "none has an agent" : list, "): ",
      hot ? "look at their cooling" : "look at the agent's log on their host",
      ", then reprofile again; what was measured is kept");
  return hot ? absl::FailedPreconditionError(why) : absl::UnavailableError(why);
}

absl::Status DeviceSpread::Run() {
  JobWait wait(control_, services_.clock);
  for (;;) {
    const absl::Status go_on = control_->CheckGoOn();
    if (!go_on.ok()) Fail(go_on);
    Obstacles obstacles = StartDevices();
    if (Done()) break;
    std::unique_lock lock(mutex_);
    if (running_ > 0) {
      lock.unlock();
      wait.End();
      excused_s_ = 0;
      lock.lock();
      changed_.wait_for(lock, kDevicePoll);
      continue;
    }
    lock.unlock();
    if (AddOthers(obstacles)) break;
    const absl::Status waited = ShowWaiting(obstacles, wait);
    if (!waited.ok()) Fail(waited);
    services_.clock->Sleep(kDevicePoll);
  }
  for (auto& [uuid, device] : devices_) {
    if (device.thread.joinable()) device.thread.join();
  }
  return failure_;
}

}  // namespace

absl::Status SpreadOverDevices(const JobServices& services, JobControl* control,
                               const DeviceWork& work,
                               std::vector<DeviceWork::Part> parts) {
  return DeviceSpread(services, control, work, std::move(parts)).Run();
}

}  // namespace wavetune
