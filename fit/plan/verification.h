// Verification: a new table against the serving one, at problems that no fit
// has seen. Where the kernel's build is another one, it also stands against the
// serving table's latencies in its own.
#ifndef WAVETUNE_FIT_PLAN_VERIFICATION_H_
#define WAVETUNE_FIT_PLAN_VERIFICATION_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "fit/models/profile_state.h"
#include "fit/profile.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/measure_item.h"
#include "model/kernel/sample.h"
#include "model/table/table.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

// By how much a point, a build or a regime may differ by noise, however sure
// its samples are (docs/decisions/0007, 0054, 0056).
inline constexpr double kBeyondNoise = 0.03;

// Points at which a new table is compared with the incumbent and the default
// before it may serve.
struct VerificationPlan {
  struct Point {
    Problem problem;
    double weight = 1;
    Configuration chosen;  // The new table's.
    Configuration
        incumbent;  // The serving table's, the default where there is none.
    Configuration default_configuration;
    // Another table's choice stands in `incumbent`.
    bool has_incumbent = true;
    // The default stands in `default_configuration`; false where it cannot be
    // measured (it does not compile, is wrong, ...): then the chosen one does.
    bool has_default = true;
    // Not empty: the default is what this file of an engine has for it.
    std::string file = {};
    // A neighbour of a named problem (model/kernel/ragged_neighbour.h).
    bool ragged = false;
  };
  // The new table's choice, and what the serving one's took in its own build of
  // the kernel. PlanBuilds adds them.
  struct BuildPoint {
    MeasureItem chosen;
    double before_us = 0;
    double now_us = 0;  // 0: `chosen` is one of the items.
  };
  std::vector<Point> points;
  std::vector<BuildPoint> builds;
  std::vector<MeasureItem> items;  // Distinct (configuration, problem) pairs of
                                   // the points; to be measured interleaved.
  // The serving table is of another environment or version of the kernel: a
  // table that is as good replaces it.
  bool incumbent_is_stale = false;
};

// Chooses at most `max_points` representative problems that no sample of the
// fit has measured (falls back to the least measured). With them go ragged
// neighbours of half of them, as long as these take at most a twentieth of the
// profile's samples. `incumbent` may be nullptr. Cannot fail.
VerificationPlan PlanVerification(const ProfileInput& input, const Table& table,
                                  const Table* incumbent,
                                  int max_points = kVerificationPoints);

// Returns the plan with named problems alone, for who has few measurements to
// spend. Cannot fail.
VerificationPlan WithoutRagged(const VerificationPlan& plan);

// A table with samples of the build of the kernel that it was measured with; of
// a pair the last counts.
struct MeasuredBuild {
  const CompiledTable* table = nullptr;
  absl::Span<const Sample> samples;
};

// Adds the problems at which a table's choice in its own build can be compared
// with the new table's in the present build. These were measured in both, or
// are among the items. Where these are fewer than six, and `measure` is set,
// adds items: the new table's choices where the other one's took least, twelve
// points in all at most. Why: the points compare both tables in the build that
// is there now, and so promote a table that makes the best of a worse build
// (docs/decisions/0056). Cannot fail.
void PlanBuilds(const MeasuredBuild& before, const MeasuredBuild& now,
                bool measure, VerificationPlan& plan);

// Returns why the present build is slower: by more than 3 % and twice the
// standard error in the geometric mean over six problems or more. Empty where
// it is not, or fewer were measured. Cannot fail.
std::string WhySlowerBuild(const VerificationPlan& plan,
                           const std::vector<Sample>& measured);

struct Verdict {
  bool promote = false;
  // False: too few points were measured to say anything.
  bool judged = true;
  std::string reason;  // One sentence with the figures.
  // Latency of the incumbent / latency of the new table; > 1 is faster.
  double geomean_vs_incumbent = 1;
  double geomean_vs_default = 1;
  double worst_vs_incumbent = 1;
  // Mean over the points of latency / the best of the three there, less one:
  // of the incumbent (of the default where there is none) and of the new table.
  // Negative: nothing was measured.
  double regret_incumbent = -1;
  double regret_chosen = -1;
  // The incumbent was measured wherever the new table was, at half of the
  // points at least, and is no slower than the default. Whatever became of the
  // new table, the incumbent was found to hold.
  bool incumbent_holds = false;
};

// What nothing was compared with is not claimed to be beaten. Promotes only
// if the geometric mean against incumbent and default is no worse (1 % is
// noise), nor that over the points of engines' files. No named point may be
// worse by more than max(15 %, 3 * its spread). Points that are worse by more
// than max(3 %, 3 * their spread) may lose together at most a fifth of the
// others' gain (docs/decisions/0007). An incumbent that is not stale and runs
// at every point stays unless the new table is 0.5 % faster: a new choice costs
// serving processes a compilation (docs/decisions/0035). `measured` answers
// plan.items in order; missing measurements (latency <= 0) and throttled
// ones leave their points out; too few named points left refuse. Cannot
// fail.
Verdict JudgeVerification(const VerificationPlan& plan,
                          const std::vector<Sample>& measured);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_VERIFICATION_H_
