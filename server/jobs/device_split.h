// How a batch is split over devices: into parts that a device measures as a
// whole.
//
// Devices of a class differ by a percent or two, so candidates that are
// compared at a problem stay together. Idle devices take the next part, so that
// speeds balance themselves. Parts are of few load levels: where heavy problems
// come before light ones a device waits for its clocks
// (profiler_agent/measure/clock_settling.h).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_JOBS_DEVICE_SPLIT_H_
#define WAVETUNE_SERVER_JOBS_DEVICE_SPLIT_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "model/kernel/measure_item.h"

namespace wavetune {

// The most items of a part, unless more are compared with each other.
inline constexpr size_t kMaxPartItems = 64;

// What must not be spread over devices.
enum class KeepTogether {
  kNothing,  // Samples that models are fitted to.
  kProblem,  // Candidates that are compared at a problem.
};

// Returns parts of indices into `items`, the lightest by `load_level` first, as
// within each; each index is in one part. Of one level items keep their order,
// problems that of their first items. A problem of more than kMaxPartItems that
// is kept together is one part. Parts are as many as twice the `devices` at
// least, where problems allow. They have fewer items the heavier these are: at
// the end of a step other devices may wait for one.
std::vector<std::vector<size_t>> SplitIntoParts(
    absl::Span<const MeasureItem> items, KeepTogether together, size_t devices,
    absl::FunctionRef<int(const Problem&)> load_level);

// Returns which of the parts that are left device number `device` of `devices`
// takes. The first takes the lightest first, the last the heaviest, and each of
// the others begins at its place between. So few devices go from heavy problems
// to light ones. `at`: where each part was among all, of `all` parts; not
// empty.
size_t NextPart(size_t device, size_t devices, absl::Span<const size_t> at,
                size_t all);

// Returns up to `count` indices, spread evenly over the items in their order: a
// set that every device measures, so that devices can be compared. Vendors'
// libraries are left out.
std::vector<size_t> CommonSet(absl::Span<const MeasureItem> items,
                              size_t count);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_DEVICE_SPLIT_H_
