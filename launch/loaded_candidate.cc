#include "launch/loaded_candidate.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "launch/launch_arguments.h"
#include "launch/launch_config.h"
#include "model/kernel/fold.h"
#include "model/kernel/launch_descriptor.h"
#include "model/kernel/relation.h"

namespace wavetune {
namespace {

// Clusters up to this size run on every device that has clusters at all.
constexpr int64_t kPortableClusterSize = 8;

absl::Status CheckGroups(const LaunchShape& shape) {
  if (FitsGrid(shape.blocks) && shape.blocks.x % shape.cluster_size == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the problem needs ", FormatExtent(shape.blocks),
      " blocks in clusters of ", shape.cluster_size,
      "; at most 2^31 - 1 along x in whole clusters, and 65,535 along y and z, "
      "will do"));
}

}  // namespace

LoadedCandidate::LoadedCandidate(LoadedCandidate&& other) noexcept
    : target_(other.target_),
      candidate_(std::move(other.candidate_)),
      module_(std::exchange(other.module_, nullptr)),
      function_(other.function_),
      resident_blocks_(other.resident_blocks_) {}

LoadedCandidate::~LoadedCandidate() {
  // Where the context is gone, so is the module: nothing to be done.
  if (module_ != nullptr) target_.driver->cuModuleUnload(module_);
}

absl::StatusOr<LoadedCandidate> LoadedCandidate::Load(
    const LaunchTarget& target, LaunchCandidate candidate,
    const std::string& code) {
  LoadedCandidate loaded(target, std::move(candidate));
  const LaunchDriver& driver = *target.driver;
  const LaunchCandidate& told = loaded.candidate_;
  RETURN_IF_ERROR(
      driver.Check(driver.cuModuleLoadData(&loaded.module_, code.data()),
                   absl::StrCat("loading ", told.cubin)));
  RETURN_IF_ERROR(driver.Check(
      driver.cuModuleGetFunction(&loaded.function_, loaded.module_,
                                 told.launch.entry.c_str()),
      absl::StrCat("taking function ", told.launch.entry, " of ", told.cubin)));
  // Else it would be loaded by its first launch, which a capture forbids.
  RETURN_IF_ERROR(driver.Check(driver.cuFuncLoad(loaded.function_),
                               absl::StrCat("loading ", told.cubin)));
  RETURN_IF_ERROR(loaded.Admit());
  return loaded;
}

absl::Status LoadedCandidate::Admit() {
  const LaunchDriver& driver = *target_.driver;
  const LaunchDescriptor& launch = candidate_.launch;
  const bool constant = IsConstant(launch.shared_bytes);
  int static_bytes = 0;
  RETURN_IF_ERROR(driver.Check(
      driver.cuFuncGetAttribute(&static_bytes,
                                CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function_),
      absl::StrCat("asking for the shared memory of ", candidate_.cubin)));
  const LaunchShape shape{
      .block_size = launch.block_size,
      .shared_bytes = constant ? Evaluate(launch.shared_bytes, ProblemView(),
                                          Configuration())
                               : target_.max_shared_bytes - static_bytes,
      .cluster_size = launch.cluster_size};
  if (shape.shared_bytes + static_bytes > target_.max_shared_bytes) {
    return absl::FailedPreconditionError(absl::StrCat(
        candidate_.cubin, " needs ", shape.shared_bytes + static_bytes,
        " bytes of shared memory a block, this device allows ",
        target_.max_shared_bytes));
  }
  RETURN_IF_ERROR(driver.Check(
      driver.cuFuncSetAttribute(function_,
                                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                static_cast<int>(shape.shared_bytes)),
      absl::StrCat("allowing the shared memory of ", candidate_.cubin)));
  if (shape.cluster_size > kPortableClusterSize) {
    RETURN_IF_ERROR(driver.Check(
        driver.cuFuncSetAttribute(
            function_, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
        absl::StrCat("allowing the clusters of ", candidate_.cubin)));
  }
  if (!constant) return absl::OkStatus();
  ASSIGN_OR_RETURN(resident_blocks_, ResidentBlocks(shape));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> LoadedCandidate::ResidentBlocks(
    const LaunchShape& shape) const {
  const LaunchDriver& driver = *target_.driver;
  int blocks = 0;
  RETURN_IF_ERROR(driver.Check(
      driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, function_, static_cast<int>(shape.block_size.Total()),
          static_cast<size_t>(shape.shared_bytes)),
      absl::StrCat("asking for the residency of ", candidate_.cubin)));
  int clusters = 0;
  if (shape.cluster_size > 1) {
    // Any number of whole clusters: residency does not depend on it.
    const LaunchConfig config(shape, 64 * shape.cluster_size, nullptr);
    RETURN_IF_ERROR(driver.Check(
        driver.cuOccupancyMaxActiveClusters(&clusters, function_, config.get()),
        absl::StrCat("asking for the residency of ", candidate_.cubin)));
  }
  const int64_t resident_blocks =
      CapacityOf(shape, target_.multiprocessors, blocks, clusters);
  if (resident_blocks > 0) return resident_blocks;
  return absl::FailedPreconditionError(absl::StrCat(
      "not one block of ", candidate_.cubin, " fits into this device: ",
      FormatExtent(shape.block_size), " threads, ", shape.shared_bytes,
      " bytes of shared memory, clusters of ", shape.cluster_size));
}

absl::Status LoadedCandidate::Launch(CUstream stream,
                                     const ProblemView& problem,
                                     int repeated_dimension,
                                     absl::Span<void* const> buffers) const {
  const LaunchDescriptor& launch = candidate_.launch;
  for (const Relation& predicate : launch.problem_predicates) {
    if (Holds(predicate, problem, repeated_dimension)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        candidate_.cubin, " does not run this problem (legal_if in ",
        kLaunchFileName, "); resolve the problem that is launched"));
  }
  const LaunchShape shape = ShapeOf(launch, problem);
  RETURN_IF_ERROR(CheckGroups(shape));
  LaunchExtent blocks = shape.blocks;
  if (shape.persistent) {
    int64_t resident_blocks = resident_blocks_;
    if (resident_blocks == 0) {
      ASSIGN_OR_RETURN(resident_blocks, ResidentBlocks(shape));
    }
    blocks = BlocksToLaunch(shape, resident_blocks);
  }
  LaunchArguments arguments;
  RETURN_IF_ERROR(arguments.Fill(*target_.driver, launch, problem, buffers));
  RETURN_IF_ERROR(
      arguments.ZeroWorkspaces(*target_.driver, launch, problem, stream));
  const LaunchConfig config(shape, blocks, stream);
  // The text is made for a failure only: this is a launch path.
  const CUresult code = target_.driver->cuLaunchKernelEx(
      config.get(), function_, arguments.pointers(), nullptr);
  if (code == CUDA_SUCCESS) return absl::OkStatus();
  return target_.driver->Check(
      code, absl::StrCat("launching ", FormatExtent(blocks), " blocks of ",
                         FormatExtent(shape.block_size), " threads of ",
                         candidate_.cubin));
}

}  // namespace wavetune
