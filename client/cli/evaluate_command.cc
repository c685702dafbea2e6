// wavetune evaluate.
#include <algorithm>
#include <fstream>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/evaluation.h"
#include "client/cli/evaluation_csv.h"
#include "client/cli/format.h"
#include "client/cli/json.h"
#include "client/cli/text_table.h"
#include "client/cli/trace_profile.h"
#include "model/digest.h"
#include "model/profile.h"
#include "model/status_macros.h"
#include "model/table_check.h"
#include "model/table_codec.h"
#include "model/trace.h"
#include "proto/convert/kernel_folder.h"
#include "proto/convert/kernel_spec.h"
#include "proto/convert/trace_folder.h"

namespace wavetune::cli {
namespace {

constexpr size_t kWorstShown = 5;

struct Options {
  std::string trace;
  bool representative = false;
  bool profile = false;
  int samples_per_candidate = ProfileOptions().samples_per_candidate;
  std::string manifest;
  std::string device;
  std::string anchors;
  std::string exhaustive;
  std::string save_table;
  std::string write_samples;
  std::string write_decisions;
  int portfolio_size = 16;
};

// What was fitted, and from what.
struct Fitted {
  KernelSpec spec;
  std::unique_ptr<const CompiledTable> table;
  FitReport report;
  std::vector<Sample> samples;
  size_t candidates = 0;
  std::vector<Sample> exhaustive;

  double SamplesPerCandidate() const {
    return static_cast<double>(samples.size()) /
           static_cast<double>(std::max<size_t>(candidates, 1));
  }
};

absl::StatusOr<Trace> ReadTrace(const KernelSpec& spec,
                                const DeviceFacts& device,
                                const std::string& path) {
  ASSIGN_OR_RETURN(std::string csv, ReadTextFile(path));
  absl::StatusOr<Trace> trace = ParseTrace(spec, device, csv);
  if (trace.ok()) return trace;
  return absl::Status(trace.status().code(),
                      absl::StrCat(path, ": ", trace.status().message()));
}

// Writes nothing without a path.
absl::Status WriteFile(const std::string& path, const std::string& content) {
  if (path.empty()) return absl::OkStatus();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.flush();
  if (file.good()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot write ", path));
}

// What a fit is made from, and what it is judged on.
struct Recording {
  std::string manifest;
  KernelSpec spec;
  DeviceFacts device;
  std::vector<std::vector<Candidate>> candidates;  // By specialisation.
  std::vector<Sample> fitted;
  std::vector<Sample> exhaustive;
};

absl::StatusOr<Recording> ReadFiles(const Options& options) {
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
  Recording recording;
  ASSIGN_OR_RETURN(recording.manifest, ReadTextFile(options.manifest));
  ASSIGN_OR_RETURN(v1::KernelSpec proto, ParseManifest(recording.manifest));
  ASSIGN_OR_RETURN(recording.spec, KernelSpecFromProto(proto));
  ASSIGN_OR_RETURN(recording.device, LoadDeviceFacts(options.device));
  ASSIGN_OR_RETURN(Trace anchors, ReadTrace(recording.spec, recording.device,
                                            options.anchors));
  ASSIGN_OR_RETURN(Trace exhaustive, ReadTrace(recording.spec, recording.device,
                                               options.exhaustive));
  recording.candidates = std::move(anchors.candidates_by_specialisation);
  recording.fitted = std::move(anchors.samples);
  recording.exhaustive = std::move(exhaustive.samples);
  return recording;
}

// A fit that has seen what it is judged on says nothing.
absl::Status CheckApart(const Recording& recording) {
  std::set<Problem> judged;
  for (const Sample& sample : recording.exhaustive) {
    judged.insert(sample.problem);
  }
  for (const Sample& sample : recording.fitted) {
    if (!judged.contains(sample.problem)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the trace would be fitted to ",
        FormatProblem(recording.spec.dimensions, sample.problem),
        ", where it is judged: take it out of the exhaustive file, or out of "
        "the anchors and representative problems"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Recording> ReadFolder(const Options& options) {
  ASSIGN_OR_RETURN(TraceFolder trace,
                   LoadTraceFolder(options.trace,
                                   {.representative = options.representative ||
                                                      options.profile}));
  for (const auto& [samples, name] :
       {std::pair(&trace.anchors, "anchors"),
        std::pair(&trace.exhaustive, "exhaustive")}) {
    if (!samples->empty()) continue;
    return absl::NotFoundError(
        absl::StrCat(options.trace, " has no measurements in ", name,
                     ".csv.gz: record the kernel again"));
  }
  Recording recording{.manifest = std::move(trace.manifest),
                      .spec = std::move(trace.spec),
                      .device = std::move(trace.device),
                      .fitted = std::move(trace.anchors),
                      .exhaustive = std::move(trace.exhaustive)};
  recording.candidates =
      UsableBySpecialisation(recording.spec, trace.candidates);
  recording.fitted.insert(recording.fitted.end(), trace.representative.begin(),
                          trace.representative.end());
  RETURN_IF_ERROR(CheckApart(recording));
  return recording;
}

absl::StatusOr<Recording> Read(const Options& options) {
  if (!options.trace.empty()) return ReadFolder(options);
  return ReadFiles(options);
}

absl::StatusOr<Fitted> Fit(const Options& options) {
  ASSIGN_OR_RETURN(Recording recording, Read(options));
  Fitted fitted;
  fitted.spec = std::move(recording.spec);
  fitted.exhaustive = std::move(recording.exhaustive);
  for (const std::vector<Candidate>& candidates : recording.candidates)
    fitted.candidates += candidates.size();

  ProfileInput input;
  input.spec = &fitted.spec;
  input.fingerprint = Sha256Hex(recording.manifest);
  input.device = recording.device;
  input.candidates = std::move(recording.candidates);
  input.samples = std::move(recording.fitted);
  input.options.portfolio_size = options.portfolio_size;
  input.options.samples_per_candidate = options.samples_per_candidate;
  size_t missing = 0;
  if (options.profile) {
    TraceProfile profile = ProfileFromTrace(input, input.samples);
    input.samples = std::move(profile.samples);
    missing = profile.missing.size();
  }
  const std::string note =
      missing == 0 ? ""
                   : absl::StrCat(missing,
                                  " planned samples were not recorded: the "
                                  "planner or the manifest has changed since; "
                                  "record the kernel again");
  absl::StatusOr<FitResult> result = FitTable(input);
  if (!result.ok()) {
    return absl::Status(result.status().code(),
                        absl::StrCat(result.status().message(),
                                     note.empty() ? "" : "; ", note));
  }
  fitted.samples = std::move(input.samples);
  fitted.report = std::move(result->report);
  if (!note.empty()) fitted.report.notes.push_back(note);
  ASSIGN_OR_RETURN(std::string payload, EncodeTable(result->table));
  RETURN_IF_ERROR(WriteFile(options.save_table, payload));
  ASSIGN_OR_RETURN(fitted.table, CompiledTable::Create(payload));
  return fitted;
}

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

void PrintEvaluationJson(std::ostream& out, const Fitted& fitted,
                         const Evaluation& evaluation) {
  Json json = FiguresJson(evaluation.overall);
  json["samples_per_candidate"] = fitted.SamplesPerCandidate();
  json["samples"] = fitted.samples.size();
  json["candidates"] = fitted.candidates;
  json["digest"] = fitted.table->digest();
  json["size_bytes"] = fitted.table->payload().size();
  json["notes"] = fitted.report.notes;
  json["specialisations"] = Json::object();
  for (const EvaluationFigures& figures : evaluation.by_specialisation)
    json["specialisations"][figures.specialisation] = FiguresJson(figures);
  json["worst"] = Json::array();
  const std::vector<std::string> parameters = ParameterNames(fitted.spec);
  for (size_t i = 0; i < std::min(kWorstShown, evaluation.problems.size());
       ++i) {
    const JudgedProblem& judged = evaluation.problems[i];
    json["worst"].push_back(
        {{"problem", ToJson(fitted.spec.dimensions, judged.problem)},
         {"oracle_fraction", judged.Fraction()},
         {"chosen", ToJson(parameters, judged.decision.configuration)},
         {"predicted_us", judged.decision.latency_us},
         {"chosen_us", judged.chosen_us},
         {"best", ToJson(parameters, judged.best)},
         {"best_us", judged.best_us}});
  }
  PrintJson(out, json);
}

void PrintFigures(std::ostream& out, const EvaluationFigures& figures) {
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

void PrintEvaluation(std::ostream& out, const Fitted& fitted,
                     const Evaluation& evaluation) {
  out << fitted.spec.name << ": table " << fitted.table->digest().substr(0, 16)
      << ", "
      << FormatBytes(static_cast<int64_t>(fitted.table->payload().size()))
      << ", fitted from "
      << absl::StrFormat("%.1f", fitted.SamplesPerCandidate())
      << " samples per candidate (" << fitted.samples.size() << " samples of "
      << fitted.candidates << " candidates)\n";
  PrintFigures(out, evaluation.overall);
  for (const EvaluationFigures& figures : evaluation.by_specialisation) {
    out << figures.specialisation << "\n";
    PrintFigures(out, figures);
  }
  for (const std::string& note : fitted.report.notes)
    out << "  note: " << note << "\n";
  out << "worst problems\n";
  const std::vector<std::string> parameters = ParameterNames(fitted.spec);
  TextTable table({"PROBLEM", "OF BEST", "CHOSEN", "PREDICTED us", "CHOSEN us",
                   "BEST", "BEST us"});
  for (size_t i = 0; i < std::min(kWorstShown, evaluation.problems.size());
       ++i) {
    const JudgedProblem& judged = evaluation.problems[i];
    table.AddRow(
        {FormatProblem(fitted.spec.dimensions, judged.problem),
         FormatPercent(judged.Fraction()),
         FormatConfiguration(parameters, judged.decision.configuration),
         absl::StrFormat("%.2f", judged.decision.latency_us),
         absl::StrFormat("%.2f", judged.chosen_us),
         FormatConfiguration(parameters, judged.best),
         absl::StrFormat("%.2f", judged.best_us)});
  }
  table.Print(out);
}

absl::Status Run(CommandContext& context, const Options& options) {
  ASSIGN_OR_RETURN(Fitted fitted, Fit(options));
  ASSIGN_OR_RETURN(Evaluation evaluation,
                   Evaluate(*fitted.table, fitted.exhaustive));
  RETURN_IF_ERROR(WriteFile(options.write_samples,
                            SamplesCsv(fitted.spec, fitted.samples)));
  RETURN_IF_ERROR(WriteFile(options.write_decisions,
                            DecisionsCsv(fitted.spec, evaluation)));
  if (context.json) {
    PrintEvaluationJson(*context.out, fitted, evaluation);
  } else {
    PrintEvaluation(*context.out, fitted, evaluation);
  }
  return absl::OkStatus();
}

}  // namespace

void AddEvaluateCommand(CommandRegistry& registry) {
  auto options = std::make_shared<Options>();
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
      [options](CommandContext& context) { return Run(context, *options); },
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
          ->add_flag("--profile", options->profile,
                     "With --trace: fit what profiling would measure, planned "
                     "step by step from the recorded samples, not all of them")
          ->needs(trace)
          ->excludes("--representative");
  command
      ->add_option("--samples-per-candidate", options->samples_per_candidate,
                   "With --profile: largest average number of samples per "
                   "candidate")
      ->needs(profile)
      ->check(CLI::Range(1, 10000))
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
      ->add_option("--portfolio", options->portfolio_size,
                   "Largest number of candidates in the table")
      ->check(CLI::Range(1, static_cast<int>(kMaxPortfolio)))
      ->capture_default_str();
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
