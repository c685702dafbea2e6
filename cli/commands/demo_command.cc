// wavetune demo.
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/environment_variable.h"
#include "base/status_macros.h"
#include "cli/child_process.h"
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/report/baselines.h"
#include "cli/report/report_json.h"
#include "cli/report/report_page.h"
#include "cli/report/report_source.h"
#include "cli/text_table.h"

namespace wavetune::cli {
namespace {

constexpr char kDemoPage[] = "wavetune-demo.html";
// Planned in the steps of a node of so many boards, which are longer: planning
// is all that a replay takes time for.
constexpr int kBoards = 8;
// The recording took 14 minutes for 96,790 samples (its README).
constexpr double kSecondsOfSample = 14 * 60 / 96790.0;
constexpr auto kDecisionTime = std::chrono::milliseconds(100);
constexpr auto kBrowserTimeout = std::chrono::seconds(2);
constexpr auto kBrowserPoll = std::chrono::milliseconds(50);

struct DemoOptions {
  std::string device = "recorded";
  std::string out;
  bool no_open = false;
};

absl::StatusOr<std::string> Installed(const std::string& name,
                                      const std::string& in_clone) {
  const std::string folder = FolderBeside(name, in_clone);
  if (!folder.empty()) return folder;
  return absl::NotFoundError(absl::StrCat(
      "share/wavetune/", name, " is not beside ", ProgramFolder().string(),
      ": install all of WaveTune, or run the program of a clone's build"));
}

// The mean over all judged problems, which take turns.
double DecisionNs(const ReportInput& report) {
  const CompiledTable& table = *report.table;
  std::set<Problem> problems;
  for (const Sample& sample : report.judged) problems.insert(sample.problem);
  std::vector<std::pair<int, ProblemView>> views;
  for (const Problem& problem : problems)
    views.emplace_back(table.SubTableIndex(problem.specialisation),
                       problem.View());
  const Clock& clock = SystemClock();
  const Clock::Duration begin = clock.SteadyNow();
  int64_t decisions = 0;
  volatile double sum = 0;  // Nobody may leave out what nobody reads.
  do {
    for (const auto& [sub_table, problem] : views)
      sum = sum + table.Resolve(sub_table, problem).latency_us;
    decisions += static_cast<int64_t>(views.size());
  } while (clock.SteadyNow() - begin < kDecisionTime);
  return ToSeconds(clock.SteadyNow() - begin) * 1e9 /
         static_cast<double>(decisions);
}

// The page where `--out` says, else here, else, where nothing can be written
// here, in a `folder` for temporary files. Sets `path`.
absl::StatusOr<std::unique_ptr<StagedFile>> OpenPage(const std::string& out,
                                                     std::string* path,
                                                     std::string* folder) {
  *path = out.empty() ? kDemoPage : out;
  absl::StatusOr<std::unique_ptr<StagedFile>> page = StagedFile::Open(*path);
  if (page.ok() || !out.empty()) return page;
  std::error_code error;
  std::string made =
      (std::filesystem::temp_directory_path(error) / "wavetune-demo-XXXXXX")
          .string();
  if (error || mkdtemp(made.data()) == nullptr) return page;
  *folder = made;
  *path = made + "/" + kDemoPage;
  return StagedFile::Open(*path);
}

// Whether a browser was asked to show the page. Cannot fail: the path is
// printed all the same.
bool OpenInBrowser(const std::string& path) {
  if (EnvironmentVariable("DISPLAY").empty() &&
      EnvironmentVariable("WAYLAND_DISPLAY").empty())
    return false;
  ChildProcess::Options apart;
  apart.log_path = "/dev/null";
  apart.own_session = true;
  const auto browser = ChildProcess::Start({"xdg-open", path}, apart);
  if (!browser.ok()) return false;
  // It ends at once where it hands the page on, and stays where it becomes the
  // browser.
  const Clock::Duration deadline = SystemClock().SteadyNow() + kBrowserTimeout;
  std::optional<int> code;
  while (!code && SystemClock().SteadyNow() < deadline) {
    SystemClock().Sleep(kBrowserPoll);
    code = (*browser)->Poll();
  }
  if (!code) (*browser)->Leave();
  return code.value_or(0) == 0;
}

void PrintDemo(Output& out, const ReportInput& input, const Json& report,
               double decision_ns) {
  const Json& judged = report["specialisations"][0]["judged"];
  // Label and UUID.
  const std::string gpu = input.device.substr(0, input.device.rfind(' '));
  out << input.table->table().kernel << ", recorded on an " << gpu
      << ": this machine needs no GPU\n"
      << "chosen at " << judged["problems"].size()
      << " layers of language models, none of which was profiled; 100 % is the "
         "best of all "
      << input.candidates.size() << " configurations there\n\n";
  TextTable table({"CHOSEN BY", "OF THE BEST", "5TH PERCENTILE", "WORST"});
  for (const Json& method : judged["methods"]) {
    const bool ours = method["kind"] == "table";
    table.AddRow({ours ? "WaveTune" : method["name"].get<std::string>(),
                  FormatPercent(method["geomean"]), FormatPercent(method["p5"]),
                  FormatPercent(method["worst"])});
  }
  table.Print(out);
  const auto cost = [](size_t samples) {
    return absl::StrCat(
        samples, " samples, about ",
        FormatSeconds(kSecondsOfSample * static_cast<double>(samples)),
        " of the GPU");
  };
  out << "\nprofile    " << cost(input.fitted.size()) << ", for every shape\n"
      << "exhaustive " << cost(input.judged.size())
      << ", for these shapes alone\n"
      << "decision   "
      << absl::StrFormat("%.0f ns on this machine", decision_ns) << "\n";
}

// Sets `made` to the folder that was made for the page, where one was.
absl::Status ReplayRecorded(CommandContext& context, const DemoOptions& options,
                            std::string* made) {
  ASSIGN_OR_RETURN(const std::string folder,
                   Installed("demo", "tests/data/h200/gemm_bf16"));
  std::string path;
  ASSIGN_OR_RETURN(const std::unique_ptr<StagedFile> page,
                   OpenPage(options.out, &path, made));
  Progress progress(*context.err, context.terminal);
  TraceReportOptions trace;
  trace.folder = folder;
  trace.profile.devices = kBoards;
  trace.progress = &progress;
  ASSIGN_OR_RETURN(ReportInput input, ReportFromTrace(trace));
  input.baselines = TunedRules(input);
  input.created = absl::FormatTime("%Y-%m-%d %H:%M",
                                   absl::FromUnixMicros(SystemClock().NowUs()),
                                   absl::LocalTimeZone());
  ASSIGN_OR_RETURN(const Json report, ReportJson(input, {}));
  RETURN_IF_ERROR(page->Commit(ReportPage(report)));
  const double decision_ns = DecisionNs(input);
  path = std::filesystem::absolute(path).string();
  if (context.json) {
    PrintJson(
        *context.out,
        Json{{"kernel", report["kernel"]},
             {"device", report["device"]},
             {"methods", report["specialisations"][0]["judged"]["methods"]},
             {"samples", input.fitted.size()},
             {"exhaustive_samples", input.judged.size()},
             {"decision_ns", decision_ns},
             {"report", path}});
    return absl::OkStatus();
  }
  Output& out = *context.out;
  PrintDemo(out, input, report, decision_ns);
  const bool opened = !options.no_open && OpenInBrowser(path);
  out << "report     " << path << (opened ? ", opened" : "") << "\n"
      << "next       `wavetune demo --device cpu` measures a kernel on this "
         "machine\n";
  return absl::OkStatus();
}

absl::Status RunRecorded(CommandContext& context, const DemoOptions& options) {
  std::string made;
  absl::Status status = ReplayRecorded(context, options, &made);
  std::error_code error;  // Also where the page is in it: then it stays.
  if (!made.empty()) std::filesystem::remove(made, error);
  return status;
}

absl::Status RunDemo(CommandContext& context, const DemoOptions& options) {
  if (options.device == "recorded") return RunRecorded(context, options);
  if (!options.out.empty() || context.json) {
    return absl::InvalidArgumentError(
        "--device cpu prints what it measures and writes no page: leave --out "
        "and --json out");
  }
  ASSIGN_OR_RETURN(const std::string kernels, Installed("kernels", "kernels"));
  *context.err << "gemm_f32 on this machine's CPU: compiled, profiled, and its "
                  "choices measured beside every other configuration, which "
                  "takes some minutes\n";
  return BenchOnCpu(context, kernels + "/gemm_f32",
                    kernels + "/gemm_f32/demo.csv");
}

}  // namespace

void AddDemoCommand(CommandRegistry& registry) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* command = registry.Add(
      registry.root(), "demo",
      "The first minute, on any machine: profiles a kernel on a recorded GPU, "
      "decides at shapes that it has never seen, compares with the best there "
      "and with other ways to choose, and shows the page of charts.",
      {"wavetune demo", "wavetune demo --no-open --out report.html",
       "wavetune demo --device cpu"},
      [options](CommandContext& context) { return RunDemo(context, *options); },
      /*needs_daemon=*/false);
  command
      ->add_option("--device", options->device,
                   "recorded: an NVIDIA H200; cpu: this machine's, by OpenCL, "
                   "with a daemon and an agent for this command alone")
      ->check(CLI::IsMember({"recorded", "cpu"}))
      ->capture_default_str();
  command->add_option(
      "--out", options->out,
      absl::StrCat("Page of charts; default: ", kDemoPage, " in this folder"));
  command->add_flag("--no-open", options->no_open,
                    "Open no browser; without a display none is opened anyway");
}

}  // namespace wavetune::cli
