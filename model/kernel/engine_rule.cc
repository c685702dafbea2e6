#include "model/kernel/engine_rule.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <variant>

#include "model/kernel/kernel_space.h"
#include "model/kernel/served_layers.h"

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

}  // namespace

std::optional<ExpertsLaunch> EngineRule(absl::string_view engine,
                                        int64_t tokens, int64_t experts) {
  if (engine == "vllm") return VllmRule(tokens, experts);
  if (engine == "sglang") return SglangRule(tokens, experts);
  return std::nullopt;
}

std::vector<EngineRival> EngineRivals(const KernelSpec& spec,
                                      const ProblemView& problem) {
  const auto* const moe = std::get_if<ServedMoe>(&spec.serves);
  if (moe == nullptr || problem.repeated.empty()) return {};
  const int64_t top_k =
      moe->top_k < 0 ? 1 : problem.extents[static_cast<size_t>(moe->top_k)];
  const int64_t slots = std::accumulate(problem.repeated.begin(),
                                        problem.repeated.end(), int64_t{0});
  const int64_t tokens = (slots + top_k - 1) / std::max<int64_t>(top_k, 1);
  std::vector<EngineRival> rivals;
  for (const std::string& engine : moe->engines) {
    const std::optional<ExpertsLaunch> launch = EngineRule(
        engine, tokens, static_cast<int64_t>(problem.repeated.size()));
    if (!launch || spec.parameters.size() != launch->size()) continue;
    std::vector<int64_t> values(launch->size());
    bool known = true;
    for (size_t i = 0; i < launch->size(); ++i) {
      const int at = spec.ParameterIndex(std::string(kExpertsParameters[i]));
      known = known && at >= 0;
      if (at >= 0) values[static_cast<size_t>(at)] = (*launch)[i];
    }
    const Configuration configuration(values);
    if (known && InSpace(spec, configuration) &&
        IsLegal(spec, configuration, problem))
      rivals.push_back({engine, configuration});
  }
  return rivals;
}

}  // namespace wavetune
