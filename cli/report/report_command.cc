// wavetune report.
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/option_checks.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/problem_arguments.h"
#include "cli/report/baselines.h"
#include "cli/report/report_json.h"
#include "cli/report/report_page.h"
#include "cli/report/report_source.h"
#include "model/table/table_check.h"

namespace wavetune::cli {
namespace {

struct ReportOptions {
  std::string kernel;
  std::string device;
  std::string fingerprint;
  std::string digest;
  std::string workload;
  TraceReportOptions trace;
  std::string out;
  std::string x;
  std::string y;
  std::vector<std::string> fixed;
  std::vector<std::string> baselines;
};

absl::StatusOr<ReportInput> Gather(const CommandContext& context,
                                   const ReportOptions& options) {
  if (!options.trace.folder.empty()) {
    TraceReportOptions trace = options.trace;
    Progress progress(*context.err, context.terminal);
    trace.progress = &progress;
    return ReportFromTrace(trace);
  }
  v1::GetTableRequest request;
  request.set_digest(options.digest);
  request.set_kernel(options.kernel);
  request.set_device_uuid(options.device);
  request.set_fingerprint(options.fingerprint);
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  return ReportFromDaemon(*daemon, request, options.workload);
}

absl::StatusOr<MapOptions> ParseMapOptions(const ReportOptions& options) {
  ASSIGN_OR_RETURN(ProblemArguments fixed,
                   SplitProblemArguments(options.fixed));
  if (!fixed.specialisation.empty())
    return absl::InvalidArgumentError(
        "--fix takes dimensions; every specialisation has maps of its own");
  return MapOptions{
      .x = options.x, .y = options.y, .fixed = std::move(fixed.values)};
}

size_t CountJudged(const Json& report) {
  size_t judged = 0;
  for (const Json& part : report["specialisations"])
    judged += part["judged"]["problems"].size();
  return judged;
}

void PrintSummary(CommandContext& context, const ReportOptions& options,
                  const Json& report, size_t size_bytes) {
  if (context.json) {
    PrintJson(*context.out, Json{{"out", options.out},
                                 {"size_bytes", size_bytes},
                                 {"kernel", report["kernel"]},
                                 {"device", report["device"]},
                                 {"digest", report["digest"]},
                                 {"samples_fitted", report["samples_fitted"]},
                                 {"problems_judged", CountJudged(report)},
                                 {"notes", report["notes"]}});
    return;
  }
  *context.out << options.out << ": "
               << FormatBytes(static_cast<int64_t>(size_bytes)) << ", "
               << report["kernel"].get<std::string>() << " on "
               << report["device"].get<std::string>() << ", "
               << report["samples_fitted"].dump() << " samples fitted, "
               << CountJudged(report) << " problems judged\n";
  for (const Json& note : report["notes"])
    *context.out << "  note: " << note.get<std::string>() << "\n";
}

absl::Status RunReport(CommandContext& context, const ReportOptions& options) {
  const int sources = !options.kernel.empty() + !options.digest.empty() +
                      !options.trace.folder.empty();
  if (sources != 1)
    return absl::InvalidArgumentError(
        "name a kernel, or a table with --digest, or the folder of a trace "
        "with --trace");
  ASSIGN_OR_RETURN(const MapOptions map, ParseMapOptions(options));
  ASSIGN_OR_RETURN(const std::vector<BaselineFile> baselines,
                   ParseBaselineArguments(options.baselines));
  ASSIGN_OR_RETURN(const std::unique_ptr<StagedFile> file,
                   StagedFile::Open(options.out));
  ASSIGN_OR_RETURN(ReportInput input, Gather(context, options));
  ASSIGN_OR_RETURN(input.baselines, ReadBaselines(baselines, input));
  input.created = absl::FormatTime("%Y-%m-%d %H:%M",
                                   absl::FromUnixMicros(SystemClock().NowUs()),
                                   absl::LocalTimeZone());
  ASSIGN_OR_RETURN(const Json report, ReportJson(input, map));
  const std::string page = ReportPage(report);
  RETURN_IF_ERROR(file->Commit(page));
  PrintSummary(context, options, report, page.size());
  return absl::OkStatus();
}

void AddTraceOptions(CLI::App* command, ReportOptions& options) {
  CLI::Option* trace = command->add_option(
      "--trace", options.trace.folder,
      "Folder of a recorded kernel: profile in replay and judge on its "
      "exhaustive measurements; needs no daemon");
  for (const char* other :
       {"KERNEL", "--device", "--fingerprint", "--digest", "--workload"})
    trace->excludes(other);
  CLI::Option* all_anchors =
      command
          ->add_flag("--all-anchors", options.trace.all_anchors,
                     "With --trace: fit every recorded anchor, not what "
                     "profiling would measure; for a trace of another tuner")
          ->needs(trace);
  command
      ->add_option("--samples-per-candidate",
                   options.trace.profile.samples_per_candidate,
                   "With --trace: largest average number of samples per "
                   "candidate")
      ->needs(trace)
      ->excludes(all_anchors)
      ->check(NumberIn(1, 10000))
      ->capture_default_str();
  command
      ->add_option("--portfolio", options.trace.profile.portfolio_size,
                   "With --trace: largest number of candidates in the table; "
                   "default: the kernel's (portfolio_size of its manifest)")
      ->needs(trace)
      ->check(NumberIn(1, static_cast<int>(kMaxPortfolio)));
}

}  // namespace

void AddReportCommand(CommandRegistry& registry) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = registry.Add(
      registry.root(), "report",
      "Writes a page of charts for one kernel on one device: fitted steps and "
      "samples, the configuration map, regret against baselines, the worst "
      "problems. The page is one file and loads nothing. What is judged was "
      "measured by `wavetune bench --exhaustive`.",
      {"wavetune report gemm_f32 --out report.html",
       "wavetune report gemm_bf16 --workload llama --out report.html",
       absl::StrCat("wavetune report gemm_bf16 --map-x m --map-y n ",
                    "--fix k=4096 --out report.html"),
       "wavetune report --trace tests/data/h200/gemm_bf16 --out report.html",
       absl::StrCat("wavetune report --trace tests/data/h200/gemm_bf16 ",
                    "--baseline 'decision tree=tree.csv' --out report.html")},
      [options](CommandContext& context) {
        return RunReport(context, *options);
      });
  command->add_option("KERNEL", options->kernel,
                      "Kernel whose serving table is shown");
  command->add_option("--device", options->device,
                      "Device UUID, where several classes have tables");
  command->add_option("--fingerprint", options->fingerprint,
                      "Fingerprint or prefix, where several versions serve");
  command->add_option("--digest", options->digest,
                      "Show this table, serving or not, in place of KERNEL");
  command->add_option("--workload", options->workload,
                      "Judge at the problems of this workload alone, which "
                      "`wavetune bench --workload` measures");
  command
      ->add_option("--out", options->out,
                   "File to write; what is there is replaced as a whole")
      ->required();
  command->add_option(
      "--map-x", options->x,
      "Dimension along the map's x axis; without it one that spans much");
  command->add_option("--map-y", options->y, "Along its y axis");
  command
      ->add_option("--fix", options->fixed,
                   "dimension=extent of the map, may be repeated; without "
                   "it the most frequent combinations")
      ->allow_extra_args(false);
  command
      ->add_option("--baseline", options->baselines,
                   "NAME=FILE, may be repeated: also show the regret of "
                   "another selector, from what it decides at every judged "
                   "problem (comma-separated values, as `wavetune evaluate "
                   "--write-decisions` and research/baselines write them)")
      ->allow_extra_args(false);
  AddTraceOptions(command, *options);
}

}  // namespace wavetune::cli
