// wavetune evaluate.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/option_checks.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/evaluate/evaluation.h"
#include "cli/evaluate/evaluation_csv.h"
#include "cli/evaluate/trace_fit.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/text_table.h"
#include "fit/profile.h"
#include "formats/kernel_folder.h"
#include "formats/kernel_spec.h"
#include "formats/trace.h"
#include "formats/trace_folder.h"
#include "model/kernel/configuration_text.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_check.h"

namespace wavetune::cli {
namespace {

constexpr size_t kWorstShown = 5;

Json FiguresJson(const EvaluationFigures& figures) {
  return Json{{"problems", figures.problems},
              {"oracle_fraction_geomean", figures.fraction_geomean},
              {"oracle_fraction_p5", figures.fraction_p5},
              {"oracle_fraction_min", figures.fraction_min},
              {"default_fraction_geomean", figures.default_fraction_geomean},
              {"within_bound", figures.within_bound},
              {"bound_median", figures.bound_median},
              {"extrapolated", figures.extrapolated}};
}

void PrintFigures(Output& out, const EvaluationFigures& figures) {
  out << "  of the best     " << FormatPercent(figures.fraction_geomean)
      << " geometric mean, " << FormatPercent(figures.fraction_p5)
      << " 5th percentile, " << FormatPercent(figures.fraction_min)
      << " worst (" << figures.problems << " problems)\n"
      << "  default         "
      << (figures.default_fraction_geomean > 0
              ? absl::StrCat(FormatPercent(figures.default_fraction_geomean),
                             " of the best")
              : "not recorded")
      << "\n  error bounds    " << FormatPercent(figures.within_bound)
      << " of the chosen latencies inside, median half-width "
      << FormatPercent(figures.bound_median) << ", " << figures.extrapolated
      << " decisions extrapolated\n";
}

// Prints figures, notes and the worst problems, for people.
void PrintEvaluation(Output& out, const TraceFit& fit,
                     const Evaluation& evaluation) {
  out << fit.table->table().kernel << ": table "
      << ShortDigest(fit.table->digest()) << ", "
      << FormatBytes(static_cast<int64_t>(fit.table->payload().size()))
      << ", fitted from " << absl::StrFormat("%.1f", fit.SamplesPerCandidate())
      << " samples per candidate (" << fit.samples.size() << " samples of "
      << fit.candidates << " candidates)\n";
  PrintFigures(out, evaluation.overall);
  for (const EvaluationFigures& figures : evaluation.by_specialisation) {
    out << figures.specialisation << "\n";
    PrintFigures(out, figures);
  }
  for (const std::string& note : fit.report.notes)
    out << "  note: " << note << "\n";
  out << "worst problems\n";
  const Table& table = fit.table->table();
  TextTable worst({"PROBLEM", "OF BEST", "CHOSEN", "PREDICTED us", "CHOSEN us",
                   "BEST", "BEST us"});
  for (size_t i = 0; i < std::min(kWorstShown, evaluation.problems.size());
       ++i) {
    const JudgedProblem& judged = evaluation.problems[i];
    worst.AddRow(
        {FormatProblem(table.dimensions, judged.problem),
         FormatPercent(judged.Fraction()),
         FormatConfiguration(table.parameters, judged.decision.configuration),
         absl::StrFormat("%.2f", judged.decision.latency_us),
         absl::StrFormat("%.2f", judged.chosen_us),
         FormatConfiguration(table.parameters, judged.best),
         absl::StrFormat("%.2f", judged.best_us)});
  }
  worst.Print(out);
}

// Prints the same for programs (docs/traces.md).
void PrintEvaluationJson(Output& out, const TraceFit& fit,
                         const Evaluation& evaluation) {
  Json json = FiguresJson(evaluation.overall);
  json["samples_per_candidate"] = fit.SamplesPerCandidate();
  json["samples"] = fit.samples.size();
  json["candidates"] = fit.candidates;
  json["digest"] = fit.table->digest();
  json["size_bytes"] = fit.table->payload().size();
  json["notes"] = fit.report.notes;
  json["specialisations"] = Json::object();
  for (const EvaluationFigures& figures : evaluation.by_specialisation)
    json["specialisations"][figures.specialisation] = FiguresJson(figures);
  json["worst"] = Json::array();
  const Table& table = fit.table->table();
  for (size_t i = 0; i < std::min(kWorstShown, evaluation.problems.size());
       ++i) {
    const JudgedProblem& judged = evaluation.problems[i];
    json["worst"].push_back(
        {{"problem", ToJson(table.dimensions, judged.problem)},
         {"oracle_fraction", judged.Fraction()},
         {"chosen", ToJson(table.parameters, judged.decision.configuration)},
         {"predicted_us", judged.decision.latency_us},
         {"chosen_us", judged.chosen_us},
         {"best", ToJson(table.parameters, judged.best)},
         {"best_us", judged.best_us}});
  }
  PrintJson(out, json);
}

struct EvaluateOptions {
  std::string trace;
  bool representative = false;
  bool planned = false;
  ProfileOptions profile;
  std::string manifest;
  std::string device;
  std::string anchors;
  std::string exhaustive;
  std::string save_table;
  std::string write_samples;
  std::string write_decisions;

  TraceSamples From() const {
    if (planned) return TraceSamples::kPlanned;
    return representative ? TraceSamples::kAnchorsAndRepresentative
                          : TraceSamples::kAnchors;
  }
};

absl::StatusOr<Trace> ReadTrace(const KernelSpec& spec,
                                const DeviceFacts& device,
                                const std::string& path) {
  ASSIGN_OR_RETURN(std::string csv, ReadNamedTextFile(path));
  absl::StatusOr<Trace> trace = ParseTrace(spec, device, csv);
  if (trace.ok()) return trace;
  return absl::Status(trace.status().code(),
                      absl::StrCat(path, ": ", trace.status().message()));
}

// Writes nothing without a path.
absl::Status WriteFile(const std::string& path, const std::string& content) {
  if (path.empty()) return absl::OkStatus();
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.flush();
  if (file.good()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
}

absl::StatusOr<TraceFolder> ReadFiles(const EvaluateOptions& options) {
  for (const auto& [value, flag] :
       {std::pair(&options.manifest, "--manifest"),
        std::pair(&options.device, "--device"),
        std::pair(&options.anchors, "--anchors"),
        std::pair(&options.exhaustive, "--exhaustive")}) {
    if (!value->empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        flag,
        " is missing: name the folder of a trace with --trace, or all of "
        "--manifest, --device, --anchors and --exhaustive"));
  }
  TraceFolder trace;
  ASSIGN_OR_RETURN(trace.manifest, ReadNamedTextFile(options.manifest));
  ASSIGN_OR_RETURN(v1::KernelSpec proto, ParseManifest(trace.manifest));
  ASSIGN_OR_RETURN(trace.spec, KernelSpecFromProto(proto));
  ASSIGN_OR_RETURN(trace.device, LoadDeviceFacts(options.device));
  ASSIGN_OR_RETURN(Trace anchors,
                   ReadTrace(trace.spec, trace.device, options.anchors));
  ASSIGN_OR_RETURN(Trace exhaustive,
                   ReadTrace(trace.spec, trace.device, options.exhaustive));
  const std::vector<std::string> names = trace.spec.SpecialisationNames();
  for (size_t i = 0; i < names.size(); ++i) {
    for (Candidate& candidate : anchors.candidates_by_specialisation[i])
      trace.candidates.push_back({names[i], std::move(candidate)});
  }
  trace.anchors = std::move(anchors.samples);
  trace.exhaustive = std::move(exhaustive.samples);
  return trace;
}

// A fit that has seen what it is judged on says nothing.
absl::Status CheckApart(const TraceFolder& trace, TraceSamples from) {
  std::set<Problem> judged;
  for (const Sample& sample : trace.exhaustive) judged.insert(sample.problem);
  for (const Sample& sample : FittableSamples(trace, from)) {
    if (!judged.contains(sample.problem)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the trace would be fitted to ",
        FormatProblem(trace.spec.dimensions, sample.problem),
        ", where it is judged: take it out of the exhaustive file, or out of "
        "the anchors and representative problems"));
  }
  return absl::OkStatus();
}

absl::StatusOr<TraceFolder> ReadFolder(const EvaluateOptions& options) {
  const TraceSamples from = options.From();
  ASSIGN_OR_RETURN(
      TraceFolder trace,
      LoadTraceFolder(options.trace,
                      {.representative = from != TraceSamples::kAnchors}));
  if (trace.exhaustive.empty())
    return absl::NotFoundError(
        absl::StrCat(options.trace,
                     " has no measurements in exhaustive.csv.gz: record the "
                     "kernel again"));
  RETURN_IF_ERROR(CheckApart(trace, from));
  return trace;
}

absl::StatusOr<TraceFolder> Read(const EvaluateOptions& options) {
  if (!options.trace.empty()) return ReadFolder(options);
  return ReadFiles(options);
}

absl::Status RunEvaluate(CommandContext& context,
                         const EvaluateOptions& options) {
  ASSIGN_OR_RETURN(const TraceFolder trace, Read(options));
  Progress progress(*context.err, context.terminal);
  ASSIGN_OR_RETURN(const TraceFit fit,
                   FitTrace(trace, {.from = options.From(),
                                    .profile = options.profile,
                                    .progress = &progress}));
  RETURN_IF_ERROR(WriteFile(options.save_table, fit.table->payload()));
  ASSIGN_OR_RETURN(const Evaluation evaluation,
                   Evaluate(*fit.table, trace.exhaustive));
  RETURN_IF_ERROR(
      WriteFile(options.write_samples, SamplesCsv(trace.spec, fit.samples)));
  RETURN_IF_ERROR(
      WriteFile(options.write_decisions, DecisionsCsv(trace.spec, evaluation)));
  if (context.json) {
    PrintEvaluationJson(*context.out, fit, evaluation);
  } else {
    PrintEvaluation(*context.out, fit, evaluation);
  }
  return absl::OkStatus();
}

}  // namespace

void AddEvaluateCommand(CommandRegistry& registry) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* command = registry.Add(
      registry.root(), "evaluate",
      "Fits a table from recorded anchors and judges its choices on recorded "
      "exhaustive measurements. Needs neither daemon nor device.",
      {"wavetune evaluate --trace tests/data/h200_triton_gemm",
       "wavetune evaluate --trace traces/gemm_bf16 --profile --json",
       "wavetune evaluate --trace traces/gemm_bf16 --profile --write-samples "
       "samples.csv --write-decisions decisions.csv",
       "wavetune evaluate --manifest manifest.textproto --device "
       "device.textproto --anchors anchors.csv.gz --exhaustive "
       "exhaustive.csv.gz --json"},
      [options](CommandContext& context) {
        return RunEvaluate(context, *options);
      },
      /*needs_daemon=*/false);
  CLI::Option* trace =
      command->add_option("--trace", options->trace,
                          "Folder of a recorded kernel (`wavetune bench "
                          "--record`), in place of the "
                          "four files");
  command
      ->add_flag("--representative", options->representative,
                 "With --trace: fit the representative problems, too, not the "
                 "anchors alone")
      ->needs(trace);
  CLI::Option* profile =
      command
          ->add_flag("--profile", options->planned,
                     "With --trace: fit what profiling would measure, planned "
                     "step by step from the recorded samples, not all of them")
          ->needs(trace)
          ->excludes("--representative");
  command
      ->add_option("--samples-per-candidate",
                   options->profile.samples_per_candidate,
                   "With --profile: largest average number of samples per "
                   "candidate")
      ->needs(profile)
      ->check(NumberIn(1, 10000))
      ->capture_default_str();
  command->add_option("--manifest", options->manifest, "The kernel's manifest")
      ->excludes(trace);
  command
      ->add_option("--device", options->device,
                   "Facts of the recorded device, protobuf text format")
      ->excludes(trace);
  command
      ->add_option("--anchors", options->anchors,
                   "Measurements to fit, comma-separated values, may be gzip; "
                   "columns as the dimensions and parameters, case ignored, "
                   "and latency_us_median or latency_us")
      ->excludes(trace);
  command
      ->add_option("--exhaustive", options->exhaustive,
                   "Every configuration at every judged problem, same form")
      ->excludes(trace);
  command
      ->add_option("--portfolio", options->profile.portfolio_size,
                   "Largest number of candidates in the table; "
                   "default: the kernel's (portfolio_size of its manifest)")
      ->check(NumberIn(1, static_cast<int>(kMaxPortfolio)));
  command->add_option("--save-table", options->save_table,
                      "Write the table's payload to this file");
  command->add_option("--write-samples", options->write_samples,
                      "Write the samples that were fitted to this file, "
                      "comma-separated values: with --profile those that the "
                      "planner asked for");
  command->add_option("--write-decisions", options->write_decisions,
                      "Write what was chosen at every judged problem to this "
                      "file, comma-separated values");
}

}  // namespace wavetune::cli
