// AgentDirectory: which devices have an agent now, and which were ever seen.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_AGENTS_AGENT_DIRECTORY_H_
#define WAVETUNE_SERVER_AGENTS_AGENT_DIRECTORY_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "server/agents/agent_device.h"
#include "server/jobs/device_ratio.h"
#include "server/jobs/measurement_executor.h"
#include "server/store/device_store.h"

namespace wavetune {

class AgentDirectory : public ExecutorDirectory {
 public:
  struct Known {
    DeviceRecord record;
    bool attached = false;
    // Since an attached agent's last message, where that is a while ago; else
    // 0.
    double silent_s = 0;
    std::string problem;               // Why an attached device cannot be used.
    std::optional<DeviceState> state;  // What an attached device does.
    double class_ratio = 0;            // As SetClassRatio; 0: not known.
    std::string left_out;  // Why jobs leave it out; empty: they do not.
    // Why the last job for its class went on without it; the next one tries
    // again. Empty: it could be compared.
    std::string unrated;

    // Whether a job may measure on it now.
    bool usable() const {
      return attached && problem.empty() && left_out.empty();
    }
  };

  // Something that happened to a device.
  struct Change {
    enum class Kind {
      kAttached,
      kDetached,
      kEnvironmentChanged,
      kSlow,  // It deviates from its class.
      kHot,
      kUnrated,  // A job could not compare it with its class.
      kLost,     // It cannot be used.
      kUsable,   // None of these any more.
    };
    Kind kind = Kind::kAttached;
    DeviceFacts device;
    std::string environment_before = "";  // With kEnvironmentChanged.
    std::string why = "";                 // With kSlow, kHot, kUnrated, kLost.
  };
  using OnChange = std::function<void(const Change&)>;

  // Does something soon, on a thread that may wait for a disk.
  using Later = std::function<void(std::function<void()>)>;

  // Store and clock outlive the directory. Records are stored `later`, as
  // agents' messages come on threads that must not wait; empty: at once.
  AgentDirectory(DeviceStore* store, Clock* clock, Later later = nullptr);

  // Hears of changes from now on, on agents' threads; must not call the
  // directory. Before any agent attaches.
  void SetListener(OnChange on_change) { on_change_ = std::move(on_change); }

  // Reads the devices seen before. Errors: the store's.
  absl::Status Load();

  // Attaches all devices of a stream, or none. Errors: ALREADY_EXISTS where
  // another live agent has one of them; INVALID_ARGUMENT for a device without
  // a UUID or named twice; RESOURCE_EXHAUSTED where more than
  // kMaxAttachedDevices would be attached.
  absl::Status Attach(const std::vector<std::shared_ptr<AgentDevice>>& devices);
  // Returns what Attach would, and changes nothing.
  absl::Status Check(const std::vector<std::shared_ptr<AgentDevice>>& devices);
  void Detach(const std::vector<std::shared_ptr<AgentDevice>>& devices);
  // A device's problem has changed. Tells the listener where it is new that
  // there is one, or none.
  void NoteProblem(const AgentDevice& device);
  // What went wrong when an agent looked for devices; none: nothing did. A
  // stream that ends takes it along.
  void SetAgentProblems(const AgentDevice::Stream* stream,
                        std::vector<std::string> problems);
  // Returns it of all agents, each line once.
  std::vector<std::string> AgentProblems();
  // Remembers an attached device as it is now.
  void See(const std::shared_ptr<AgentDevice>& device);
  // An attached device is too hot for this reason; empty: it is not. Tells the
  // listener where that is new.
  void SetHot(const std::string& device_uuid, const std::string& why);
  // A device's launches take so many times as long as those of its class, as a
  // job found; one that is not known: the job went on without it. Tells the
  // listener where it begins or ends to deviate, or to be unrated.
  void SetClassRatio(const std::string& device_uuid, const DeviceRatio& ratio);
  // Forgets a device that is not attached, soon on disk, too.
  void Forget(const std::string& device_uuid);
  // By the directory's clock.
  int64_t NowUs() { return clock_->NowUs(); }
  // Stores the devices that could not be stored when they were seen.
  void SaveDevices();

  // Returns every device ever seen, sorted by UUID.
  std::vector<Known> List();

  // Returns the facts of a device by UUID. Errors: NOT_FOUND naming the known
  // ones.
  absl::StatusOr<DeviceFacts> Facts(const std::string& device_uuid);

  // Returns the device meant where none is named: any of the attached ones, or
  // where none is, of those ever seen, if all have the same silicon and
  // environment keys.
  std::optional<DeviceFacts> ImpliedDevice();

  // Returns a number that grows with each change of what Facts, ImpliedDevice
  // and the facts of List say.
  uint64_t revision() const { return revision_.load(); }

  std::shared_ptr<MeasurementExecutor> Find(const std::string& device_uuid,
                                            double timeout_s) override;
  std::string WhyUnusable(const std::string& device_uuid) override;
  std::vector<std::string> Attached() override;

 private:
  // Why jobs leave a device out.
  struct Standing {
    double class_ratio = 0;
    std::string slow;
    std::string hot;
    std::string unrated;  // By the last job for its class.
    std::string lost;     // As an attached agent says.
  };

  // Sets `standing`'s text and tells the listener where that begins or ends.
  void Note(const std::string& device_uuid, std::string Standing::*standing,
            Change::Kind kind, const std::string& why);
  // As Check. Holds mutex_.
  absl::Status CheckFree(
      const std::vector<std::shared_ptr<AgentDevice>>& devices) const;
  // Returns a usable attached device, or nullptr; ends the stream of an agent
  // that has hung. Holds mutex_.
  std::shared_ptr<AgentDevice> Usable(const std::string& device_uuid) const;
  void See(const std::vector<std::shared_ptr<AgentDevice>>& devices);
  // Has the store learn of a device as it is then: soon, and once however often
  // it is asked for meanwhile.
  void StoreLater(const std::string& uuid);
  void Store(const DeviceRecord& record);
  // Removes the devices seen longest ago where there are too many, and returns
  // their UUIDs. Holds mutex_.
  std::vector<std::string> ForgetOldest();

  DeviceStore* const store_;
  Clock* const clock_;
  const Later later_;
  OnChange on_change_ = [](const Change&) {};
  std::atomic<uint64_t> revision_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::map<std::string, std::shared_ptr<AgentDevice>> attached_;
  std::map<std::string, DeviceRecord> seen_;
  std::map<std::string, Standing> standings_;
  std::map<const AgentDevice::Stream*, std::vector<std::string>>
      agent_problems_;
  std::set<std::string> unsaved_;  // Among those seen.
  std::set<std::string> pending_;  // Will be stored, or forgotten, later.
};

// Returns those of the devices for which `wanted` holds that are attached; all
// of them where none is.
std::vector<DeviceFacts> AttachedElseSeen(
    const std::vector<AgentDirectory::Known>& known,
    const std::function<bool(const DeviceFacts&)>& wanted);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_AGENTS_AGENT_DIRECTORY_H_
