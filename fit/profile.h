// ProfileInput: all that the profiling loop's pure half knows. The next
// measurements and the table depend on it alone.
//
//   ProfileInput input{.spec = &spec, .device = facts, ...};
//   for (;;) {
//     ProfileStep step = PlanNext(input);  // from the samples so far alone
//     if (step.items.empty()) break;
//     Append(&input.samples, Measure(step));  // by the daemon's agent
//   }
//   FitResult fit = FitTable(input).value();  // same input, same bytes
//   VerificationPlan plan = PlanVerification(input, fit.table, incumbent);
//   Verdict verdict = JudgeVerification(plan, Measure(plan));
//
// Why stateless: a job that was interrupted anywhere goes on from the stored
// samples alone.
//
// The functions: fit/plan/plan_next.h, fit/build/fit_table.h and
// fit/plan/verification.h.
//
// Source: arXiv 2604.10187, section 4.3 (sparse wave-aware sampling).
// Deviations: docs/architecture.md.
#ifndef WAVETUNE_FIT_PROFILE_H_
#define WAVETUNE_FIT_PROFILE_H_

#include <string>
#include <vector>

#include "model/kernel/device.h"
#include "model/kernel/sample.h"
#include "model/kernel/weighted_problem.h"
#include "model/table/table.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

struct ProfileOptions {
  int samples_per_candidate = 32;  // Average over candidates that compiled;
                                   // refinement and portfolio checks count.
  // Above 0: refines an earlier profile, and so many of the
  // samples_per_candidate are for the leaders at representative problems,
  // however many anchors these move.
  int refinement_samples = 0;
  int portfolio_size = 0;  // Most candidates per sub-table; 0: as the kernel
                           // says (KernelSpec).
  // Refinement stops when the expected regret is below this.
  double target_regret = 0.005;
  double device_time_budget_us = 0;  // Planning ends when the samples' device
                                     // time passes this; 0: no limit.
  double near_tie = 0.005;           // Table::near_tie.
  // Devices that measure at a time, >= 1: a step has work for all of them.
  int devices = 1;
};

// Everything known of one (kernel, device class).
struct ProfileInput {
  const KernelSpec* spec = nullptr;
  std::string fingerprint;
  DeviceFacts device;
  // Candidates by specialisation, in the order of spec->SpecialisationNames();
  // excluded ones are ignored.
  std::vector<std::vector<Candidate>> candidates;
  // All samples, any order; each names its specialisation in its problem.
  // Suspect, non-finite and non-positive ones are handled (down-weighted or
  // dropped), never trusted.
  std::vector<Sample> samples;
  // Samples of earlier profiles of the same kernel and device class. Where they
  // agree with `samples` they are fitted, too
  // (fit/samples/earlier_samples.h). A profile that starts afresh still
  // measures anew what it plans, also where they have it.
  std::vector<Sample> earlier_samples;
  // Problems that refining may measure. Empty: the spec's.
  std::vector<WeightedProblem> representative_problems;
  ProfileOptions options;
};

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PROFILE_H_
