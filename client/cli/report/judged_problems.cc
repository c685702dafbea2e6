#include "client/cli/report/judged_problems.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "client/cli/statistics.h"
#include "model/relation.h"

namespace wavetune::cli {
namespace {

// Least latency by configuration: repeated samples of a pair are repetitions.
using Measured = std::map<Configuration, double>;
using ByProblem = std::map<Problem, Measured>;

ByProblem Collect(const ReportInput& input, const SubTable& sub) {
  std::set<Problem> fitted;
  for (const Sample& sample : input.fitted) fitted.insert(sample.problem);
  ByProblem result;
  const size_t dimensions = input.table->table().dimensions.size();
  for (const Sample& sample : input.judged) {
    if (sample.problem.specialisation != sub.specialisation ||
        sample.problem.extents.size() != dimensions ||
        !(sample.latency_us > 0) || fitted.contains(sample.problem))
      continue;
    auto [it, inserted] =
        result[sample.problem].emplace(sample.configuration, sample.latency_us);
    if (!inserted) it->second = std::min(it->second, sample.latency_us);
  }
  return result;
}

// Candidates that may run `problem`.
size_t CountLegal(const ReportInput& input, const SubTable& sub,
                  const Problem& problem) {
  const Table& table = input.table->table();
  int repeated = -1;
  for (size_t i = 0; i < table.dimensions.size(); ++i) {
    if (table.dimensions[i].repeated) repeated = static_cast<int>(i);
  }
  size_t legal = 0;
  for (const TraceCandidate& known : input.candidates) {
    if (known.specialisation != sub.specialisation ||
        known.candidate.excluded())
      continue;
    legal += std::all_of(
        table.problem_predicates.begin(), table.problem_predicates.end(),
        [&](const Relation& relation) {
          return Holds(relation, problem.View(), known.candidate.configuration,
                       repeated);
        });
  }
  return legal;
}

double LatencyOf(const Measured& measured, const Configuration& configuration) {
  const auto found = measured.find(configuration);
  return found == measured.end() ? 0 : found->second;
}

JudgedChoice Judge(const Problem& problem, const Decision& decision,
                   const Measured& measured, const Table& table) {
  const auto best = std::min_element(
      measured.begin(), measured.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  return {.problem = problem,
          .decision = decision,
          .chosen_us = LatencyOf(measured, decision.configuration),
          .best = best->first,
          .best_us = best->second,
          .default_us = LatencyOf(measured, table.default_configuration),
          .measured = static_cast<int>(measured.size())};
}

std::optional<Configuration> BestSingle(
    const std::vector<const Measured*>& problems) {
  std::optional<Configuration> best;
  double best_sum = std::numeric_limits<double>::infinity();
  if (problems.empty()) return best;
  for (const auto& [configuration, unused] : *problems[0]) {
    double sum = 0;
    for (const Measured* measured : problems) {
      const double latency_us = LatencyOf(*measured, configuration);
      sum += latency_us > 0 ? std::log(latency_us)
                            : std::numeric_limits<double>::infinity();
    }
    if (sum < best_sum) {
      best = configuration;
      best_sum = sum;
    }
  }
  return best;
}

BaselineFigures Figures(const std::string& name,
                        const std::vector<JudgedChoice>& choices,
                        double JudgedChoice::*latency_us) {
  std::vector<double> fractions;
  for (const JudgedChoice& choice : choices) {
    if (choice.*latency_us > 0)
      fractions.push_back(choice.best_us / choice.*latency_us);
  }
  return {.name = name,
          .problems = static_cast<int>(fractions.size()),
          .geomean = GeometricMean(fractions),
          .p5 = Quantile(fractions, 0.05),
          .worst = Quantile(fractions, 0)};
}

}  // namespace

JudgedProblems JudgeProblems(const ReportInput& input, const SubTable& sub) {
  JudgedProblems result;
  const CompiledTable& table = *input.table;
  const int index = table.SubTableIndex(sub.specialisation);
  const ByProblem by_problem = Collect(input, sub);
  std::vector<const Measured*> judged;
  for (const auto& [problem, measured] : by_problem) {
    // A single one has nothing to be compared with.
    if (measured.size() < 2 ||
        2 * measured.size() < CountLegal(input, sub, problem)) {
      ++result.too_few;
      continue;
    }
    const Decision decision = table.Resolve(index, problem.View());
    if (!measured.contains(decision.configuration)) {
      ++result.choice_missing;
      continue;
    }
    result.choices.push_back(Judge(problem, decision, measured, table.table()));
    judged.push_back(&measured);
  }
  result.best_single = BestSingle(judged);
  if (result.best_single) {
    for (size_t i = 0; i < judged.size(); ++i)
      result.choices[i].single_us = LatencyOf(*judged[i], *result.best_single);
  }
  std::stable_sort(result.choices.begin(), result.choices.end(),
                   [](const JudgedChoice& a, const JudgedChoice& b) {
                     return a.best_us / a.chosen_us < b.best_us / b.chosen_us;
                   });
  if (result.choices.empty()) return result;
  result.figures = {
      Figures("chosen", result.choices, &JudgedChoice::chosen_us),
      Figures("best single", result.choices, &JudgedChoice::single_us),
      Figures("default", result.choices, &JudgedChoice::default_us)};
  std::erase_if(result.figures,
                [](const BaselineFigures& f) { return f.problems == 0; });
  return result;
}

}  // namespace wavetune::cli
