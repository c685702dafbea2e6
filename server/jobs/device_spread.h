// SpreadOverDevices: has devices do parts of a job's work, each on a thread of
// its own, until all parts are done.
//
// An idle device takes the next part, or one that it chooses. One that is lost,
// used by others, hot or taken by another job gives back what it has not done,
// and is asked again when it can be used. While no device can, the job says
// what it waits for.
//
// Thread safety: one call at a time for a job; `devices` and `run` are called
// from threads of the call.
#ifndef WAVETUNE_SERVER_JOBS_DEVICE_SPREAD_H_
#define WAVETUNE_SERVER_JOBS_DEVICE_SPREAD_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_services.h"
#include "server/store/records.h"

namespace wavetune {

struct DeviceWork {
  using Part = std::vector<size_t>;

  // What became of a part on a device.
  struct Outcome {
    absl::Status status;
    std::vector<size_t> left;  // Items of the part that are not done.
    bool enough = false;       // Nobody need go on: the budget is spent.
  };

  // Which devices may take parts now, by UUID, used by others or not. The
  // first are asked first.
  std::function<std::vector<std::string>()> devices;
  // Does a part on a device. Errors: UNAVAILABLE, CANCELLED,
  // RESOURCE_EXHAUSTED: the device cannot go on now; others end the call,
  // unless the device is none of `devices` any more.
  std::function<Outcome(const std::string& uuid, const Part& part)> run;
  // Returns which of the parts that are left a device takes next. Must not call
  // anything of the spread's.
  std::function<size_t(const std::string& uuid, const std::deque<Part>& left)>
      choose =
          [](const std::string&, const std::deque<Part>&) { return size_t{0}; };
  // Returns further parts where an idle device finds none left while others are
  // at theirs; nothing: there are none yet. As `choose`.
  std::function<std::vector<Part>()> more = [] { return std::vector<Part>(); };
  // Ends what a device runs.
  std::function<void(const std::string& uuid)> cancel;
  // Who is none of `devices`, and should be asked where none of them can go on:
  // the call returns with parts left once one of these could be used. The job
  // says what keeps them as well.
  std::function<std::vector<std::string>()> others = [] {
    return std::vector<std::string>();
  };
  // Each device does one part at most, and the call ends with the last that
  // could begin.
  bool once = false;
  // With `once`: waits until one device has done its part.
  bool at_least_one = true;
};

// Errors: CANCELLED; those of `run`; UNAVAILABLE where no device has an agent
// for JobServices::agent_wait_s, or all keep going away; FAILED_PRECONDITION
// where all stay hot for JobServices::hot_wait_s.
absl::Status SpreadOverDevices(const JobServices& services, JobControl* control,
                               const DeviceWork& work,
                               std::vector<DeviceWork::Part> parts);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_DEVICE_SPREAD_H_
