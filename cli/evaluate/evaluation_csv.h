// What was fitted and what was decided, as comma-separated values: other
// selectors are fitted to the very same samples and judged at the very same
// problems (research/baselines). docs/traces.md has the columns.
//
//   specialisation,m,n,k,BLOCK_M,BLOCK_N,latency_us,...   (samples)
//   specialisation,m,n,k,BLOCK_M,BLOCK_N,source,...       (decisions)
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_EVALUATE_EVALUATION_CSV_H_
#define WAVETUNE_CLI_EVALUATE_EVALUATION_CSV_H_

#include <string>
#include <vector>

#include "cli/evaluate/evaluation.h"
#include "model/kernel/sample.h"

namespace wavetune {
struct KernelSpec;
}

namespace wavetune::cli {

// Returns a line per sample, in the order given: specialisation (where the
// kernel has any), extents, configuration, latencies in microseconds. A line
// spells out its candidate, so that it means something without the trace.
// Cannot fail.
std::string SamplesCsv(const KernelSpec& spec,
                       const std::vector<Sample>& samples);

// Returns a line per judged problem, sorted by problem, so that two
// evaluations can be compared line by line: the problem as above, the chosen
// configuration, where the answer came from, its prediction and error bound,
// and what was recorded there of the choice, the best and the default (empty
// where the default was not). Cannot fail.
std::string DecisionsCsv(const KernelSpec& spec, const Evaluation& evaluation);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EVALUATE_EVALUATION_CSV_H_
