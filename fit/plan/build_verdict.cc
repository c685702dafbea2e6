#include "fit/plan/build_verdict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "fit/samples/sample_selection.h"
#include "wavetune/problem.h"

namespace wavetune {
namespace {

constexpr double kSlower = 0.03;  // docs/decisions/0056.

// Latency of what the table chooses, where that was measured.
std::map<Problem, double> ChosenLatencies(const MeasuredBuild& build) {
  std::map<Problem, double> latencies_us;
  for (const Sample& sample : build.samples) {
    // Suspect ones count: the mean's standard error says how unsure they are.
    if (!IsSound(sample)) continue;
    const Decision decision = build.table->Resolve(
        build.table->SubTableIndex(sample.problem.specialisation),
        sample.problem.View());
    if (decision.configuration == sample.configuration) {
      latencies_us[sample.problem] = sample.latency_us;
    }
  }
  return latencies_us;
}

}  // namespace

BuildVerdict JudgeBuild(const MeasuredBuild& before, const MeasuredBuild& now) {
  const std::map<Problem, double> then_us = ChosenLatencies(before);
  std::vector<double> logs;
  for (const auto& [problem, now_us] : ChosenLatencies(now)) {
    const auto then = then_us.find(problem);
    if (then != then_us.end()) logs.push_back(std::log(now_us / then->second));
  }
  BuildVerdict verdict{.problems = static_cast<int>(logs.size())};
  if (verdict.problems < BuildVerdict::kFewestProblems) return verdict;
  const double n = verdict.problems;
  double sum = 0;
  for (const double log : logs) sum += log;
  const double mean = sum / n;
  double squares = 0;
  for (const double log : logs) squares += (log - mean) * (log - mean);
  const double error = std::sqrt(squares / (n - 1) / n);
  verdict.ratio = std::exp(mean);
  verdict.slower = mean > std::log1p(kSlower) && mean > 2 * error;
  if (verdict.slower) {
    verdict.reason = absl::StrFormat(
        "refused: the kernel as it is now is slower: what the new table "
        "chooses "
        "takes %.3f times as long as what the serving one chose with the "
        "kernel "
        "as it was (geometric mean over %d problems)",
        verdict.ratio, verdict.problems);
  }
  return verdict;
}

int CountChosenMeasured(const MeasuredBuild& build) {
  return static_cast<int>(ChosenLatencies(build).size());
}

std::vector<MeasureItem> PlanBuildComparison(const MeasuredBuild& before,
                                             const MeasuredBuild& now) {
  const std::map<Problem, double> now_us = ChosenLatencies(now);
  std::vector<std::pair<double, Problem>> missing;
  size_t compared = 0;
  for (const auto& [problem, then_us] : ChosenLatencies(before)) {
    if (now_us.contains(problem)) {
      ++compared;
    } else {
      missing.emplace_back(then_us, problem);
    }
  }
  if (compared >= BuildVerdict::kFewestProblems) return {};
  std::sort(missing.begin(), missing.end());
  missing.resize(std::min<size_t>(
      missing.size(), 2 * BuildVerdict::kFewestProblems - compared));
  std::vector<MeasureItem> items;
  for (const auto& [then_us, problem] : missing) {
    const Decision decision = now.table->Resolve(
        now.table->SubTableIndex(problem.specialisation), problem.View());
    items.push_back({decision.configuration, problem});
  }
  return items;
}

}  // namespace wavetune
