#include "launch/launch_arguments.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "launch/launch_file.h"
#include "launch/tensor_map_encoding.h"
#include "model/kernel/argument.h"
#include "model/kernel/mapping.h"
#include "model/kernel/tensor_map_plan.h"

namespace wavetune {
namespace {

absl::Status CheckAddress(const Argument& argument, const void* address) {
  if (address == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("buffer '", argument.name, "' is null"));
  }
  if (reinterpret_cast<uintptr_t>(address) % kBufferAlignment == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("buffer '", argument.name, "' is at 0x",
                   absl::Hex(reinterpret_cast<uintptr_t>(address)),
                   "; it must lie at a multiple of ", kBufferAlignment));
}

// Of the caller's problem, so that is what is at fault here.
absl::Status AsInvalid(const absl::Status& status) {
  return absl::InvalidArgumentError(status.message());
}

}  // namespace

absl::Status LaunchArguments::FillValues(const LaunchDescriptor& launch,
                                         const ProblemView& problem,
                                         absl::Span<void* const> buffers) {
  size_t next = 0;
  for (const Argument& argument : launch.arguments) {
    Value& value = values_.emplace_back();
    if (argument.role == ArgumentRole::kScalar) {
      const absl::StatusOr<std::string> bytes =
          ScalarBytes(argument, problem, Configuration());
      if (!bytes.ok()) return AsInvalid(bytes.status());
      std::memcpy(value.bytes.data(), bytes->data(), bytes->size());
      continue;
    }
    value.address = next < buffers.size() ? buffers[next] : nullptr;
    if (next++ < buffers.size()) {
      RETURN_IF_ERROR(CheckAddress(argument, value.address));
    }
  }
  if (next == buffers.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the kernel takes ", next, " buffers, not ", buffers.size()));
}

absl::Status LaunchArguments::FillMaps(const LaunchDriver& driver,
                                       const LaunchDescriptor& launch,
                                       const ProblemView& problem) {
  for (const TensorMapDescriptor& map : launch.tensor_maps) {
    CUtensorMap& encoded = maps_.emplace_back(CUtensorMap{});
    if (!map.enabled) continue;  // Zeros.
    const auto index = static_cast<size_t>(map.argument);
    const absl::StatusOr<TensorMapPlan> plan =
        PlanTensorMap(map, launch.arguments[index], problem);
    if (!plan.ok()) return AsInvalid(plan.status());
    RETURN_IF_ERROR(
        driver.Check(EncodeTensorMap(driver.cuTensorMapEncodeTiled, *plan,
                                     values_[index].address, &encoded),
                     "encoding a tensor map"));
  }
  return absl::OkStatus();
}

absl::Status LaunchArguments::ZeroWorkspaces(const LaunchDriver& driver,
                                             const LaunchDescriptor& launch,
                                             const ProblemView& problem,
                                             CUstream stream) const {
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const Argument& argument = launch.arguments[i];
    if (!IsZeroedBy(argument, Zeroed::kEveryLaunch)) continue;
    const auto elements =
        static_cast<size_t>(Evaluate(argument.size, problem, Configuration()));
    RETURN_IF_ERROR(
        driver.Check(driver.cuMemsetD8Async(
                         reinterpret_cast<CUdeviceptr>(values_[i].address), 0,
                         elements * ElementBytes(argument.type), stream),
                     "zeroing a workspace"));
  }
  return absl::OkStatus();
}

absl::Status LaunchArguments::Fill(const LaunchDriver& driver,
                                   const LaunchDescriptor& launch,
                                   const ProblemView& problem,
                                   absl::Span<void* const> buffers) {
  RETURN_IF_ERROR(FillValues(launch, problem, buffers));
  RETURN_IF_ERROR(FillMaps(driver, launch, problem));
  for (CUtensorMap& map : maps_) pointers_.push_back(&map);
  for (Value& value : values_) pointers_.push_back(&value);
  return absl::OkStatus();
}

}  // namespace wavetune
