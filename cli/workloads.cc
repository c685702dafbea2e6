#include "cli/workloads.h"

#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "formats/expert_routing.h"
#include "formats/kernel_spec.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

// Calls `take` with each problem of each layer and specialisation.
template <typename Take>
void ForEachProblem(const KernelSpec& spec, const KnownWorkload& workload,
                    TokenCounts counts, const Take& take) {
  for (const LayerProblems& layer : ProblemsOf(
           workload.layers, workload.workload.max_tokens, spec, counts)) {
    for (const WeightedProblem& weighted : layer.problems) {
      const std::string& own = weighted.problem.specialisation;
      for (const std::string& name : spec.SpecialisationNames()) {
        if (!own.empty() && own != name) continue;
        Problem problem = weighted.problem;
        problem.specialisation = name;
        take(layer, std::move(problem));
      }
    }
  }
}

// Why the first layer that a kernel serves has no problems; may be empty.
std::string WhyLeftOut(const KernelSpec& spec, const KnownWorkload& workload) {
  for (const LayerProblems& layer :
       ProblemsOf(workload.layers, workload.workload.max_tokens, spec,
                  TokenCounts::kProfiled)) {
    if (layer.why_left_out.empty()) continue;
    return absl::StrCat(": ", layer.layer, ": ", layer.why_left_out);
  }
  return "";
}

// Says why no problem of a workload judges a kernel.
absl::Status NoJudgedShapes(const KernelSpec& spec,
                            const KnownWorkload& workload,
                            const std::string& specialisation) {
  if (std::holds_alternative<std::monostate>(spec.serves)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "kernel ", spec.name,
        " does not say which layers of models it computes: add serves to its "
        "manifest (docs/manifest.md), or name --shapes"));
  }
  const std::string& name = workload.workload.name;
  if (ProfiledProblems(spec, workload).empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("kernel ", spec.name, " computes no layer of workload ",
                     name, WhyLeftOut(spec, workload)));
  }
  if (!specialisation.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "specialisation \"", specialisation, "\" of kernel ", spec.name,
        " computes no layer of workload ", name, "; leave it out"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("no problem of workload ", name, " judges kernel ",
                   spec.name, ": all token counts up to its --max-tokens (",
                   workload.workload.max_tokens,
                   ") are profiled; declare more, or name --shapes"));
}

}  // namespace

absl::StatusOr<KnownWorkload> FindWorkload(Daemon& daemon,
                                           const std::string& name) {
  v1::GetWorkloadRequest request;
  request.set_name(name);
  ASSIGN_OR_RETURN(v1::GetWorkloadResponse response,
                   daemon.Ask<v1::GetWorkloadResponse>(request));
  KnownWorkload known{.info = response.workload()};
  known.workload = {.name = known.info.name(),
                    .config = std::move(*response.mutable_config()),
                    .parallelism = {.tensor = known.info.tensor_parallel(),
                                    .expert = known.info.expert_parallel()},
                    .max_tokens = known.info.max_tokens()};
  const auto routing = ExpertRoutingFromProto(known.info.routing());
  if (routing.ok()) known.workload.routing = *routing;
  absl::StatusOr<ModelLayers> layers =
      routing.ok() ? LayersOf(known.workload) : routing.status();
  if (!layers.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("workload ", name, ": ", layers.status().message()));
  }
  known.layers = *std::move(layers);
  return known;
}

absl::StatusOr<std::vector<Shape>> JudgedShapes(
    const KernelSpec& spec, const KnownWorkload& workload,
    const std::string& specialisation) {
  std::set<Problem> seen;
  std::vector<Shape> shapes;
  // What the author lets profiles measure judges nothing.
  for (const WeightedProblem& named : spec.representative_problems) {
    for (const std::string& name : spec.SpecialisationNames()) {
      const std::string& own = named.problem.specialisation;
      if (!own.empty() && own != name) continue;
      Problem problem = named.problem;
      problem.specialisation = name;
      seen.insert(std::move(problem));
    }
  }
  ForEachProblem(spec, workload, TokenCounts::kJudged,
                 [&](const LayerProblems& layer, Problem problem) {
                   if (!specialisation.empty() &&
                       problem.specialisation != specialisation) {
                     return;
                   }
                   if (!seen.insert(problem).second) return;
                   shapes.push_back({layer.layer, std::move(problem)});
                 });
  if (shapes.empty()) return NoJudgedShapes(spec, workload, specialisation);
  return shapes;
}

std::vector<Problem> ProfiledProblems(const KernelSpec& spec,
                                      const KnownWorkload& workload) {
  std::vector<Problem> problems;
  ForEachProblem(spec, workload, TokenCounts::kProfiled,
                 [&](const LayerProblems&, Problem problem) {
                   problems.push_back(std::move(problem));
                 });
  return problems;
}

absl::StatusOr<std::vector<std::string>> KernelsServing(
    Daemon& daemon, const KnownWorkload& workload) {
  ASSIGN_OR_RETURN(
      const v1::ListKernelsResponse kernels,
      daemon.Ask<v1::ListKernelsResponse>(v1::ListKernelsRequest()));
  std::vector<std::string> names;
  for (const v1::KernelStatus& kernel : kernels.kernels()) {
    if (!kernel.problem().empty()) continue;
    ASSIGN_OR_RETURN(const KernelSpec spec, KernelSpecFromProto(kernel.spec()));
    if (!ProfiledProblems(spec, workload).empty()) names.push_back(spec.name);
  }
  if (!names.empty()) return names;
  return absl::FailedPreconditionError(
      absl::StrCat("no kernel of the daemon computes a layer of workload ",
                   workload.workload.name,
                   ": a kernel's manifest says with serves which ones it "
                   "does (docs/manifest.md)"));
}

}  // namespace wavetune::cli
