// ReportInput: what a report is made from, wherever it came from: a daemon's
// store or a recorded trace.
#ifndef WAVETUNE_CLI_REPORT_REPORT_INPUT_H_
#define WAVETUNE_CLI_REPORT_REPORT_INPUT_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/evaluate/evaluation_csv.h"
#include "formats/trace_candidates.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/sample.h"
#include "wavetune/problem.h"

namespace wavetune::cli {

// Another selector, to compare the table's choices with.
struct Baseline {
  std::string name;  // For people.
  std::string path;  // The decisions' file.
  std::vector<DecisionLine> decisions;
  // In the place of decisions: what a rule comes to at each judged problem,
  // where it depends on chance (TunedRules); it may lack some.
  std::map<Problem, double> latencies_us = {};
};

struct ReportInput {
  std::shared_ptr<const CompiledTable> table;  // Never nullptr.
  std::string device;                          // Label and UUID.
  std::string source;   // Where the samples are from, for people.
  std::string created;  // When, for people.
  std::vector<TraceCandidate> candidates;  // Excluded ones included.
  std::vector<Sample> fitted;              // What the table was fitted from.
  std::vector<Sample> held_out;  // Measured, not fitted, of any problem.
  // Measured, not fitted, at problems that decisions may be judged at where
  // enough candidates were measured there.
  std::vector<Sample> judged;
  // Measured as those of `judged` were, but fitted or representative, too: not
  // judged. Distinct.
  std::vector<Problem> known;
  // Says who may run a problem; without it all candidates count.
  std::optional<KernelSpec> kernel;
  // What clients ask for, each with its specialisation; may be empty.
  std::vector<Problem> representative;
  std::vector<Baseline> baselines;  // In the order given.
  std::vector<std::string> notes;   // Shown as they are.
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_REPORT_REPORT_INPUT_H_
