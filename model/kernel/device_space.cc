#include "model/kernel/device_space.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "model/kernel/condition.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/fold.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/launch_descriptor.h"

namespace wavetune {
namespace {

using FactValues = std::array<int64_t, kDeviceFacts>;

FactValues ValuesOf(const DeviceFacts& device) {
  FactValues values{};
  values[static_cast<size_t>(DeviceFact::kComputeCapability)] =
      ComputeCapability(device);
  return values;
}

const std::vector<Condition>& PredicatesFor(const KernelSpec& spec,
                                            const DeviceFacts& device) {
  static const auto* const kNone = new std::vector<Condition>;
  const Implementation* implementation =
      ImplementationFor(spec, device).implementation;
  return implementation == nullptr ? *kNone : implementation->device_predicates;
}

// Device facts stand where a problem predicate has extents.
bool HoldOn(const FactValues& facts, const std::vector<Condition>& predicates,
            const Configuration& configuration) {
  const ProblemView view{absl::MakeConstSpan(facts)};
  return std::all_of(predicates.begin(), predicates.end(),
                     [&](const Condition& predicate) {
                       return Holds(predicate, view, configuration);
                     });
}

std::optional<Configuration> FirstForEveryProblem(const KernelSpec& spec) {
  for (const Configuration& configuration : EnumerateConfigurations(spec)) {
    if (IsLegalForEveryProblem(spec, configuration)) return configuration;
  }
  return std::nullopt;
}

}  // namespace

bool IsMeantFor(const KernelSpec& spec, const Configuration& configuration,
                const DeviceFacts& device) {
  return HoldOn(ValuesOf(device), PredicatesFor(spec, device), configuration);
}

absl::Status CheckLimits(const KernelSpec& spec,
                         const std::string& specialisation,
                         const Configuration& configuration,
                         const DeviceFacts& device) {
  const Implementation* const implementation =
      ImplementationFor(spec, device).implementation;
  if (implementation == nullptr) return absl::OkStatus();
  const LaunchDescriptor launch =
      DescribeLaunch(spec, *implementation, specialisation, configuration);
  const auto check = [](absl::string_view what, int64_t wanted,
                        int64_t limit) -> absl::Status {
    if (limit <= 0 || wanted <= limit) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "it wants ", what, " ", wanted, ", the device allows ", limit));
  };
  RETURN_IF_ERROR(check("work items of a block:", launch.block_size.Total(),
                        device.max_group_size));
  if (!IsConstant(launch.shared_bytes)) return absl::OkStatus();
  return check("bytes of shared memory:",
               Evaluate(launch.shared_bytes, ProblemView(), configuration),
               device.max_shared_memory_bytes);
}

absl::StatusOr<KernelSpec> SpecForDevice(const KernelSpec& spec,
                                         const DeviceFacts& device) {
  const std::vector<Condition>& predicates = PredicatesFor(spec, device);
  KernelSpec result = spec;
  const FactValues facts = ValuesOf(device);
  for (const Condition& predicate : predicates) {
    result.constraints.push_back(WithDimensions(predicate, facts));
  }
  for (auto& [name, own] : result.own) {
    ASSIGN_OR_RETURN(KernelSpec for_device, SpecForDevice(*own, device));
    own = std::make_shared<const KernelSpec>(std::move(for_device));
  }
  if (HoldOn(facts, predicates, spec.default_configuration)) return result;
  const std::optional<Configuration> first = FirstForEveryProblem(result);
  if (!first.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "kernel '", spec.name,
        "' has no configuration that is legal for every problem and meant for "
        "device ",
        device.uuid, " (", device.architecture,
        "): tune it elsewhere, or widen device_predicates in its manifest"));
  }
  result.default_configuration = *first;
  return result;
}

int64_t CountNotMeantFor(const KernelSpec& spec, const DeviceFacts& device) {
  if (PredicatesFor(spec, device).empty()) return 0;
  const std::vector<Configuration> space = EnumerateConfigurations(spec);
  return std::count_if(space.begin(), space.end(),
                       [&](const Configuration& configuration) {
                         return !IsMeantFor(spec, configuration, device);
                       });
}

absl::StatusOr<Configuration> DefaultForDevices(
    const KernelSpec& spec, absl::Span<const DeviceFacts> devices) {
  std::optional<Configuration> found;
  absl::Status failure;
  std::set<std::pair<std::string, std::string>> seen;
  for (const DeviceFacts& device : devices) {
    if (ImplementationFor(spec, device).implementation == nullptr) continue;
    if (!seen.emplace(device.backend, device.architecture).second) continue;
    const absl::StatusOr<KernelSpec> own = SpecForDevice(spec, device);
    if (!own.ok()) {
      failure.Update(own.status());
      continue;
    }
    if (found.has_value() && *found != own->default_configuration) {
      return absl::FailedPreconditionError(
          absl::StrCat("kernel '", spec.name,
                       "' has another default on each of several kinds of "
                       "devices: say which device is meant"));
    }
    found = own->default_configuration;
  }
  if (!found.has_value() && !failure.ok()) return failure;
  return found.value_or(spec.default_configuration);
}

}  // namespace wavetune
