#include "model/kernel/engine_rule.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <variant>

#include "absl/strings/str_cat.h"
#include "model/kernel/kernel_space.h"

namespace wavetune {
namespace {

ExpertsLaunch VllmRule(int64_t tokens, int64_t experts) {
  const bool few = tokens <= 64;
  const int64_t rows = tokens <= 32    ? 16
                       : tokens <= 96  ? 32
                       : tokens <= 512 ? 64
                                       : 128;
  const int64_t group = tokens / std::max<int64_t>(experts, 1) > 128 ? 16 : 1;
  return {rows,  few ? 64 : 128,        few ? 128 : 64,
          group, tokens <= 128 ? 4 : 8, tokens <= 32 ? 4 : 3};
}

ExpertsLaunch SglangRule(int64_t tokens, int64_t experts) {
  // It names neither warps nor stages: Triton's defaults.
  if (tokens <= experts) return {16, 32, 64, 1, 4, 3};
  return {64, 64, 32, 8, 4, 3};
}

// A number of tokens in each step of the rules, and more experts than tokens.
constexpr int64_t kRuleSteps[] = {1, 33, 65, 97, 129, 513, 1 << 20};
constexpr int64_t kManyExperts = int64_t{1} << 40;

std::optional<Configuration> InSpaceOf(
    const KernelSpec& spec, const std::optional<ExpertsLaunch>& launch) {
  if (!launch) return std::nullopt;
  std::map<std::string, int64_t> named;
  for (size_t i = 0; i < launch->size(); ++i)
    named.emplace(kExpertsParameters[i], (*launch)[i]);
  return ConfigurationOf(spec, named);
}

}  // namespace

std::optional<Configuration> ConfigurationOf(
    const KernelSpec& spec, const std::map<std::string, int64_t>& launch) {
  const auto given = spec.default_configuration.values();
  std::vector<int64_t> values(given.begin(), given.end());
  values.resize(spec.parameters.size());
  for (const auto& [name, value] : launch) {
    const int at = spec.ParameterIndex(name);
    if (at < 0 && value != 0) return std::nullopt;
    if (at >= 0) values[static_cast<size_t>(at)] = value;
  }
  const Configuration configuration(values);
  if (!InSpace(spec, configuration)) return std::nullopt;
  return configuration;
}

std::optional<ExpertsLaunch> EngineRule(absl::string_view engine,
                                        int64_t tokens, int64_t experts) {
  if (engine == "vllm") return VllmRule(tokens, experts);
  if (engine == "sglang") return SglangRule(tokens, experts);
  return std::nullopt;
}

int64_t TokensOf(const ServedMoe& moe, const ProblemView& problem) {
  const int64_t top_k =
      moe.top_k < 0 ? 1
                    : std::max<int64_t>(
                          problem.extents[static_cast<size_t>(moe.top_k)], 1);
  const int64_t slots = std::accumulate(problem.repeated.begin(),
                                        problem.repeated.end(), int64_t{0});
  return (slots + top_k - 1) / top_k;
}

std::vector<Rival> EngineRivals(const KernelSpec& spec,
                                const ProblemView& problem) {
  const auto* const moe = std::get_if<ServedMoe>(&spec.serves);
  if (moe == nullptr || problem.repeated.empty()) return {};
  std::vector<Rival> rivals;
  for (const std::string& engine : moe->engines) {
    const std::optional<Configuration> configuration = InSpaceOf(
        spec, EngineRule(engine, TokensOf(*moe, problem),
                         static_cast<int64_t>(problem.repeated.size())));
    if (configuration && IsLegal(spec, *configuration, problem))
      rivals.push_back({absl::StrCat(engine, "'s rule"), *configuration});
  }
  return rivals;
}

std::vector<Configuration> EngineConfigurations(const KernelSpec& spec) {
  const auto* const moe = std::get_if<ServedMoe>(&spec.serves);
  if (moe == nullptr) return {};
  std::set<Configuration> all;
  for (const std::string& engine : moe->engines) {
    for (const int64_t tokens : kRuleSteps) {
      for (const int64_t experts : {int64_t{1}, kManyExperts}) {
        const std::optional<Configuration> configuration =
            InSpaceOf(spec, EngineRule(engine, tokens, experts));
        if (configuration) all.insert(*configuration);
      }
    }
  }
  return {all.begin(), all.end()};
}

Rival WithoutTable(
    const KernelSpec& spec, const Problem& problem,
    const std::function<bool(const Configuration&)>& can_launch) {
  for (const WeightedProblem& declared : spec.representative_problems) {
    if (declared.rivals.empty() || declared.problem != problem) continue;
    for (const Rival& rival : declared.rivals) {
      if (can_launch(rival.configuration)) return rival;
    }
  }
  const KernelSpec& own = spec.Of(problem.specialisation);
  const std::vector<Rival> rules = EngineRivals(own, problem.View());
  return rules.empty() ? Rival{"", own.default_configuration} : rules.front();
}

}  // namespace wavetune
