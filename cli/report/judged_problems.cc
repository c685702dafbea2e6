#include "cli/report/judged_problems.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/status_macros.h"
#include "cli/report/baselines.h"
#include "cli/statistics.h"
#include "model/kernel/kernel_space.h"

namespace wavetune::cli {
namespace {

// Repeated samples of a pair are repetitions: the least counts.
using Measured = MeasuredLatencies;
using LatenciesByProblem = std::map<Problem, Measured>;

// A choice with all that was measured there.
struct Judged {
  JudgedChoice choice;
  const Measured* measured;
};

LatenciesByProblem Collect(const ReportInput& input, const SubTable& sub) {
  LatenciesByProblem result;
  const size_t dimensions = input.table->table().dimensions.size();
  for (const Sample& sample : input.judged) {
    if (sample.problem.specialisation != sub.specialisation ||
        sample.problem.extents.size() != dimensions || !(sample.latency_us > 0))
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
  size_t legal = 0;
  for (const TraceCandidate& known : input.candidates) {
    if (known.specialisation != sub.specialisation ||
        known.candidate.excluded())
      continue;
    legal += !input.kernel.has_value() ||
             IsLegal(input.kernel->Of(sub.specialisation),
                     known.candidate.configuration, problem.View());
  }
  return legal;
}

double LatencyOf(const Measured& measured, const Configuration& configuration) {
  const auto found = measured.find(configuration);
  return found == measured.end() ? 0 : found->second;
}

JudgedChoice Judge(const Problem& problem, const Decision& decision,
                   const Measured& measured) {
  const auto best = std::min_element(
      measured.begin(), measured.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  return {.problem = problem,
          .decision = decision,
          .chosen_us = LatencyOf(measured, decision.configuration),
          .best = best->first,
          .best_us = best->second,
          .measured = static_cast<int>(measured.size())};
}

std::optional<Configuration> BestSingle(const std::vector<Judged>& problems) {
  std::optional<Configuration> best;
  double best_sum = std::numeric_limits<double>::infinity();
  if (problems.empty()) return best;
  for (const auto& [configuration, unused] : *problems[0].measured) {
    double sum = 0;
    for (const Judged& judged : problems) {
      const double latency_us = LatencyOf(*judged.measured, configuration);
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

// Judged problems, worst first; counts those that are left out in `result`.
std::vector<Judged> Select(const ReportInput& input, const SubTable& sub,
                           const LatenciesByProblem& by_problem,
                           JudgedProblems& result) {
  const int index = input.table->SubTableIndex(sub.specialisation);
  std::vector<Judged> selected;
  for (const auto& [problem, measured] : by_problem) {
    // A single one has nothing to be compared with.
    if (measured.size() < 2 ||
        2 * measured.size() < CountLegal(input, sub, problem)) {
      ++result.too_few;
      continue;
    }
    const Decision decision = input.table->Resolve(index, problem.View());
    if (!measured.contains(decision.configuration)) {
      ++result.choice_missing;
      continue;
    }
    selected.push_back({Judge(problem, decision, measured), &measured});
  }
  std::stable_sort(selected.begin(), selected.end(),
                   [](const Judged& a, const Judged& b) {
                     return a.choice.best_us / a.choice.chosen_us <
                            b.choice.best_us / b.choice.chosen_us;
                   });
  return selected;
}

std::vector<double> LatenciesOf(const std::vector<Judged>& judged,
                                const Configuration& configuration) {
  std::vector<double> latencies;
  for (const Judged& one : judged)
    latencies.push_back(LatencyOf(*one.measured, configuration));
  return latencies;
}

JudgedMethod Method(JudgedMethod::Kind kind, const std::string& name,
                    const std::vector<Judged>& judged,
                    std::vector<double> latencies) {
  std::vector<double> fractions;
  for (size_t i = 0; i < judged.size(); ++i) {
    if (latencies[i] > 0)
      fractions.push_back(judged[i].choice.best_us / latencies[i]);
  }
  return {.kind = kind,
          .name = name,
          .latencies_us = std::move(latencies),
          .problems = static_cast<int>(fractions.size()),
          .geomean = GeometricMean(fractions),
          .p5 = Quantile(fractions, 0.05),
          .worst = Quantile(fractions, 0)};
}

absl::StatusOr<std::vector<JudgedMethod>> Methods(
    const ReportInput& input, const SubTable& sub,
    const std::vector<Judged>& judged,
    const std::optional<Configuration>& best_single) {
  using Kind = JudgedMethod::Kind;
  std::vector<double> chosen;
  std::vector<JudgedLatencies> measured;
  for (const Judged& one : judged) {
    chosen.push_back(one.choice.chosen_us);
    measured.push_back({&one.choice.problem, one.measured});
  }
  const Table& table = input.table->table();
  std::vector<JudgedMethod> methods = {
      Method(Kind::kTable, kChosenByTable, judged, std::move(chosen))};
  if (best_single)
    methods.push_back(Method(Kind::kBestSingle, kBestSingleConfiguration,
                             judged, LatenciesOf(judged, *best_single)));
  methods.push_back(Method(Kind::kDefault, kDefaultConfiguration, judged,
                           LatenciesOf(judged, table.default_configuration)));
  for (const Baseline& baseline : input.baselines) {
    ASSIGN_OR_RETURN(
        std::vector<double> latencies,
        BaselineLatencies(baseline, table, sub.specialisation, measured));
    methods.push_back(
        Method(Kind::kBaseline, baseline.name, judged, std::move(latencies)));
  }
  std::erase_if(methods, [](const JudgedMethod& m) { return m.problems == 0; });
  std::stable_sort(methods.begin(), methods.end(),
                   [](const JudgedMethod& a, const JudgedMethod& b) {
                     return a.geomean > b.geomean;
                   });
  return methods;
}

}  // namespace

absl::StatusOr<JudgedProblems> JudgeProblems(const ReportInput& input,
                                             const SubTable& sub) {
  JudgedProblems result;
  result.known = static_cast<int>(std::count_if(
      input.known.begin(), input.known.end(), [&sub](const Problem& problem) {
        return problem.specialisation == sub.specialisation;
      }));
  const LatenciesByProblem by_problem = Collect(input, sub);
  const std::vector<Judged> judged = Select(input, sub, by_problem, result);
  result.best_single = BestSingle(judged);
  ASSIGN_OR_RETURN(result.methods,
                   Methods(input, sub, judged, result.best_single));
  for (const Judged& one : judged) result.choices.push_back(one.choice);
  return result;
}

}  // namespace wavetune::cli
