#include "cli/commands/compile_cost.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/input_file.h"
#include "base/process_signals.h"
#include "base/status_macros.h"
#include "cli/child_process.h"
#include "cli/scratch_folder.h"
#include "model/kernel/backend_traits.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

// Of each specialisation: enough for a mean, few enough for an answer at once.
constexpr int kCompiled = 6;

// The size of a report on so few candidates.
constexpr size_t kMaxReportBytes = size_t{64} << 20;

// Times at which candidates of one specialisation were done, in order.
using Times = std::vector<double>;

double SecondsOfAll(double begin, const Times& times, int64_t configurations) {
  const double first = times.front() - begin;
  const double rest =
      (times.back() - times.front()) / static_cast<double>(times.size() - 1);
  return first + rest * static_cast<double>(configurations - 1);
}

absl::StatusOr<Json> ReadReport(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadInputFile(path, kMaxReportBytes));
  Json report = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (report.is_discarded())
    return absl::InternalError(
        "wavetune-agent's report cannot be read; are both programs of one "
        "version?");
  return report;
}

}  // namespace

std::vector<CompileCost> EstimateCompileCosts(const KernelSpec& spec,
                                              int64_t candidates) {
  const auto cores = static_cast<double>(CoresOfThisMachine());
  std::vector<CompileCost> costs;
  for (const Implementation& implementation : spec.implementations) {
    const BackendTraits& traits = TraitsOf(implementation.backend);
    if (traits.usual_compile_ms == 0) continue;
    const double seconds = static_cast<double>(traits.usual_compile_ms) / 1e3;
    costs.push_back(
        {.backend = implementation.backend,
         .candidates = candidates,
         .seconds = seconds * static_cast<double>(candidates) / cores,
         .basis = absl::StrCat(seconds, " s of a core each, ",
                               traits.usual_compile_basis, "; on ",
                               CoresOfThisMachine(),
                               " cores; --cost compiles a few and says "
                               "what this kernel takes")});
  }
  return costs;
}

absl::StatusOr<CompileCost> CostFromReport(
    const Json& report, const ConfigurationCounts& configurations) {
  std::map<std::string, Times> by_specialisation;
  for (const Json& candidate : report.value("candidates", Json::array()))
    by_specialisation[candidate.value("specialisation", "")].push_back(
        candidate.value("finished_s", 0.0));
  if (by_specialisation.empty())
    return absl::InvalidArgumentError("no candidate is meant for the device");
  std::vector<std::pair<Times, int64_t>> in_order;  // With configurations.
  size_t compiled = 0;
  for (auto& [name, times] : by_specialisation) {
    std::sort(times.begin(), times.end());
    const auto count = configurations.find(name);
    if (count == configurations.end())
      return absl::InvalidArgumentError(absl::StrCat(
          "the report is of specialisation \"", name,
          "\", which the kernel does not have; are both programs of one "
          "version?"));
    if (times.size() < 2)
      return absl::InvalidArgumentError(
          "the space is too small for a mean: profiling compiles it in no "
          "time");
    compiled += times.size();
    in_order.emplace_back(std::move(times), count->second);
  }
  std::sort(in_order.begin(), in_order.end());
  CompileCost cost;
  double begin = 0;
  for (const auto& [times, count] : in_order) {
    cost.seconds += SecondsOfAll(begin, times, count);
    cost.candidates += count;
    begin = times.back();
  }
  cost.basis = absl::StrCat("measured on ", compiled, " of them, with ",
                            report.value("workers", 1),
                            " workers, checks of results included");
  return cost;
}

absl::StatusOr<CompileCost> MeasureCompileCost(
    const std::string& folder, const ConfigurationCounts& configurations) {
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
