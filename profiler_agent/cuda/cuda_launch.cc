#include "profiler_agent/cuda/cuda_launch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "launch/launch_config.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "profiler_agent/cuda/cuda_status.h"
#include "profiler_agent/measure/buffer_values.h"

namespace wavetune {
namespace {

// Triton 3.6 and 3.8, backends/nvidia/driver.c.
constexpr int32_t kTritonPromotionBytes = 128;

}  // namespace

absl::StatusOr<CudaArguments> CudaArguments::Create(
    const KernelSpec& spec, const Implementation* implementation,
    const Configuration& configuration, const Problem& problem) {
  CudaArguments arguments;
  if (implementation != nullptr) {
    for (const TensorMap& map : implementation->tensor_maps) {
      Map& added = arguments.maps_.emplace_back();
      added.argument = static_cast<size_t>(map.argument);
      ASSIGN_OR_RETURN(added.plan,
                       TensorMapPlanOf(spec, map, configuration, problem));
    }
  }
  arguments.buffers_.resize(spec.arguments.size());
  arguments.scalars_.resize(spec.arguments.size());
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    const Argument& argument = spec.arguments[i];
    if (argument.role != ArgumentRole::kScalar) continue;
    ASSIGN_OR_RETURN(arguments.scalars_[i],
                     ScalarBytes(argument, problem.View(), configuration));
  }
  return arguments;
}

absl::Status CudaArguments::SetBuffer(const CudaDriver& driver, size_t argument,
                                      CUdeviceptr address) {
  buffers_[argument] = address;
  for (Map& map : maps_) {
    if (map.argument != argument || !map.plan.has_value()) continue;
    ASSIGN_OR_RETURN(map.value, EncodeTensorMap(driver, *map.plan, address));
  }
  return absl::OkStatus();
}

void CudaArguments::BecomeTritons(const TritonLaunch& launch,
                                  CUdeviceptr scratch) {
  is_tritons_ = true;
  passed_ = launch.passed;
  further_ = {scratch, 0};
  std::erase_if(maps_, [](const Map& map) { return !map.plan.has_value(); });
  for (size_t i = 0; i < maps_.size(); ++i) {
    TensorMapPlan& plan = *maps_[i].plan;
    plan.box = launch.maps[i].box;
    plan.swizzle = launch.maps[i].swizzle;
    plan.l2_promotion_bytes = kTritonPromotionBytes;
    maps_[i].extents = {static_cast<int32_t>(plan.extents[1]),
                        static_cast<int32_t>(plan.extents[0])};
    maps_[i].strides = {static_cast<int64_t>(plan.extents[0]), 1};
  }
}

std::vector<void*> CudaArguments::Pointers() {
  std::vector<void*> pointers;
  for (Map& map : maps_) {
    pointers.push_back(&map.value);
    if (!is_tritons_) continue;
    for (int32_t& extent : map.extents) pointers.push_back(&extent);
    for (int64_t& stride : map.strides) pointers.push_back(&stride);
  }
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (is_tritons_ && !passed_[i]) continue;
    const bool is_scalar = !scalars_[i].empty();
    pointers.push_back(is_scalar ? static_cast<void*>(scalars_[i].data())
                                 : &buffers_[i]);
  }
  for (CUdeviceptr& pointer : further_) pointers.push_back(&pointer);
  return pointers;
}

absl::Status Launch(const CudaSession& session, CUfunction function,
                    const CudaLaunchShape& shape, const LaunchExtent& blocks,
                    CudaArguments& arguments) {
  const LaunchConfig config(shape, blocks, session.stream);
  std::vector<void*> pointers = arguments.Pointers();
  return CudaStatus(
      session.driver->cuLaunchKernelEx(config.get(), function, pointers.data(),
                                       nullptr),
      absl::StrCat("launching ", FormatExtent(blocks), " blocks of ",
                   FormatExtent(shape.block_size),
                   shape.cluster_size > 1
                       ? absl::StrCat(" in clusters of ", shape.cluster_size)
                       : ""));
}

}  // namespace wavetune
