#include "profiler_agent/replay/replay_device.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/kernel_validation.h"
#include "model/status_macros.h"
#include "model/trace.h"
#include "profiler_agent/kernel_checks.h"
#include "proto/convert/kernel_folder.h"

namespace wavetune {
namespace {

std::vector<std::string> TraceFiles(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder, ignored)) {
    const std::string path = entry.path().string();
    if (absl::EndsWith(path, ".csv") || absl::EndsWith(path, ".csv.gz")) {
      paths.push_back(path);
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

double LogRatio(int64_t a, int64_t b) {
  return std::abs(std::log(static_cast<double>(std::max<int64_t>(a, 1)) /
                           static_cast<double>(std::max<int64_t>(b, 1))));
}

// How far apart two problems are: octaves, summed over extents.
double Distance(const Problem& a, const Problem& b) {
  if (a.specialisation != b.specialisation) {
    return std::numeric_limits<double>::infinity();
  }
  double distance = 0;
  for (size_t i = 0; i < a.extents.size() && i < b.extents.size(); ++i) {
    distance += LogRatio(a.extents[i], b.extents[i]);
  }
  for (size_t i = 0; i < a.repeated.size() && i < b.repeated.size(); ++i) {
    distance += LogRatio(a.repeated[i], b.repeated[i]);
  }
  return distance;
}

}  // namespace

ReplayDevice::ReplayDevice(DeviceFacts facts, std::vector<std::string> folders)
    : facts_(std::move(facts)), folders_(std::move(folders)) {}

absl::Status ReplayDevice::Load(LoadedKernel kernel) {
  RETURN_IF_ERROR(FindImplementation(kernel.spec, facts_.backend).status());
  ASSIGN_OR_RETURN(const std::string folder, FolderOf(kernel.spec.name));
  RETURN_IF_ERROR(ReadTraces(kernel.spec, folder));
  kernel_ = std::move(kernel);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReplayDevice::FolderOf(
    const std::string& kernel) const {
  for (const std::string& folder : folders_) {
    const absl::StatusOr<std::string> text =
        ReadTextFile(absl::StrCat(folder, "/manifest.textproto"));
    if (!text.ok()) continue;
    const absl::StatusOr<v1::KernelSpec> manifest = ParseManifest(*text);
    if (manifest.ok() && manifest->name() == kernel) return folder;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no trace of kernel ", kernel, " was recorded on ", facts_.uuid));
}

absl::Status ReplayDevice::ReadTraces(const KernelSpec& spec,
                                      const std::string& folder) {
  std::map<Configuration, Candidate> candidates;
  std::map<Configuration, std::map<Problem, double>> latencies_us;
  for (const std::string& path : TraceFiles(folder)) {
    ASSIGN_OR_RETURN(const std::string csv, ReadTextFile(path));
    const absl::StatusOr<Trace> trace = ParseTrace(spec, facts_, csv);
    if (!trace.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", trace.status().message()));
    }
    for (const Candidate& candidate : trace->candidates) {
      Candidate& known = candidates[candidate.configuration];
      // A file without a column for residency says 1.
      if (candidate.capacity > known.capacity) known = candidate;
      known.configuration = candidate.configuration;
    }
    for (const Sample& sample : trace->samples) {
      latencies_us[sample.configuration].emplace(sample.problem,
                                                 sample.latency_us);
    }
  }
  candidates_ = std::move(candidates);
  latencies_us_ = std::move(latencies_us);
  return absl::OkStatus();
}

absl::StatusOr<Candidate> ReplayDevice::Prepare(
    const Configuration& configuration, const std::vector<Problem>& /*none*/) {
  if (!kernel_.has_value()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckConfiguration(kernel_->spec, configuration));
  const auto it = candidates_.find(configuration);
  if (it != candidates_.end()) return it->second;
  return absl::NotFoundError(absl::StrCat(
      FormatConfiguration(kernel_->spec, configuration), " was not recorded"));
}

absl::StatusOr<LaunchTimes> ReplayDevice::Measure(
    const Configuration& configuration, const Problem& problem, int warmup,
    int launches) {
  if (!kernel_.has_value()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckLaunch(kernel_->spec, configuration, problem, launches));
  const auto of_configuration = latencies_us_.find(configuration);
  if (of_configuration != latencies_us_.end()) {
    const auto it = of_configuration->second.find(problem);
    if (it != of_configuration->second.end()) {
      return LaunchTimes{.launch_us = std::vector<double>(
                             static_cast<size_t>(launches), it->second),
                         .warmup_us = it->second * std::max(warmup, 0)};
    }
  }
  return NotRecorded(configuration, problem);
}

absl::Status ReplayDevice::NotRecorded(const Configuration& configuration,
                                       const Problem& problem) const {
  const KernelSpec& spec = kernel_->spec;
  const Problem* nearest = nullptr;
  double distance = std::numeric_limits<double>::infinity();
  if (auto it = latencies_us_.find(configuration); it != latencies_us_.end()) {
    for (const auto& [recorded, unused] : it->second) {
      const double to_recorded = Distance(recorded, problem);
      if (to_recorded < distance) {
        distance = to_recorded;
        nearest = &recorded;
      }
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "problem ", FormatProblem(spec, problem), " was not recorded for ",
      FormatConfiguration(spec, configuration), "; nearest: ",
      nearest == nullptr ? std::string("none of this configuration")
                         : FormatProblem(spec, *nearest)));
}

}  // namespace wavetune
