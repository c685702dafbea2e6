// Trace: measurements recorded as comma-separated values, for tests of model
// quality and the replay backend (docs/traces.md).
//
// One line per (configuration, problem). Columns are matched with the kernel's
// dimension and parameter names case-insensitively. The latency is
// `latency_us_median` or else `latency_us` (microseconds). Used where present
// are `latency_us_min`, `relative_spread`, `suspect` (0 or 1), `blocks_per_sm`,
// `registers_per_thread` and `shared_memory_bytes`. Other columns are ignored.
// A repeated dimension's cell holds its elements separated as SplitExtents has
// them. Where the candidates are listed apart, a column `candidate` with their
// number stands for the parameters and facts.
#ifndef WAVETUNE_FORMATS_TRACE_H_
#define WAVETUNE_FORMATS_TRACE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/trace_candidates.h"
#include "model/kernel/device.h"
#include "model/kernel/sample.h"

namespace wavetune {

struct KernelSpec;

struct Trace {
  // Distinct configurations, in order of first appearance; capacity =
  // multiprocessors * blocks_per_sm. The facts are those of the first line.
  std::vector<Candidate> candidates;
  // The same by specialisation, in the order of spec.SpecialisationNames(): a
  // configuration compiles to different facts in each.
  std::vector<std::vector<Candidate>> candidates_by_specialisation;
  std::vector<Sample> samples;  // In file order.
};

// Returns the trace in `csv`. The first line names the columns; empty lines are
// skipped, as is a byte order mark. The specialisation of a line is its
// candidate's where `candidates` are given and the file has a column
// `candidate`. Else it is the first of the spec's whose defines all match
// columns of the same name (for example CAUSAL), else the unnamed one.
//
// Errors: INVALID_ARGUMENT with the line number and column. Faults are a
// missing column or cell, a cell that is no number, and a latency that is not
// positive and finite. So are an extent out of range, a configuration outside
// the space, and a candidate that is not listed or excluded. Cost: O(length of
// csv); 25,000 lines take some tens of milliseconds.
absl::StatusOr<Trace> ParseTrace(
    const KernelSpec& spec, const DeviceFacts& device, absl::string_view csv,
    const std::vector<TraceCandidate>* candidates = nullptr);

// Returns the text that ParseTrace reads with these candidates: sorted by
// problem, then candidate; microseconds with five significant digits, spreads
// with two. Samples of candidates that are not listed or excluded are left out.
// Cannot fail.
std::string FormatTrace(const KernelSpec& spec,
                        const std::vector<TraceCandidate>& candidates,
                        const std::vector<Sample>& samples);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_TRACE_H_
