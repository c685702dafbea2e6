// Measures a batch of (candidate, problem) pairs on one device.
//
// Thread safety: one call per device at a time.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_MEASURE_BATCH_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_MEASURE_BATCH_H_

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/kernel/measure_item.h"
#include "model/kernel/sample.h"
#include "profiler_agent/measure/backend.h"
#include "profiler_agent/measure/clock_settling.h"
#include "profiler_agent/measure/cool_down.h"
#include "profiler_agent/measure/stopping_rule.h"

namespace wavetune {

struct MeasureBatch {
  // `kernel.specialisation` is ignored: each item's problem names its own.
  LoadedKernel kernel;
  std::vector<MeasureItem> items;
  StoppingRule rule;
  CoolDown::Sleep sleep = nullptr;  // For tests; empty: really sleeps.
};

// Exactly one of `sample` and `failure` is set.
struct MeasureOutcome {
  size_t index = 0;  // Into items.
  const Sample* sample = nullptr;
  std::string failure;
  bool exclude_candidate = false;  // It crashed, hung or is wrong.
};
using OutcomeCallback = std::function<void(const MeasureOutcome&)>;

// Measures every item; blocks until each has an outcome. The items of one
// specialisation (on an accelerator, of one of its levels) are measured in
// turns, so that a slow moment of the device does not decide a comparison. A
// device holds one specialisation at a time. Once a candidate is excluded its
// other items fail with the same reason, unmeasured. A throttled burst is
// followed by a pause and measured again, a few times an item.
//
// Cancelling ends a pause, and else takes effect after the running burst.
// Errors: CANCELLED; UNAVAILABLE when the device was lost. Before either, items
// that met the rule by then are reported; reported outcomes stay valid.
//
// An accelerator takes the problems level by level (LoadLevel), and bursts
// at clocks that are not those of their level do not count
// (clock_settling.h). `history` holds this device's levels from earlier
// batches.
absl::Status RunMeasureBatch(Device& device, const MeasureBatch& batch,
                             PowerCapHistory& history,
                             const OutcomeCallback& on_outcome,
                             const std::stop_token& cancel);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_MEASURE_BATCH_H_
