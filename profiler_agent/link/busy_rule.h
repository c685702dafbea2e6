// Whether a device is in use by somebody else, so that profiling keeps off.
#ifndef WAVETUNE_PROFILER_AGENT_LINK_BUSY_RULE_H_
#define WAVETUNE_PROFILER_AGENT_LINK_BUSY_RULE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "model/kernel/device.h"

namespace wavetune {

// Returns "GPU-1 is used by 2 other processes, 93 % utilisation", or an empty
// string where nobody else seems to use it. `quiet`: none of our own launches
// falls into the period that utilisation is of. Other processes count even
// when they do nothing right now, as a server does that waits for requests.
// Where they cannot be seen utilisation from 10 % on counts, and, before any
// worker of ours runs, memory that somebody holds. Pure.
std::string BusyReason(absl::string_view uuid, const DeviceState& state,
                       bool quiet);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_LINK_BUSY_RULE_H_
