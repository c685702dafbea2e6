#include "profiler_agent/cuda/launch_shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace wavetune {
namespace {

constexpr int kFirstWithClusters = 90;

// Where the driver does not say; every GPU since 2010 has it.
constexpr int64_t kUsualMaxGroupSize = 1024;

// blockDim.z of every compute capability.
constexpr int64_t kMostThreadsAlongZ = 64;

absl::Status TooMuch(absl::string_view what, int64_t wanted, int64_t limit) {
  return absl::FailedPreconditionError(absl::StrCat(
      "it wants ", what, " ", wanted, ", the device allows ", limit));
}

absl::Status CheckShape(const CudaLaunchShape& shape,
                        const DeviceFacts& facts) {
  const int64_t max_group_size =
      facts.max_group_size > 0 ? facts.max_group_size : kUsualMaxGroupSize;
  if (shape.block_size.Total() > max_group_size) {
    return TooMuch("a group of threads:", shape.block_size.Total(),
                   max_group_size);
  }
  if (shape.block_size.z > kMostThreadsAlongZ) {
    return TooMuch("threads along z:", shape.block_size.z, kMostThreadsAlongZ);
  }
  if (shape.shared_bytes > facts.max_shared_memory_bytes) {
    return TooMuch("bytes of dynamic shared memory:", shape.shared_bytes,
                   facts.max_shared_memory_bytes);
  }
  if (!FitsGrid(shape.blocks)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "it wants blocks: ", FormatExtent(shape.blocks),
        ", the device allows 2147483647 along x, 65535 along y and z"));
  }
  if (shape.cluster_size < 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("it wants clusters of ", shape.cluster_size));
  }
  if (shape.cluster_size == 1) return absl::OkStatus();
  const int32_t capability = ComputeCapability(facts);
  if (capability < kFirstWithClusters) {
    return absl::FailedPreconditionError(
        absl::StrCat("it wants clusters of ", shape.cluster_size,
                     " blocks, which exist from compute capability 9.0 on; "
                     "this device has ",
                     capability / 10, ".", capability % 10));
  }
  if (shape.blocks.x % shape.cluster_size != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "it wants ", shape.blocks.x, " blocks, no multiple of its ",
        "cluster size ", shape.cluster_size,
        "; the manifest's blocks must be one"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CudaLaunchShape> CudaShapeOf(
    const KernelSpec& spec, const Implementation& implementation,
    const std::string& specialisation, const Configuration& configuration,
    const Problem& problem, const DeviceFacts& facts,
    const std::optional<TritonLaunch>& triton) {
  CudaLaunchShape shape = ShapeOf(
      DescribeLaunch(spec, implementation, specialisation, configuration),
      problem.View());
  if (triton.has_value()) {
    shape.block_size = triton->threads;
    shape.shared_bytes = triton->shared_bytes;
  }
  const absl::Status status = CheckShape(shape, facts);
  if (!status.ok()) return status;
  return shape;
}

CudaLaunchShape ReferenceShape(int64_t work_items) {
  int64_t group = std::min<int64_t>(256, std::max<int64_t>(work_items, 1));
  while (work_items % group != 0) --group;
  return {.blocks = work_items / group, .block_size = group};
}

}  // namespace wavetune
