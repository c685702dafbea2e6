#include "cli/commands/compile_cost.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <system_error>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/process_signals.h"
#include "base/status_macros.h"
#include "cli/child_process.h"
#include "cli/scratch_folder.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

// Of each specialisation: enough for a mean, few enough for an answer at once.
constexpr int kCompiled = 6;

// What a candidate of a small kernel takes: docs/manifest.md, "What profiling
// costs".
struct UsualCost {
  absl::string_view backend;
  double seconds;  // Of one core.
  absl::string_view basis;
};
constexpr UsualCost kUsualCosts[] = {
    {"opencl", 0.4, "0.4 s of a core each, as small kernels take with PoCL"},
    {"cuda", 0.2,
     "0.2 s of a core each, as sources without headers take with NVRTC; "
     "templates take ten times as long"},
};

int64_t CountCandidates(const KernelSpec& spec) {
  return static_cast<int64_t>(EnumerateConfigurations(spec).size() *
                              spec.SpecialisationNames().size());
}

unsigned Cores() { return std::max(1U, std::thread::hardware_concurrency()); }

// Times at which candidates of one specialisation were done, in order.
using Times = std::vector<double>;

double SecondsOfAll(double begin, const Times& times, int64_t configurations) {
  const double first = times.front() - begin;
  const double rest =
      (times.back() - times.front()) / static_cast<double>(times.size() - 1);
  return first + rest * static_cast<double>(configurations - 1);
}

absl::StatusOr<Json> ReadReport(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Json report = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (report.is_discarded())
    return absl::InternalError(
        "wavetune-agent's report cannot be read; are both programs of one "
        "version?");
  return report;
}

}  // namespace

std::vector<CompileCost> EstimateCompileCosts(const KernelSpec& spec) {
  const int64_t candidates = CountCandidates(spec);
  std::vector<CompileCost> costs;
  for (const UsualCost& usual : kUsualCosts) {
    if (spec.ImplementationOf(std::string(usual.backend)) == nullptr) continue;
    costs.push_back(
        {.backend = std::string(usual.backend),
         .candidates = candidates,
         .seconds = usual.seconds * static_cast<double>(candidates) / Cores(),
         .basis = absl::StrCat(usual.basis, "; on ", Cores(),
                               " cores; --cost compiles a few and says "
                               "what this kernel takes")});
  }
  return costs;
}

absl::StatusOr<CompileCost> CostFromReport(const Json& report,
                                           int64_t configurations) {
  std::map<std::string, Times> by_specialisation;
  for (const Json& candidate : report.value("candidates", Json::array()))
    by_specialisation[candidate.value("specialisation", "")].push_back(
        candidate.value("finished_s", 0.0));
  if (by_specialisation.empty())
    return absl::InvalidArgumentError("no candidate is meant for the device");
  std::vector<Times> in_order;
  size_t compiled = 0;
  for (auto& [name, times] : by_specialisation) {
    std::sort(times.begin(), times.end());
    if (times.size() < 2)
      return absl::InvalidArgumentError(
          "the space is too small for a mean: profiling compiles it in no "
          "time");
    compiled += times.size();
    in_order.push_back(std::move(times));
  }
  std::sort(in_order.begin(), in_order.end());
  CompileCost cost;
  double begin = 0;
  for (const Times& times : in_order) {
    cost.seconds += SecondsOfAll(begin, times, configurations);
    cost.candidates += configurations;
    begin = times.back();
  }
  cost.basis = absl::StrCat("measured on ", compiled, " of them, with ",
                            report.value("workers", 1),
                            " workers, checks of results included");
  return cost;
}

absl::StatusOr<CompileCost> MeasureCompileCost(const std::string& folder,
                                               int64_t configurations) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> scratch,
                   ScratchFolder::Create());
  const std::string report_path = scratch->path() + "/report.json";
  const std::vector<std::string> arguments = {FindProgram("wavetune-agent"),
                                              "--cache-dir",
                                              scratch->path() + "/programs",
                                              kEndWithStdin,
                                              "compile",
                                              "--kernel-dir",
                                              folder,
                                              "--sample",
                                              absl::StrCat(kCompiled),
                                              "--json"};
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ChildProcess> child,
      ChildProcess::Start(arguments, {.log_path = scratch->path() + "/log",
                                      .output_path = report_path,
                                      .ends_with_us = true}));
  ASSIGN_OR_RETURN(const int code, child->Wait());
  // 1: some were refused, which `kernels compile` is there to say.
  if (code != 0 && code != 1)
    return absl::UnavailableError(
        "no device of this machine compiles the kernel: see wavetune kernels "
        "compile");
  ASSIGN_OR_RETURN(const Json report, ReadReport(report_path));
  return CostFromReport(report, configurations);
}

}  // namespace wavetune::cli
