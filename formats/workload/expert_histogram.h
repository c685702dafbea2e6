// Expert histograms: how often an engine's tokens chose each expert, out of the
// files that people make of engines' records.
//
//   ASSIGN_OR_RETURN(workload.routing.counts, ParseExpertHistogram(text));
//
//   JSON:  [412, 97, ...]             counts by expert
//          [[412, 97, ...], ...]      by layer and expert
//          [[[412, ...], ...], ...]   by step, layer and expert
//          {"logical_count": ...}     any of these, as SGLang's
//                                     --init-expert-location reads it
//   CSV:   a line for each layer, counts by expert; or a line for each expert.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_WORKLOAD_EXPERT_HISTOGRAM_H_
#define WAVETUNE_FORMATS_WORKLOAD_EXPERT_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// Largest file that is read.
inline constexpr size_t kMaxHistogramBytes = size_t{16} << 20;

// Returns the counts of a layer's experts, the most wanted first. Layers want
// other experts each: added up expert by expert they would look even, so the
// most wanted of all layers are added up, and so on. A layer of zeros, which
// has no experts, does not count. Errors: INVALID_ARGUMENT, with what to do,
// for text that is none of the above, and layers of other numbers of experts.
// So it is for counts that are no whole numbers from 0 to 2^53, also once they
// are added up.
absl::StatusOr<std::vector<int64_t>> ParseExpertHistogram(
    absl::string_view text);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_EXPERT_HISTOGRAM_H_
