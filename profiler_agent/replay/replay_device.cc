#include "profiler_agent/replay/replay_device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/input_file.h"
#include "base/status_macros.h"
#include "formats/kernel_folder.h"
#include "model/kernel/exclusion.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/kernel_checks.h"

namespace wavetune {
namespace {

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

ReplayDevice::ReplayDevice(DeviceFacts facts, Options options)
    : facts_(std::move(facts)), options_(std::move(options)) {}

void ReplayDevice::SleepUs(double us) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us));
}

absl::Status ReplayDevice::Load(LoadedKernel kernel) {
  RETURN_IF_ERROR(FindImplementation(kernel.spec, facts_).status());
  // Reading takes a while, and every batch loads the kernel again.
  const bool known = kernel_.has_value() && !kernel.fingerprint.empty() &&
                     kernel_->fingerprint == kernel.fingerprint &&
                     kernel_->spec.name == kernel.spec.name;
  if (!known) RETURN_IF_ERROR(ReadTrace(kernel.spec));
  kernel_ = std::move(kernel);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReplayDevice::FolderOf(
    const std::string& kernel) const {
  for (const std::string& folder : options_.folders) {
    const absl::StatusOr<std::string> text =
        ReadTextFile(absl::StrCat(folder, "/manifest.textproto"));
    if (!text.ok()) continue;
    const absl::StatusOr<v1::KernelSpec> manifest = ParseManifest(*text);
    if (manifest.ok() && manifest->name() == kernel) return folder;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no trace of kernel ", kernel, " was recorded on ", facts_.uuid));
}

absl::Status ReplayDevice::ReadTrace(const KernelSpec& spec) {
  ASSIGN_OR_RETURN(const std::string folder, FolderOf(spec.name));
  ASSIGN_OR_RETURN(const TraceFolder trace,
                   LoadTraceFolder(folder, {.exhaustive = options_.judged}));
  if (absl::Status status = CheckSameKernel(trace.spec, spec); !status.ok()) {
    return AtPath(status, folder);
  }
  candidates_.clear();
  latencies_.clear();
  for (const TraceCandidate& recorded : trace.candidates) {
    candidates_[{recorded.specialisation, recorded.candidate.configuration}] =
        recorded.candidate;
  }
  for (const auto* samples :
       {&trace.anchors, &trace.representative, &trace.exhaustive}) {
    Take(*samples);
  }
  return absl::OkStatus();
}

void ReplayDevice::Take(const std::vector<Sample>& samples) {
  for (const Sample& sample : samples) {
    latencies_[sample.configuration].emplace(
        sample.problem, Recorded{sample.latency_us, sample.suspect});
  }
}

absl::StatusOr<Candidate> ReplayDevice::Prepare(
    const Configuration& configuration, const std::vector<Problem>& /*none*/) {
  if (!kernel_.has_value()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckConfiguration(kernel_->spec, configuration));
  const auto it = candidates_.find({kernel_->specialisation, configuration});
  if (it == candidates_.end()) {
    return absl::NotFoundError(
        absl::StrCat(FormatConfiguration(kernel_->spec, configuration),
                     " was not recorded"));
  }
  if (!it->second.excluded()) return it->second;
  if (IsWrong(it->second)) {
    return absl::DataLossError(
        absl::StrCat("when it was recorded: ",
                     it->second.excluded_reason.substr(kWrongResult.size())));
  }
  return absl::NotFoundError(absl::StrCat("excluded when it was recorded: ",
                                          it->second.excluded_reason));
}

absl::StatusOr<LaunchTimes> ReplayDevice::Measure(
    const Configuration& configuration, const Problem& problem, int warmup,
    int launches) {
  if (!kernel_.has_value()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckLaunch(kernel_->spec, configuration, problem, launches));
  const auto of_configuration = latencies_.find(configuration);
  if (of_configuration != latencies_.end()) {
    const auto it = of_configuration->second.find(problem);
    if (it != of_configuration->second.end()) {
      const Recorded& recorded = it->second;
      if (options_.pace > 0) {
        options_.sleep_us(options_.pace * recorded.latency_us *
                          (std::max(warmup, 0) + launches));
      }
      return LaunchTimes{
          .launch_us = std::vector<double>(static_cast<size_t>(launches),
                                           recorded.latency_us),
          .warmup_us = recorded.latency_us * std::max(warmup, 0),
          .suspect = recorded.suspect};
    }
  }
  return NotRecorded(configuration, problem);
}

absl::Status ReplayDevice::NotRecorded(const Configuration& configuration,
                                       const Problem& problem) const {
  const KernelSpec& spec = kernel_->spec;
  const Problem* nearest = nullptr;
  double distance = std::numeric_limits<double>::infinity();
  if (auto it = latencies_.find(configuration); it != latencies_.end()) {
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
                         : FormatProblem(spec, *nearest),
      options_.judged
          ? ""
          : " (judged problems are answered with --replay-judged)"));
}

}  // namespace wavetune
