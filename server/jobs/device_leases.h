// DeviceLeases: which job measures on which device now.
//
// A job that was asked for one device holds it until it ends. A job for a class
// takes and returns devices part by part. So whoever waits for one of them gets
// it soon, while the job goes on with the others.
//
//   const DeviceLease lease = leases.TryTake("GPU-1", job_id);
//   if (lease == nullptr) ...  // Another job has it, or waits for it.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_JOBS_DEVICE_LEASES_H_
#define WAVETUNE_SERVER_JOBS_DEVICE_LEASES_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace wavetune {

// Ends when it is dropped; may outlive the leases it is of.
using DeviceLease = std::shared_ptr<const void>;

class DeviceLeases {
 public:
  DeviceLeases() : state_(std::make_shared<State>()) {}

  // Returns the device's lease, or nullptr where another job has it or waits
  // for it. Never blocks.
  DeviceLease TryTake(const std::string& device_uuid, uint64_t job);

  // Waits for the device. `go_on` is asked now and then, with the job that has
  // it (0: none any more). Errors: those of `go_on`.
  absl::StatusOr<DeviceLease> Take(
      const std::string& device_uuid, uint64_t job,
      const std::function<absl::Status(uint64_t holder)>& go_on);

  // Returns the job that has the device; 0: none.
  uint64_t Holder(const std::string& device_uuid) const;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable returned;
    // Guarded by mutex.
    std::map<std::string, uint64_t> holders;
    std::map<std::string, std::set<uint64_t>> waiting;
  };

  // Takes it where it is free. Holds the mutex.
  static DeviceLease TakeFree(const std::shared_ptr<State>& state,
                              const std::string& device_uuid, uint64_t job);

  const std::shared_ptr<State> state_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_DEVICE_LEASES_H_
