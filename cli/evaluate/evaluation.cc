#include "cli/evaluate/evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/format.h"
#include "cli/statistics.h"
#include "model/kernel/configuration_text.h"

namespace wavetune::cli {
namespace {

// More would bury the first.
constexpr size_t kMaxFaults = 10;

// Least latency by configuration: repeated lines of one pair are repetitions.
using Recorded = std::map<Configuration, double>;

std::map<Problem, Recorded> ByProblem(const std::vector<Sample>& samples) {
  std::map<Problem, Recorded> result;
  for (const Sample& sample : samples) {
    auto [it, inserted] =
        result[sample.problem].emplace(sample.configuration, sample.latency_us);
    if (!inserted) it->second = std::min(it->second, sample.latency_us);
  }
  return result;
}

absl::StatusOr<JudgedProblem> Judge(const CompiledTable& table,
                                    const Problem& problem,
                                    const Recorded& recorded) {
  JudgedProblem judged;
  judged.problem = problem;
  judged.decision = table.Resolve(table.SubTableIndex(problem.specialisation),
                                  problem.View());
  const auto chosen = recorded.find(judged.decision.configuration);
  if (chosen == recorded.end())
    return absl::NotFoundError(
        absl::StrCat(FormatProblem(table.table().dimensions, problem), ": ",
                     FormatConfiguration(table.table().parameters,
                                         judged.decision.configuration),
                     " (", std::string(ToString(judged.decision.source)),
                     ") was chosen, but not recorded there"));
  judged.chosen_us = chosen->second;
  const auto best = std::min_element(
      recorded.begin(), recorded.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  judged.best = best->first;
  judged.best_us = best->second;
  const auto default_configuration =
      recorded.find(table.table().default_configuration);
  if (default_configuration != recorded.end())
    judged.default_us = default_configuration->second;
  return judged;
}

EvaluationFigures Figures(const std::vector<JudgedProblem>& problems,
                          const std::string* specialisation) {
  EvaluationFigures figures;
  if (specialisation != nullptr) figures.specialisation = *specialisation;
  std::vector<double> fractions;
  std::vector<double> defaults;
  std::vector<double> bounds;
  int inside = 0;
  for (const JudgedProblem& judged : problems) {
    if (specialisation != nullptr &&
        judged.problem.specialisation != *specialisation)
      continue;
    fractions.push_back(judged.Fraction());
    if (judged.default_us > 0)
      defaults.push_back(judged.best_us / judged.default_us);
    const Decision& decision = judged.decision;
    if (decision.source == DecisionSource::kDefault) continue;
    bounds.push_back(decision.relative_bound);
    inside += std::abs(judged.chosen_us - decision.latency_us) <=
              decision.relative_bound * decision.latency_us;
    figures.extrapolated += decision.source == DecisionSource::kExtrapolated;
  }
  figures.problems = static_cast<int>(fractions.size());
  figures.fraction_geomean = GeometricMean(fractions);
  figures.fraction_p5 = Quantile(fractions, 0.05);
  figures.fraction_min = Quantile(fractions, 0);
  figures.default_fraction_geomean = GeometricMean(defaults);
  figures.bound_median = Quantile(bounds, 0.5);
  if (!bounds.empty())
    figures.within_bound =
        static_cast<double>(inside) / static_cast<double>(bounds.size());
  return figures;
}

}  // namespace

absl::StatusOr<Evaluation> Evaluate(const CompiledTable& table,
                                    const std::vector<Sample>& exhaustive) {
  if (exhaustive.empty())
    return absl::InvalidArgumentError("the exhaustive file has no lines");
  Evaluation evaluation;
  std::vector<std::string> faults;
  std::set<std::string> specialisations;
  for (const auto& [problem, recorded] : ByProblem(exhaustive)) {
    specialisations.insert(problem.specialisation);
    absl::StatusOr<JudgedProblem> judged = Judge(table, problem, recorded);
    if (judged.ok()) {
      evaluation.problems.push_back(*std::move(judged));
    } else {
      faults.emplace_back(judged.status().message());
    }
  }
  if (!faults.empty()) {
    const size_t all = faults.size();
    if (all > kMaxFaults) {
      faults.resize(kMaxFaults);
      faults.push_back(absl::StrCat("and ", all - kMaxFaults, " more"));
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "the exhaustive file does not have every choice; record every "
        "configuration at every problem:\n  ",
        absl::StrJoin(faults, "\n  ")));
  }
  std::stable_sort(evaluation.problems.begin(), evaluation.problems.end(),
                   [](const JudgedProblem& a, const JudgedProblem& b) {
                     return a.Fraction() < b.Fraction();
                   });
  evaluation.overall = Figures(evaluation.problems, nullptr);
  if (specialisations.size() > 1) {
    for (const std::string& name : specialisations)
      evaluation.by_specialisation.push_back(
          Figures(evaluation.problems, &name));
  }
  return evaluation;
}

}  // namespace wavetune::cli
