#include "server/jobs/fake_profiling.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/group_predicates.h"

namespace wavetune {
namespace {

using Pair = std::pair<Configuration, Problem>;

std::vector<Problem> ProblemsOf(const ProfileInput& input,
                                const std::string& specialisation) {
  std::vector<Problem> problems;
  const std::vector<WeightedProblem>& wanted =
      input.representative_problems.empty()
          ? input.spec->representative_problems
          : input.representative_problems;
  for (const WeightedProblem& weighted : wanted) {
    const std::string& name = weighted.problem.specialisation;
    if (!name.empty() && name != specialisation) continue;
    problems.push_back(weighted.problem);
    problems.back().specialisation = specialisation;
  }
  return problems;
}

ProfileStep Plan(const ProfileInput& input,
                 const std::vector<MeasureItem>& failed,
                 const std::vector<MeasureItem>& pending) {
  std::set<Pair> known;
  double device_time_us = 0;
  for (const Sample& sample : input.samples) {
    known.emplace(sample.configuration, sample.problem);
    device_time_us += sample.device_time_us;
  }
  for (const auto* items : {&failed, &pending}) {
    for (const MeasureItem& item : *items) {
      known.emplace(item.configuration, item.problem);
    }
  }
  ProfileStep step;
  const double budget_us = input.options.device_time_budget_us;
  if (budget_us > 0 && device_time_us >= budget_us) return step;
  const std::vector<std::string> names = input.spec->SpecialisationNames();
  for (size_t i = 0; i < names.size(); ++i) {
    for (const Problem& problem : ProblemsOf(input, names[i])) {
      for (const Candidate& candidate : input.candidates[i]) {
        if (candidate.excluded()) continue;
        ++step.samples_planned;
        if (known.contains({candidate.configuration, problem})) continue;
        step.items.push_back({candidate.configuration, problem});
      }
    }
  }
  // In halves, so that there is more than one step.
  if (!step.items.empty()) {
    step.items.resize((step.items.size() + 1) / 2);
    step.phase = ProfilePhase::kSampling;
  }
  return step;
}

struct Ranked {
  Configuration configuration;
  double mean_us = 0;
};

std::vector<Ranked> Rank(const ProfileInput& input, size_t specialisation) {
  const std::string name = input.spec->SpecialisationNames()[specialisation];
  std::map<Configuration, std::pair<double, int>> sums;
  for (const Sample& sample : input.samples) {
    if (sample.problem.specialisation != name) continue;
    auto& [sum, count] = sums[sample.configuration];
    sum += sample.latency_us;
    ++count;
  }
  std::vector<Ranked> ranked;
  for (const Candidate& candidate : input.candidates[specialisation]) {
    const auto it = sums.find(candidate.configuration);
    if (candidate.excluded() || it == sums.end()) continue;
    ranked.push_back(
        {candidate.configuration, it->second.first / it->second.second});
  }
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return std::tie(a.mean_us, a.configuration) <
           std::tie(b.mean_us, b.configuration);
  });
  return ranked;
}

Table EmptyTable(const KernelSpec& spec, const ProfileKey& key) {
  Table table;
  table.kernel = spec.name;
  table.fingerprint = key.fingerprint;
  table.silicon_key = key.silicon_key;
  table.environment_key = key.environment_key;
  table.dimensions = spec.dimensions;
  for (const Parameter& parameter : spec.parameters) {
    table.parameters.push_back(parameter.name);
  }
  table.default_configuration = spec.default_configuration;
  return table;
}

SubTable MakeSubTable(const KernelSpec& spec, const std::string& name,
                      const std::vector<Ranked>& ranked) {
  SubTable sub;
  sub.specialisation = name;
  sub.mapping = spec.MappingOf(name);
  sub.row_regimes = {RowRegime{}};
  sub.max_waves = {std::numeric_limits<int64_t>::max()};
  sub.loop_anchors = {1};
  for (size_t i = 0; i < ranked.size(); ++i) {
    sub.portfolio.push_back(
        {.configuration = ranked[i].configuration, .tiles_per_wave = 64});
    WaveSegment segment;
    segment.coefficients.delta = ranked[i].mean_us;
    segment.floor_us = 0.001;
    segment.relative_bound = 0.1;
    segment.extrapolated_bound = 0.3;
    segment.max_wave = 1 << 20;
    segment.max_iterations = 1 << 20;
    segment.micro = {static_cast<uint8_t>(i)};
    MacroGroup group{.lead = static_cast<uint8_t>(i),
                     .tiles_per_wave = 64,
                     .models = {GroupModel{{segment}}}};
    group.predicates =
        AddPredicates(ProblemRelations(spec.Of(name), ranked[i].configuration),
                      spec.dimensions, sub);
    sub.groups.push_back(std::move(group));
  }
  return sub;
}

absl::StatusOr<FitResult> Fit(const ProfileInput& input) {
  const ProfileKey key{input.spec->name, input.fingerprint,
                       SiliconKey(input.device), EnvironmentKey(input.device)};
  FitResult result{.table = EmptyTable(*input.spec, key)};
  const std::vector<std::string> names = input.spec->SpecialisationNames();
  std::map<std::string, SubTable> sorted;
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<Ranked> ranked = Rank(input, i);
    if (ranked.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "no candidate of specialisation \"", names[i], "\" has samples"));
    }
    ranked.resize(std::min<size_t>(ranked.size(), 2));
    sorted[names[i]] = MakeSubTable(*input.spec, names[i], ranked);
  }
  for (auto& [name, sub] : sorted) {
    result.table.sub_tables.push_back(std::move(sub));
  }
  result.report.earlier_samples =
      static_cast<int64_t>(input.earlier_samples.size());
  result.report.samples_used = static_cast<int64_t>(input.samples.size()) +
                               result.report.earlier_samples;
  const auto throttled =
      std::count_if(input.samples.begin(), input.samples.end(),
                    [](const Sample& sample) { return sample.throttled; });
  result.report.throttled_share = static_cast<double>(throttled) /
                                  static_cast<double>(input.samples.size());
  return result;
}

const Configuration& BestOf(const Table& table, const std::string& name) {
  for (const SubTable& sub : table.sub_tables) {
    if (sub.specialisation == name) return sub.portfolio[0].configuration;
  }
  return table.default_configuration;
}

VerificationPlan PlanCheck(const ProfileInput& input, const Table& table,
                           const Table* incumbent) {
  VerificationPlan plan;
  for (const std::string& name : input.spec->SpecialisationNames()) {
    for (Problem problem : ProblemsOf(input, name)) {
      problem.extents[0] += 1;
      VerificationPlan::Point point{.problem = problem};
      point.chosen = BestOf(table, name);
      point.default_configuration = input.spec->default_configuration;
      point.has_incumbent = incumbent != nullptr;
      point.incumbent =
          incumbent ? BestOf(*incumbent, name) : point.default_configuration;
      for (const Configuration& configuration : std::set<Configuration>{
               point.chosen, point.incumbent, point.default_configuration}) {
        plan.items.push_back({configuration, problem});
      }
      plan.points.push_back(std::move(point));
    }
  }
  return plan;
}

Verdict Judge(const VerificationPlan& plan,
              const std::vector<Sample>& measured) {
  std::map<Pair, double> latency_us;
  for (size_t i = 0; i < plan.items.size(); ++i) {
    latency_us[{plan.items[i].configuration, plan.items[i].problem}] =
        measured[i].latency_us;
  }
  double chosen_us = 0;
  double incumbent_us = 0;
  for (const VerificationPlan::Point& point : plan.points) {
    chosen_us += latency_us[{point.chosen, point.problem}];
    incumbent_us += latency_us[{point.incumbent, point.problem}];
  }
  Verdict verdict;
  verdict.promote = !plan.points.empty() && chosen_us <= incumbent_us;
  verdict.reason =
      absl::StrCat(verdict.promote ? "promoted: " : "refused: ", "chosen ",
                   chosen_us, " us, incumbent ", incumbent_us,
                   " us in sum over ", plan.points.size(), " points");
  return verdict;
}

}  // namespace

ProfilingFunctions FakeProfiling() { return {Plan, Fit, PlanCheck, Judge}; }

Table FixedTable(const KernelSpec& spec, const ProfileKey& key,
                 const Configuration& configuration, double latency_us) {
  Table table = EmptyTable(spec, key);
  std::set<std::string> names;
  for (const std::string& name : spec.SpecialisationNames()) names.insert(name);
  for (const std::string& name : names) {
    table.sub_tables.push_back(
        MakeSubTable(spec, name, {{configuration, latency_us}}));
  }
  return table;
}

}  // namespace wavetune
