#include "server/jobs/job_requests.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_check.h"
#include "usage/usage_weights.h"

namespace wavetune {
namespace {

constexpr int32_t kDefaultSamplesPerCandidate = 32;
// Eleven days of device time: more is a slip of the pen.
constexpr double kMaxBudgetS = 1e6;
constexpr auto kMaxPortfolioSize = static_cast<int32_t>(kMaxPortfolio);

// What is declared is refined beside what the author names: it gets the time
// that these get, and twice as much at most.
constexpr double kMostDeclaredTime = 2;

double BudgetFactor(const KernelSpec& spec,
                    const std::vector<WeightedProblem>& declared) {
  const size_t named = spec.representative_problems.size();
  if (named == 0) return 1;
  return 1 + std::min(kMostDeclaredTime, static_cast<double>(declared.size()) /
                                             static_cast<double>(named));
}

std::string Uuids(const std::vector<DeviceFacts>& devices) {
  return absl::StrJoin(
      devices, ", ", [](std::string* out, const DeviceFacts& device) {
        absl::StrAppend(out, device.uuid, " (", device.label, ")");
      });
}

absl::Status CheckRequest(const ReprofileRequest& request) {
  const JobOptions& options = request.options;
  if (options.refit_only && request.fresh) {
    return absl::InvalidArgumentError(
        "refit-only and fresh exclude each other: a fresh generation has "
        "nothing to refit");
  }
  if (options.drift_probe &&
      (options.refit_only || request.fresh || options.top_up)) {
    return absl::InvalidArgumentError(
        "drift goes with neither refit-only, fresh nor a top-up: its drift "
        "probe decides how much is measured");
  }
  if (!options.verify_digest.empty() &&
      (!options.drift_probe || request.kernel.empty() ||
       !IsSha256Hex(options.verify_digest))) {
    return absl::InvalidArgumentError(
        "what is verified is a table of one kernel, by a drift probe; name it "
        "by its whole digest");
  }
  // Not finite is not within it, either.
  if (!(options.budget_s >= 0 && options.budget_s <= kMaxBudgetS)) {
    return absl::InvalidArgumentError(
        absl::StrCat("budget_s must be 0 to ", kMaxBudgetS));
  }
  if (!request.device_uuid.empty() && !request.silicon_key.empty()) {
    return absl::InvalidArgumentError(
        "name a device or a class of devices, not both");
  }
  if (request.priority < -JobRequests::kMaxPriority ||
      request.priority > JobRequests::kMaxPriority) {
    return absl::InvalidArgumentError(
        absl::StrCat("priority must be ", -JobRequests::kMaxPriority, " to ",
                     JobRequests::kMaxPriority));
  }
  if (options.samples_per_candidate < 0) {
    return absl::InvalidArgumentError(
        "samples_per_candidate must be 0 or more");
  }
  if (options.portfolio_size < 0 ||
      options.portfolio_size > kMaxPortfolioSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("portfolio_size must be 0 to ", kMaxPortfolioSize));
  }
  return absl::OkStatus();
}

bool IsForClasses(const ReprofileRequest& request) {
  return request.device_uuid.empty() && !request.single_device;
}

// Devices of one class have the same samples and tables.
bool AreAlike(const DeviceFacts& a, const DeviceFacts& b) {
  return SiliconKey(a) == SiliconKey(b) &&
         EnvironmentKey(a) == EnvironmentKey(b);
}

std::vector<DeviceFacts> OneOfEachClass(
    const std::vector<DeviceFacts>& devices) {
  std::vector<DeviceFacts> first;
  for (const DeviceFacts& device : devices) {
    const auto alike = [&](const DeviceFacts& other) {
      return AreAlike(device, other);
    };
    if (std::none_of(first.begin(), first.end(), alike)) {
      first.push_back(device);
    }
  }
  return first;
}

absl::Status KeepClass(const std::string& silicon_key,
                       const std::string& environment_key,
                       std::vector<DeviceFacts>& devices) {
  std::set<std::string> known;
  for (const DeviceFacts& device : devices) known.insert(SiliconKey(device));
  std::erase_if(devices, [&](const DeviceFacts& device) {
    return SiliconKey(device) != silicon_key ||
           (!environment_key.empty() &&
            EnvironmentKey(device) != environment_key);
  });
  if (!devices.empty()) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("no attached device is of class \"", silicon_key,
                   environment_key.empty() ? "" : " ", environment_key,
                   "\"; these are: ", absl::StrJoin(known, ", ")));
}

}  // namespace

absl::StatusOr<std::vector<DeviceFacts>> JobRequests::KnownDevices() const {
  std::map<std::string, DeviceFacts> known;
  ASSIGN_OR_RETURN(const std::vector<DeviceRecord> stored,
                   services_.devices->List());
  for (const DeviceRecord& record : stored) {
    known[record.facts.uuid] = record.facts;
  }
  for (const std::string& uuid : services_.executors->Attached()) {
    const auto executor = services_.executors->Find(uuid, 0);
    if (executor != nullptr) known[uuid] = executor->device();
  }
  std::vector<DeviceFacts> devices;
  for (auto& [uuid, facts] : known) devices.push_back(std::move(facts));
  return devices;
}

absl::StatusOr<std::vector<DeviceFacts>> JobRequests::DevicesFor(
    const std::string& device_uuid, bool refit_only) const {
  ASSIGN_OR_RETURN(std::vector<DeviceFacts> devices, KnownDevices());
  if (device_uuid.empty()) {
    if (!refit_only) {
      const std::vector<std::string> attached = services_.executors->Attached();
      std::erase_if(devices, [&](const DeviceFacts& device) {
        return std::find(attached.begin(), attached.end(), device.uuid) ==
               attached.end();
      });
    }
    if (devices.empty()) {
      return absl::FailedPreconditionError(
          "no device is attached: start wavetune-agent on this node (it "
          "connects to the agent socket), then try again");
    }
    return devices;
  }
  const std::string known = Uuids(devices);
  std::erase_if(devices, [&](const DeviceFacts& device) {
    return device.uuid != device_uuid;
  });
  if (devices.empty()) {
    return absl::NotFoundError(
        absl::StrCat("device \"", device_uuid, "\" is not known",
                     known.empty() ? "; no agent was attached yet"
                                   : absl::StrCat("; known: ", known)));
  }
  return devices;
}

absl::StatusOr<std::vector<JobRequests::Pair>> JobRequests::Pairs(
    const ReprofileRequest& request) const {
  RETURN_IF_ERROR(CheckRequest(request));
  ASSIGN_OR_RETURN(std::vector<DeviceFacts> devices,
                   DevicesFor(request.device_uuid, request.options.refit_only));
  if (!request.silicon_key.empty()) {
    RETURN_IF_ERROR(
        KeepClass(request.silicon_key, request.environment_key, devices));
  }
  if (IsForClasses(request)) devices = OneOfEachClass(devices);
  std::vector<std::string> kernels = {request.kernel};
  if (request.kernel.empty()) kernels = services_.kernels->Names();
  std::vector<Pair> pairs;
  absl::Status refused = absl::FailedPreconditionError(
      "there is no valid kernel: see `wavetune kernels list` for what is "
      "wrong, or "
      "start the daemon with --kernels-dir");
  for (const std::string& kernel : kernels) {
    for (const DeviceFacts& device : devices) {
      const auto tunable = services_.kernels->Get(kernel, device);
      if (tunable.ok()) {
        pairs.push_back({kernel, device});
      } else {
        refused = tunable.status();
      }
    }
  }
  if (pairs.empty()) return refused;
  return pairs;
}

absl::StatusOr<JobRecord> JobRequests::Reprofile(
    const ReprofileRequest& request, const Pair& pair) const {
  ASSIGN_OR_RETURN(const auto kernel,
                   services_.kernels->Get(pair.kernel, pair.device));
  if (!request.fingerprint.empty() &&
      kernel->files.fingerprint != request.fingerprint) {
    return absl::FailedPreconditionError(absl::StrCat(
        "kernel ", pair.kernel, " was edited: it has fingerprint ",
        kernel->files.fingerprint, ", asked for was ", request.fingerprint));
  }
  JobRecord record;
  record.kind = JobKind::kReprofile;
  record.kernel = pair.kernel;
  record.device_uuid = pair.device.uuid;
  record.whole_class = IsForClasses(request);
  record.priority = request.priority;
  record.reason = BoundedText(request.reason, kMaxReasonBytes);
  record.by = request.by;
  record.options = request.options;
  JobOptions& options = record.options;
  if (options.samples_per_candidate == 0)
    options.samples_per_candidate = kDefaultSamplesPerCandidate;
  if (options.portfolio_size == 0)
    options.portfolio_size = kernel->spec.portfolio_size;
  record.used_problems =
      MostUsed(kernel->spec,
               services_.used_problems(pair.kernel, SiliconKey(pair.device)));
  record.workload_problems =
      SharedProblems(services_.workload_problems(kernel->spec));
  record.workload_problem_count =
      static_cast<int32_t>(record.workload_problems.get().size());
  if (options.budget_s == 0)
    options.budget_s =
        services_.settings->default_budget_s.load() *
        BudgetFactor(kernel->spec, record.workload_problems.get());
  options.even_if_busy |= services_.settings->even_if_busy;
  record.key = {pair.kernel, kernel->files.fingerprint, SiliconKey(pair.device),
                EnvironmentKey(pair.device)};
  ASSIGN_OR_RETURN(const std::vector<uint64_t> generations,
                   services_.samples->Generations(record.key));
  const uint64_t latest = generations.empty() ? 0 : generations.back();
  record.generation =
      request.fresh ? latest + 1 : std::max<uint64_t>(1, latest);
  record.created_at_us = services_.clock->NowUs();
  return record;
}

absl::StatusOr<JobRecord> JobRequests::Measure(
    const MeasureRequest& request) const {
  if (request.problems.empty()) {
    return absl::InvalidArgumentError("give at least one problem");
  }
  if (!request.chosen && !request.default_configuration &&
      !request.exhaustive && !request.record) {
    return absl::InvalidArgumentError(
        "say what to measure: chosen, default, exhaustive or record");
  }
  ASSIGN_OR_RETURN(const std::vector<DeviceFacts> devices,
                   DevicesFor(request.device_uuid, /*refit_only=*/false));
  if (devices.size() > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "several devices are attached, name one: ", Uuids(devices)));
  }
  ASSIGN_OR_RETURN(const auto kernel,
                   services_.kernels->Get(request.kernel, devices.front()));
  if (request.record) {
    RETURN_IF_ERROR(CheckJudgedApart(kernel->spec, request.problems));
  }
  JobRecord record;
  record.kind = JobKind::kMeasure;
  record.kernel = request.kernel;
  record.device_uuid = devices.front().uuid;
  record.by = request.by;
  record.options.even_if_busy =
      request.even_if_busy || services_.settings->even_if_busy;
  record.total = static_cast<int64_t>(request.problems.size());
  record.created_at_us = services_.clock->NowUs();
  return record;
}

}  // namespace wavetune
