#include "cli/commands/kernel_summary.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/format.h"
#include "fit/build/tile_fills.h"
#include "fit/profile.h"
#include "model/kernel/condition_text.h"
#include "model/kernel/configuration_text.h"
#include "model/kernel/correctness_problems.h"
#include "model/kernel/edge_problems.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/ragged_neighbour.h"

namespace wavetune::cli {
namespace {

constexpr int64_t kSampleExtent = 1024;

Problem SampleProblem(const KernelSpec& spec) {
  Problem problem;
  if (!spec.representative_problems.empty())
    problem = spec.representative_problems[0].problem;
  if (problem.extents.empty()) {
    for (const Dimension& dimension : spec.dimensions) {
      const int64_t extent =
          std::clamp(kSampleExtent, dimension.min, dimension.max);
      problem.extents.push_back(extent);
      if (dimension.repeated) problem.repeated = {extent};
    }
  }
  if (problem.specialisation.empty())
    problem.specialisation = spec.SpecialisationNames()[0];
  return problem;
}

int64_t CountMacro(const KernelSpec& spec,
                   const std::vector<Configuration>& configurations) {
  std::set<std::vector<int64_t>> distinct;
  for (const Configuration& configuration : configurations) {
    std::vector<int64_t> macro;
    for (size_t i = 0; i < spec.parameters.size(); ++i) {
      if (spec.parameters[i].role == ParameterRole::kMacro)
        macro.push_back(configuration[static_cast<int>(i)]);
    }
    distinct.insert(std::move(macro));
  }
  return static_cast<int64_t>(distinct.size());
}

void AddCorrectnessProblems(const KernelSpec& spec, KernelSummary& summary) {
  if (!spec.correctness.has_value()) return;
  for (const std::string& name : spec.SpecialisationNames()) {
    for (const Problem& problem : DeclaredCorrectnessProblems(spec, name)) {
      summary.declared_problems.push_back(
          FormatProblem(spec.dimensions, problem));
    }
    for (const Problem& problem :
         EdgeProblems(spec, name, spec.default_configuration)) {
      summary.edge_problems.push_back(FormatProblem(spec.dimensions, problem));
    }
  }
}

void AddCosts(const KernelSpec& spec, KernelSummary& summary) {
  summary.samples = summary.candidates * ProfileOptions().samples_per_candidate;
  summary.compiling = EstimateCompileCosts(spec, summary.candidates);
}

SpaceSummary SummariseSpace(const SpecialisationSpace& of) {
  SpaceSummary summary{
      .specialisations = of.specialisations,
      .configurations = of.space.count,
      .macro_configurations = CountMacro(*of.spec, of.space.configurations),
      .constraints = CountConstraints(*of.spec, of.space)};
  for (const Condition& constraint : of.spec->constraints)
    summary.constraint_texts.push_back(ConditionText(*of.spec, constraint));
  return summary;
}

// A constraint that names a constant may be there for one specialisation alone.
void AddRemarks(const std::vector<SpecialisationSpace>& spaces,
                std::vector<SpaceSummary>& summaries) {
  std::vector<bool> needed;
  for (const SpaceSummary& summary : summaries) {
    const auto& counts = summary.constraints.constraints;
    needed.resize(std::max(needed.size(), counts.size()));
    for (size_t i = 0; i < counts.size(); ++i)
      needed[i] = needed[i] || counts[i].only.value_or(1) > 0;
  }
  for (size_t i = 0; i < summaries.size(); ++i) {
    summaries[i].remarks =
        ConstraintRemarks(*spaces[i].spec, summaries[i].constraints, needed);
  }
}

// " [stride1, stride2]"; nothing where there is one space.
std::string OfSpecialisations(const KernelSummary& summary,
                              const SpaceSummary& space) {
  if (summary.spaces.size() == 1) return "";
  return absl::StrCat(" [", absl::StrJoin(space.specialisations, ", "), "]");
}

std::string CountText(const std::optional<int64_t>& count) {
  return count.has_value() ? absl::StrCat(*count) : "too many to count";
}

void PrintSpace(Output& out, const KernelSummary& summary,
                const SpaceSummary& space) {
  const std::string of = OfSpecialisations(summary, space);
  out << "  configurations   " << space.configurations << ", "
      << space.macro_configurations << " macro" << of << "\n";
  const ConstraintCounts& counts = space.constraints;
  for (size_t i = 0; i < counts.constraints.size(); ++i) {
    const ConstraintCount& count = counts.constraints[i];
    out << (i == 0 ? "  excluded         " : "                   ")
        << space.constraint_texts[i] << ": " << CountText(count.alone) << " of "
        << counts.combinations << " combinations by itself, "
        << CountText(count.only) << " by it alone" << of << "\n";
  }
  for (const std::string& remark : space.remarks)
    out << "  remark           " << remark << of << "\n";
}

void PrintTileFills(Output& out, const std::vector<PoorTileFill>& all) {
  for (const PoorTileFill& fill : all) {
    out << "  tile fill        " << fill.what << ": "
        << absl::StrFormat("%.0f %%", fill.mean * 100)
        << " in the mean of the representative problems, and they count as "
           "whole; "
        << fill.advice << "\n";
  }
}

// What is never timed, since nobody named such problems.
std::vector<std::string> RemarksOnRoundExtents(const KernelSpec& spec) {
  std::vector<std::string> remarks;
  for (const RoundDimension& round : RoundDimensions(spec)) {
    const std::string& name =
        spec.dimensions[static_cast<size_t>(round.dimension)].name;
    std::vector<std::string> parameters;
    for (const int32_t parameter : round.parameters) {
      parameters.push_back(
          spec.parameters[static_cast<size_t>(parameter)].name);
    }
    remarks.push_back(absl::StrCat(
        "every representative ", name, " is a multiple of every ",
        parameters.empty() ? "tile" : absl::StrJoin(parameters, " * "),
        ": what the kernel does beside whole tiles is timed by verification "
        "alone; add problems as callers ask for them, for example with ",
        name, " = ", round.ragged));
  }
  return remarks;
}

Json TileFillsJson(const std::vector<PoorTileFill>& all) {
  Json json = Json::array();
  for (const PoorTileFill& fill : all)
    json.push_back({{"what", fill.what},
                    {"mean_fill", fill.mean},
                    {"advice", fill.advice}});
  return json;
}

void PrintCosts(Output& out, const KernelSummary& summary) {
  out << "  profiling        compiles " << summary.candidates
      << " candidates, measures at most " << summary.samples << " samples\n";
  for (const CompileCost& cost : summary.compiling) {
    out << "  compiling        " << (cost.backend.empty() ? "" : cost.backend)
        << (cost.backend.empty() ? "" : ": ") << "about "
        << FormatSeconds(std::max(1.0, cost.seconds)) << " (" << cost.basis
        << ")\n";
  }
}

Json CostsJson(const KernelSummary& summary) {
  Json compiling = Json::array();
  for (const CompileCost& cost : summary.compiling)
    compiling.push_back({{"backend", cost.backend},
                         {"seconds", cost.seconds},
                         {"basis", cost.basis}});
  return {{"candidates", summary.candidates},
          {"samples", summary.samples},
          {"compiling", std::move(compiling)}};
}

// null where there are too many to count.
Json CountJson(const std::optional<int64_t>& count) {
  return count.has_value() ? Json(*count) : Json();
}

Json SpaceJson(const SpaceSummary& space) {
  Json constraints = Json::array();
  for (size_t i = 0; i < space.constraint_texts.size(); ++i) {
    const ConstraintCount& count = space.constraints.constraints[i];
    constraints.push_back({{"constraint", space.constraint_texts[i]},
                           {"excluded_by_itself", CountJson(count.alone)},
                           {"excluded_by_it_alone", CountJson(count.only)}});
  }
  return {{"specialisations", space.specialisations},
          {"configurations", space.configurations},
          {"macro_configurations", space.macro_configurations},
          {"combinations", space.constraints.combinations},
          {"constraints", std::move(constraints)},
          {"remarks", space.remarks}};
}

Json SpacesJson(const KernelSummary& summary) {
  Json spaces = Json::array();
  for (const SpaceSummary& space : summary.spaces)
    spaces.push_back(SpaceJson(space));
  return spaces;
}

void PrintProblems(Output& out, const char* head,
                   const std::vector<std::string>& problems, const char* what) {
  out << head << (problems.empty() ? "nothing" : absl::StrJoin(problems, "; "))
      << " (" << what << ")\n";
}

// Above it half of a tile is missing in a fifth of the launches at most.
constexpr double kNearlyFull = 0.9;

// The mean over the representative problems of a specialisation; 1 without any.
double MeanOf(const TileFill& fill, const KernelSpec& spec,
              const std::string& specialisation) {
  double sum = 0;
  double weight = 0;
  for (const WeightedProblem& weighted : spec.representative_problems) {
    const Problem& problem = weighted.problem;
    if (!problem.specialisation.empty() &&
        problem.specialisation != specialisation) {
      continue;
    }
    sum += weighted.weight * fill.At(problem, spec.default_configuration);
    weight += weighted.weight;
  }
  return weight > 0 ? sum / weight : 1;
}

// The axes along which the default's tiles are less than nine tenths full, in
// the order of the mapping, each once over all specialisations. If the manifest
// gives total_iterations, only the axes that it mentions.
std::vector<PoorTileFill> FindPoorTileFills(const KernelSpec& spec) {
  std::vector<PoorTileFill> found;
  for (const std::string& name : spec.SpecialisationNames()) {
    Mapping counted = spec.MappingOf(name);
    if (counted.total_iterations.has_value()) {
      counted.tiles = Expression::Constant(1);
    }
    for (const TileFill& fill : TileFillsOf(spec.Of(name), counted)) {
      const double mean = MeanOf(fill, spec, name);
      const bool known = std::any_of(
          found.begin(), found.end(),
          [&](const PoorTileFill& other) { return other.what == fill.name; });
      if (mean >= kNearlyFull || known) continue;
      found.push_back({fill.name, mean, fill.advice});
    }
  }
  return found;
}

}  // namespace

KernelSummary Summarise(const KernelSpec& spec,
                        const std::vector<SpecialisationSpace>& spaces) {
  KernelSummary summary;
  summary.name = spec.name;
  for (const Dimension& dimension : spec.dimensions)
    summary.dimensions.push_back(
        absl::StrCat(dimension.name, dimension.repeated ? "[]" : ""));
  summary.specialisations = spec.SpecialisationNames();
  for (const Implementation& implementation : spec.implementations)
    summary.backends.push_back(implementation.backend);
  for (const Parameter& parameter : spec.parameters) {
    (parameter.role == ParameterRole::kMacro ? summary.macro_parameters
                                             : summary.micro_parameters)
        .push_back(parameter.name);
  }
  for (const SpecialisationSpace& space : spaces)
    summary.spaces.push_back(SummariseSpace(space));
  AddRemarks(spaces, summary.spaces);
  summary.configurations = CountConfigurations(spaces);
  summary.candidates = CountCandidates(spaces);
  summary.default_configuration =
      FormatConfiguration(ParameterNames(spec), spec.default_configuration);
  const Problem sample = SampleProblem(spec);
  summary.sample_problem = FormatProblem(spec.dimensions, sample);
  summary.sample_coordinates =
      MapProblem(spec.MappingOf(sample.specialisation), sample.View(),
                 spec.default_configuration);
  summary.tile_fills = FindPoorTileFills(spec);
  summary.round_extents = RemarksOnRoundExtents(spec);
  AddCosts(spec, summary);
  AddCorrectnessProblems(spec, summary);
  return summary;
}

Json ToJson(const KernelSummary& summary) {
  const Coordinates& at = summary.sample_coordinates;
  // Most kernels have one space: its fields are there without `spaces`, too.
  // Configurations are those of all spaces, as `kernels list` counts them.
  const Json first = SpaceJson(summary.spaces.front());
  return Json{{"name", summary.name},
              {"dimensions", summary.dimensions},
              {"specialisations", summary.specialisations},
              {"backends", summary.backends},
              {"macro_parameters", summary.macro_parameters},
              {"micro_parameters", summary.micro_parameters},
              {"configurations", summary.configurations},
              {"macro_configurations", first["macro_configurations"]},
              {"combinations", first["combinations"]},
              {"constraints", first["constraints"]},
              {"remarks", first["remarks"]},
              {"spaces", SpacesJson(summary)},
              {"tile_fill", TileFillsJson(summary.tile_fills)},
              {"round_extents", summary.round_extents},
              {"profiling", CostsJson(summary)},
              {"default_configuration", summary.default_configuration},
              {"sample",
               {{"problem", summary.sample_problem},
                {"tiles", at.tiles},
                {"iterations", at.iterations},
                {"total_iterations", at.total_iterations},
                {"longest_loop", at.longest_loop},
                {"rows", at.rows},
                {"row_fill", at.row_fill}}},
              {"checked_at",
               {{"declared", summary.declared_problems},
                {"edges_of_default", summary.edge_problems}}}};
}

void PrintSummary(Output& out, const std::string& path,
                  const KernelSummary& summary) {
  const Coordinates& at = summary.sample_coordinates;
  out << path << ": valid\n"
      << "  kernel           " << summary.name << " ("
      << absl::StrJoin(summary.dimensions, ", ") << ")\n";
  if (summary.specialisations != std::vector<std::string>{""})
    out << "  specialisations  " << absl::StrJoin(summary.specialisations, ", ")
        << "\n";
  out << "  backends         " << absl::StrJoin(summary.backends, ", ") << "\n";
  for (const SpaceSummary& space : summary.spaces)
    PrintSpace(out, summary, space);
  out << "  macro            " << absl::StrJoin(summary.macro_parameters, ", ")
      << "\n"
      << "  micro            " << absl::StrJoin(summary.micro_parameters, ", ")
      << "\n"
      << "  default          " << summary.default_configuration << "\n"
      << "  sample           " << summary.sample_problem << ": G=" << at.tiles
      << absl::StrFormat(" L=%.6g", at.iterations)
      << " W=" << at.total_iterations << " longest loop=" << at.longest_loop
      << " rows=" << at.rows << absl::StrFormat(" fill=%.3g", at.row_fill)
      << "\n";
  PrintTileFills(out, summary.tile_fills);
  for (const std::string& remark : summary.round_extents)
    out << "  remark           " << remark << "\n";
  PrintCosts(out, summary);
  PrintProblems(out, "  checked at       ", summary.declared_problems,
                "declared");
  PrintProblems(out, "                   ", summary.edge_problems,
                "edges of the default's tiles; every candidate has its own");
}

}  // namespace wavetune::cli
