// How a batch is split over boards: into parts that a board measures as a
// whole.
//
// Boards of a class differ by a percent or two, so items that are compared with
// each other stay together. Idle boards take the next part, so that speeds
// balance themselves. Parts are few: in each a board goes from light loads to
// heavy ones, and after that waits for its clocks
// (profiler_agent/measure/clock_settling.h).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_JOBS_BOARD_SPLIT_H_
#define WAVETUNE_SERVER_JOBS_BOARD_SPLIT_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "model/kernel/measure_item.h"

namespace wavetune {

// The most items of a part, unless more are compared with each other.
inline constexpr size_t kMaxPartItems = 128;

// What must not be spread over boards.
enum class KeepTogether {
  kCandidate,  // Samples that one model is fitted to.
  kProblem,    // Candidates that are compared at a problem.
};

// Returns parts of indices into `items`; each index is in one part. Items of a
// group (a candidate or a problem) follow each other in their order; groups
// have the order of their first items, those of problems that of their
// `load_level` first. A group of more than kMaxPartItems is cut where it is a
// candidate's, and one part where it is a problem's. Parts are as many as
// `boards` at least, where groups allow.
std::vector<std::vector<size_t>> SplitIntoParts(
    absl::Span<const MeasureItem> items, KeepTogether together, size_t boards,
    absl::FunctionRef<int(const Problem&)> load_level);

// Returns up to `count` indices, spread evenly over the items in their order: a
// set that every board measures, so that boards can be compared. Vendors'
// libraries are left out.
std::vector<size_t> CommonSet(absl::Span<const MeasureItem> items,
                              size_t count);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_BOARD_SPLIT_H_
