// The profiling loop's pure half: what to measure next, and the table that
// follows from what was measured.
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
// All that callers need is declared here: PlanNext and verification are defined
// in fit/plan/, FitTable in fit/build/.
//
// Source: arXiv 2604.10187, section 4.3 (sparse wave-aware sampling).
// Deviations: docs/architecture.md.
#ifndef WAVETUNE_FIT_PROFILE_H_
#define WAVETUNE_FIT_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/kernel/device.h"
#include "model/kernel/measure_item.h"
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
  // The serving table of the same kernel; nullptr: none. Its configurations are
  // preferred when the portfolio is chosen. Its models stay where they explain
  // the samples about as well as new ones (fit/models/incumbent_model.h); not
  // in a top-up, whose few samples are there to move them.
  const Table* incumbent = nullptr;
  ProfileOptions options;
};

enum class ProfilePhase { kScreening, kSampling, kRefining, kDone };

struct ProfileStep {
  ProfilePhase phase = ProfilePhase::kDone;
  std::vector<MeasureItem> items;  // Empty: done.
  int64_t samples_planned =
      0;  // Estimate of all samples of the profile, for progress.
};

// Returns the next items to measure, never one that already has a usable sample
// or that failed (`failed` lists pairs that could not be measured). Cannot
// fail: with nothing left to do it returns kDone. Deterministic. Cost: up to
// about a second for 200 candidates.
ProfileStep PlanNext(const ProfileInput& input,
                     const std::vector<MeasureItem>& failed = {});

// A quarter: the fit gives such samples a tenth of the weight, so that fewer
// of them hardly move it.
inline constexpr double kMostThrottledShare = 0.25;

// What the fit has to say beside the table.
struct FitReport {
  std::vector<std::string>
      notes;  // Dropped samples, pooled regimes, widened bounds; one line each.
  // Those of them that speak against the table, the worst first; a few.
  std::vector<std::string> warnings;
  int64_t samples_used = 0;     // Those of earlier profiles included.
  int64_t earlier_samples = 0;  // Of earlier profiles.
  int64_t samples_dropped = 0;
  int64_t samples_within_8_waves = 0;  // Samples with w <= 8.
  // Share of the (candidate, problem) pairs that are known from throttled
  // samples alone. Above kMostThrottledShare the table should not serve: it
  // compares candidates under clocks that differ.
  double throttled_share = 0;
  double expected_regret = 0;        // Over representative problems.
  double median_relative_error = 0;  // Of the fit on its own samples.
};

struct FitResult {
  Table table;
  FitReport report;
};

// Fits wave models, selects the portfolio and compiles the dual tables. A pure
// function of its input, order of samples and candidates included out: the same
// bytes on every machine. Errors: FAILED_PRECONDITION when no candidate has
// enough usable samples (says which and why); INVALID_ARGUMENT for an
// inconsistent input.
absl::StatusOr<FitResult> FitTable(const ProfileInput& input);

// Points at which a new table is compared with the incumbent and the default
// before it may serve.
struct VerificationPlan {
  struct Point {
    Problem problem;
    double weight = 1;
    Configuration chosen;  // Of the new table.
    Configuration
        incumbent;  // Of the serving table, the default where there is none.
    Configuration default_configuration;  // The default.
    // Another table's choice stands in `incumbent`.
    bool has_incumbent = true;
    // The default stands in `default_configuration`; false where it cannot be
    // measured (it does not compile, is wrong, ...): then the chosen one does.
    bool has_default = true;
  };
  std::vector<Point> points;
  std::vector<MeasureItem> items;  // Distinct (configuration, problem) pairs of
                                   // the points; to be measured interleaved.
};

// Chooses at most `max_points` representative problems that no sample of the
// fit has measured (falls back to the least measured). `incumbent` may be
// nullptr. Cannot fail.
VerificationPlan PlanVerification(const ProfileInput& input, const Table& table,
                                  const Table* incumbent, int max_points = 12);

struct Verdict {
  bool promote = false;
  std::string reason;  // One sentence with the figures.
  double geomean_vs_incumbent =
      1;  // Latency of the incumbent / latency of the new table; > 1 is faster.
  double geomean_vs_default = 1;
  double worst_vs_incumbent = 1;
};

// What nothing was compared with is not claimed to be beaten. Promotes only if
// the geometric mean against incumbent and default is no worse
// (1 % is noise) and no point is worse by more than max(3 %, 3 * its spread).
// `measured` answers plan.items in order; missing measurements (latency <= 0)
// and throttled ones leave their points out; too few points left refuse.
// Cannot fail.
Verdict JudgeVerification(const VerificationPlan& plan,
                          const std::vector<Sample>& measured);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PROFILE_H_
