// wavetune bench.
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/option_checks.h"
#include "base/status_macros.h"
#include "cli/child_process.h"
#include "cli/commands/bench_report.h"
#include "cli/commands/commands.h"
#include "cli/commands/job_text.h"
#include "cli/commands/shipped_rivals.h"
#include "cli/commands/trace_recorder.h"
#include "cli/commands/watch_job.h"
#include "cli/local_node.h"
#include "cli/lookup.h"
#include "cli/no_table.h"
#include "cli/progress.h"
#include "cli/shapes_file.h"
#include "cli/workloads.h"
#include "fit/models/anchor_plan.h"
#include "formats/kernel_folder.h"
#include "formats/types.h"
#include "model/kernel/backend_traits.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

constexpr int kDefaultAnchors = kGridAnchors;
constexpr int kLeastAnchors = kMaxAnchors;
constexpr int kMostAnchors = 1000;

struct BenchOptions {
  std::string kernel;
  std::string shapes;
  std::string workload;
  std::string device;
  std::string specialisation;
  bool exhaustive = false;
  int leaders = 4;
  int rounds = 3;
  bool vendor_baselines = false;
  EngineConfigs engine_configs;
  std::string record;  // Folder of the trace.
  bool replace = false;
  bool fresh = false;
  int anchors = kDefaultAnchors;
  bool even_if_busy = false;
  bool local = false;
  std::vector<std::string> kernels_dirs = {"kernels"};
  double budget_s = 0;
  std::string backends;  // Of a local agent; empty: all that it has.
};

v1::MeasureRequest ToMeasureRequest(const BenchOptions& options,
                                    const KernelSpec& spec,
                                    const std::vector<Shape>& shapes) {
  v1::MeasureRequest request;
  request.set_kernel(spec.name);
  request.set_device_uuid(options.device);
  for (const Shape& shape : shapes)
    *request.add_problems() = ProblemToProto(spec.dimensions, shape.problem);
  request.set_chosen(true);
  request.set_default_configuration(true);
  request.set_exhaustive(options.exhaustive);
  request.set_remeasure_leaders(options.leaders);
  request.set_rounds(options.rounds);
  request.set_vendor_baselines(options.vendor_baselines);
  if (!options.record.empty()) {
    request.set_record(true);
    request.set_fresh(options.fresh);
    request.set_anchors_per_candidate(options.anchors);
  }
  request.set_even_if_busy(options.even_if_busy);
  return request;
}

// Runs the measuring job to its end. `recorder` may be nullptr.
absl::StatusOr<std::vector<BenchLine>> Measure(
    CommandContext& context, Daemon& daemon, const v1::MeasureRequest& request,
    const KernelSpec& spec, const std::vector<Shape>& shapes,
    TraceRecorder* recorder) {
  std::vector<BenchLine> lines;
  absl::Status conversion;
  v1::JobInfo job;
  std::string waiting;
  Progress progress(*context.err, context.terminal);
  const absl::Status status = daemon.Follow<v1::MeasureResponse>(
      request, [&](const v1::MeasureResponse& event) {
        if (event.has_job()) {
          job = event.job();
          ShowProgress(progress, *context.err, job, waiting);
        } else if (event.has_result()) {
          absl::StatusOr<BenchLine> line =
              ToBenchLine(spec, shapes, event.result());
          conversion.Update(line.status());
          if (line.ok()) lines.push_back(*std::move(line));
        } else if (recorder != nullptr) {
          recorder->Take(event);
        }
      });
  progress.Finish();
  if (absl::IsCancelled(status))
    return absl::CancelledError(
        recorder == nullptr
            ? "interrupted; the measuring job is cancelled, its samples are "
              "kept"
            : "interrupted; no trace is written. What was measured is kept: "
              "the same command goes on from there");
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(conversion);
  if (HasEnded(job)) RETURN_IF_ERROR(Outcome(job));
  if (!job.message().empty())
    *context.err << Lines(job.message(), "  ") << "\n";
  if (lines.empty())
    return absl::NotFoundError(
        absl::StrCat("the measuring job gave no results: ", job.message()));
  return lines;
}

void Print(CommandContext& context, const KernelSpec& spec,
           const std::vector<BenchLine>& lines,
           const std::optional<RecordedTrace>& trace) {
  if (context.json) {
    Json json = BenchJson(spec, lines);
    if (trace) json["trace"] = RecordedTraceJson(*trace);
    PrintJson(*context.out, json);
    return;
  }
  PrintBench(*context.out, spec, lines);
  if (trace) PrintRecordedTrace(*context.out, *trace);
}

absl::StatusOr<std::vector<Shape>> ShapesFor(Daemon& daemon,
                                             const KernelSpec& spec,
                                             const BenchOptions& options) {
  if (options.workload.empty()) {
    ASSIGN_OR_RETURN(const std::string csv, ReadNamedTextFile(options.shapes));
    return ParseShapes(spec, csv, options.specialisation);
  }
  ASSIGN_OR_RETURN(const KnownWorkload workload,
                   FindWorkload(daemon, options.workload));
  return JudgedShapes(spec, workload, options.specialisation);
}

// Says why there is no table whose choices could be measured. Errors: ABORTED
// where it was refused, and nobody asked for a trace instead.
absl::Status CheckHasTable(CommandContext& context, Daemon& daemon,
                           const BenchOptions& options, const KernelSpec& spec,
                           const std::vector<BenchLine>& lines) {
  for (const BenchLine& line : lines) {
    if (line.chosen_us > 0) return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const v1::ListJobsResponse jobs,
                   ListJobs(daemon, kJobsLookedAt));
  const v1::JobInfo* const last = LastProfile(jobs, spec.name, options.device);
  const std::string why =
      absl::StrCat("no table of kernel \"", spec.name,
                   "\" could be measured: ", NoTableText(spec.name, last));
  if (last != nullptr && WasRefused(*last) && options.record.empty()) {
    return absl::AbortedError(why);
  }
  *context.err << why << "\n";
  return absl::OkStatus();
}

absl::Status RunAgainst(CommandContext& context, Daemon& daemon,
                        const BenchOptions& options) {
  ASSIGN_OR_RETURN(KnownKernel kernel, FindKernel(daemon, options.kernel));
  ASSIGN_OR_RETURN(const std::vector<Shape> shapes,
                   ShapesFor(daemon, kernel.spec, options));
  std::unique_ptr<TraceRecorder> recorder;
  if (!options.record.empty()) {
    ASSIGN_OR_RETURN(
        recorder, TraceRecorder::Open(options.record, options.replace, kernel));
  }
  v1::MeasureRequest request = ToMeasureRequest(options, kernel.spec, shapes);
  RETURN_IF_ERROR(AddShippedRivals(context, daemon, options.engine_configs,
                                   kernel.spec, shapes, options.device,
                                   request));
  ASSIGN_OR_RETURN(
      std::vector<BenchLine> lines,
      Measure(context, daemon, request, kernel.spec, shapes, recorder.get()));
  std::optional<RecordedTrace> trace;
  if (recorder != nullptr) {
    ASSIGN_OR_RETURN(trace, recorder->Commit());
  }
  Print(context, kernel.spec, lines, trace);
  if (trace) RETURN_IF_ERROR(trace->CheckComplete());
  if (lines.size() == shapes.size()) {
    return CheckHasTable(context, daemon, options, kernel.spec, lines);
  }
  return absl::AbortedError(absl::StrCat(shapes.size() - lines.size(), " of ",
                                         shapes.size(),
                                         " shapes were not measured"));
}

// Profiles the kernel; a fresh daemon has no tables.
absl::Status ProfileLocally(CommandContext& context, Daemon& daemon,
                            const BenchOptions& options) {
  v1::ReprofileRequest request;
  request.set_kernel(options.kernel);
  request.set_device_uuid(options.device);
  request.set_budget_s(options.budget_s);
  request.set_reason("bench --local");
  request.set_even_if_busy(options.even_if_busy);
  ASSIGN_OR_RETURN(v1::ReprofileResponse queued,
                   daemon.Ask<v1::ReprofileResponse>(request));
  for (const v1::JobInfo& job : queued.jobs()) {
    absl::StatusOr<v1::JobInfo> ended =
        WatchUntilEnd(context, daemon, job.id());
    // Leaving ends the daemon, and the job with it.
    if (absl::IsCancelled(ended.status()))
      return absl::CancelledError("interrupted");
    RETURN_IF_ERROR(ended.status());
    // What was refused is said with what is measured (CheckHasTable).
    if (ended->state() != v1::SUCCEEDED) return Outcome(*ended);
  }
  return absl::OkStatus();
}

// The backends whose devices run the kernel; empty where nothing is known. A
// machine may have others, which attach first.
std::string BackendsFor(const KernelSpec& spec) {
  std::set<absl::string_view> backends;
  for (const Implementation& implementation : spec.implementations) {
    const BackendTraits& traits = TraitsOf(implementation.backend);
    if (traits.language != KernelLanguage::kRecording &&
        !traits.devices.empty())
      backends.insert(traits.devices);
  }
  return absl::StrJoin(backends, ",");
}

absl::Status RunLocally(CommandContext& context, BenchOptions options) {
  std::error_code error;
  // Where nobody named a folder, and none is here.
  if (options.kernels_dirs == std::vector<std::string>{"kernels"} &&
      !std::filesystem::is_directory("kernels", error)) {
    const std::string beside = FolderBeside("kernels", "kernels");
    if (!beside.empty()) options.kernels_dirs = {beside};
  }
  const bool is_folder = std::filesystem::is_directory(options.kernel, error);
  std::string place = options.kernel;
  for (const std::string& dir : options.kernels_dirs) {
    if (!std::filesystem::is_directory(place, error))
      place = absl::StrCat(dir, "/", options.kernel);
  }
  // Where it is not there the daemon says so.
  if (std::filesystem::is_directory(place, error)) {
    ASSIGN_OR_RETURN(const KernelFolder folder, LoadKernelFolder(place));
    if (options.backends.empty()) options.backends = BackendsFor(folder.spec);
    if (is_folder) {
      const std::filesystem::path path =
          std::filesystem::absolute(options.kernel).lexically_normal();
      options.kernels_dirs = {(path.has_filename() ? path : path.parent_path())
                                  .parent_path()
                                  .string()};
      options.kernel = folder.spec.name;
    }
  }
  ASSIGN_OR_RETURN(std::unique_ptr<LocalNode> node,
                   LocalNode::Start(options.kernels_dirs, options.backends));
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon,
                   context.connect(node->endpoint()));
  ASSIGN_OR_RETURN(std::string device,
                   node->WaitForDevice(*daemon, options.device));
  options.device = device;
  *context.err << "device " << options.device << "\n";
  RETURN_IF_ERROR(ProfileLocally(context, *daemon, options));
  return RunAgainst(context, *daemon, options);
}

absl::Status RunBench(CommandContext& context, const BenchOptions& options) {
  if (options.shapes.empty() == options.workload.empty()) {
    return absl::InvalidArgumentError(
        "say where to measure: --shapes FILE, or --workload NAME");
  }
  if (options.local) return RunLocally(context, options);
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  return RunAgainst(context, *daemon, options);
}

}  // namespace

absl::Status BenchOnCpu(CommandContext& context, const std::string& folder,
                        const std::string& shapes) {
  BenchOptions options;
  options.kernel = folder;
  options.shapes = shapes;
  options.exhaustive = true;
  options.rounds = 5;
  // The usual minute ends before two slow cores have measured half of a
  // profile.
  options.budget_s = 120;
  options.backends = "opencl";
  return RunLocally(context, options);
}

void AddBenchCommand(CommandRegistry& registry) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = registry.Add(
      registry.root(), "bench",
      "Measures the table's choices and the default at given shapes, and with "
      "--exhaustive every candidate (the leaders again, interleaved); prints "
      "regret and speed-up. With --vendor-baselines also vendor libraries. "
      "With --record "
      "it also measures what profiling could ask for, and writes all of it as "
      "a "
      "trace that `wavetune evaluate` and the replay backend read.",
      {"wavetune bench gemm_f32 --shapes kernels/gemm_f32/small_llm.csv",
       "wavetune bench gemm_f32 --shapes shapes.csv --exhaustive --json",
       "wavetune bench gemm_bf16 --shapes shapes.csv --vendor-baselines",
       "wavetune bench kernels/gemm_f32 --shapes shapes.csv --local",
       "wavetune bench gemm_bf16 --shapes shapes.csv --record traces/g",
       "wavetune bench gemm_bf16 --workload llama --exhaustive",
       "wavetune bench triton_fused_moe --workload m --engine-configs configs"},
      [options](CommandContext& context) {
        return RunBench(context, *options);
      });
  command
      ->add_option("KERNEL", options->kernel,
                   "Kernel; with --local also a kernel folder")
      ->required();
  command->add_option(
      "--shapes", options->shapes,
      "Comma-separated values: a first line with the kernel's "
      "dimensions (other columns are labels), a line per problem; "
      "a repeated dimension's elements are separated by spaces");
  CLI::Option* workload = command->add_option(
      "--workload", options->workload,
      "In place of --shapes: a declared workload's layers at token counts that "
      "profiles never measure");
  command->add_flag("--exhaustive", options->exhaustive,
                    "Measure every candidate that compiles");
  command
      ->add_option("--leaders", options->leaders,
                   "Leaders of the exhaustive pass to measure again")
      ->check(NumberIn(1, 10000))
      ->capture_default_str();
  command
      ->add_option("--rounds", options->rounds,
                   "Rounds in which the choice, the default, the leaders and "
                   "vendor libraries are measured, in turns; the median counts")
      ->check(NumberIn(1, 100))
      ->capture_default_str();
  command->add_flag(
      "--vendor-baselines,--peers", options->vendor_baselines,
      "Measure the vendor libraries that the kernel's manifest "
      "names at the same shapes, in turns with the table's choice, "
      "the default and, with --exhaustive, the leaders");
  AddEngineConfigOptions(command, &options->engine_configs);
  CLI::Option* record = command->add_option(
      "--record", options->record,
      "Write a trace to this folder: every candidate at the shapes (as with "
      "--exhaustive), on a grid of anchors and at the manifest's "
      "representative problems. An interrupted recording goes on where it was");
  command
      ->add_flag("--replace", options->replace,
                 "With --record: replace the trace that the folder holds")
      ->needs(record);
  command
      ->add_flag("--fresh", options->fresh,
                 "With --record: measure everything anew, also what an earlier "
                 "recording on this device measured")
      ->needs(record);
  command
      ->add_option("--anchors", options->anchors,
                   "With --record: anchors per candidate; fewer where the "
                   "kernel has fewer problems")
      ->needs(record)
      ->check(NumberIn(kLeastAnchors, kMostAnchors))
      ->capture_default_str();
  command->add_option("--device", options->device,
                      "Device UUID, where several are attached");
  command->add_flag("--even-if-busy", options->even_if_busy,
                    "Measure while others use the device, too");
  command->add_option("--specialisation", options->specialisation,
                      "Only shapes of this specialisation");
  CLI::Option* local = command->add_flag(
      "--local", options->local,
      "Start a daemon and an agent for this command, on scratch "
      "sockets, and profile the kernel first");
  local->excludes(workload);
  command
      ->add_option(
          "--kernels-dir", options->kernels_dirs,
          "With --local: folder of kernel folders. Where none is here, "
          "those that are installed beside this program")
      ->needs(local)
      ->capture_default_str();
  command
      ->add_option("--budget", options->budget_s,
                   "With --local: device time for profiling in seconds")
      ->needs(local)
      ->check(NumberIn(kBudgetRange));
}

}  // namespace wavetune::cli
