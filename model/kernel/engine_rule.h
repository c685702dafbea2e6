// EngineRule: the configuration that a serving engine launches its experts'
// kernel with where it has no file for the layer. What a table decides has to
// be faster than that.
//
//   EngineRule("vllm", tokens, /*experts=*/128)
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_ENGINE_RULE_H_
#define WAVETUNE_MODEL_KERNEL_ENGINE_RULE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/served_layers.h"
#include "model/kernel/weighted_problem.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

// Parameters of the engines' fused_moe_kernel, in the order of their values.
inline constexpr std::array<absl::string_view, 6> kExpertsParameters = {
    "BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K",
    "GROUP_SIZE_M", "num_warps",    "num_stages"};
using ExpertsLaunch = std::array<int64_t, kExpertsParameters.size()>;

// Returns what `engine` ("vllm", "sglang") launches for bf16 and fp16 experts
// by its rule when `tokens` enter a layer with `experts` on this device;
// nothing for another engine. vLLM: the ladder of get_default_config (0.33.0);
// SGLang: its two configurations (0.5.23), with Triton's own warps and stages.
std::optional<ExpertsLaunch> EngineRule(absl::string_view engine,
                                        int64_t tokens, int64_t experts);

// Returns the configuration of a launch by the names of its parameters. Those
// that it does not name have the kernel's default. Nothing where it is not in
// the kernel's space, or has one that the kernel does not have and is not 0.
std::optional<Configuration> ConfigurationOf(
    const KernelSpec& spec, const std::map<std::string, int64_t>& launch);

// Returns how many tokens enter the layer: slots by top_k. Where experts are
// spread over devices the engine counts the tokens of all, which a problem does
// not say.
int64_t TokensOf(const ServedMoe& moe, const ProblemView& problem);

// Returns all that the rules of the engines that launch `spec` answer, whatever
// the problem, each once.
std::vector<Configuration> EngineConfigurations(const KernelSpec& spec);

// Returns what the engines that launch `spec` (ServedMoe::engines) would launch
// at `problem` by their rules, without those that it cannot launch. Empty for
// other kernels.
std::vector<Rival> EngineRivals(const KernelSpec& spec,
                                const ProblemView& problem);

// Returns the launch at `problem` where there is no table. Engines' files come
// first, where the problem is a representative one and `can_launch` what they
// have. Then comes the first of EngineRivals, then the kernel's default.
Rival WithoutTable(const KernelSpec& spec, const Problem& problem,
                   const std::function<bool(const Configuration&)>& can_launch);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_ENGINE_RULE_H_
