#include "launch/launch_config.h"

namespace wavetune {

LaunchConfig::LaunchConfig(const LaunchShape& shape, const LaunchExtent& blocks,
                           CUstream stream) {
  config_.gridDimX = static_cast<unsigned>(blocks.x);
  config_.gridDimY = static_cast<unsigned>(blocks.y);
  config_.gridDimZ = static_cast<unsigned>(blocks.z);
  config_.blockDimX = static_cast<unsigned>(shape.block_size.x);
  config_.blockDimY = static_cast<unsigned>(shape.block_size.y);
  config_.blockDimZ = static_cast<unsigned>(shape.block_size.z);
  config_.sharedMemBytes = static_cast<unsigned>(shape.shared_bytes);
  config_.hStream = stream;
  if (shape.cluster_size == 1) return;
  cluster_.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster_.value.clusterDim.x = static_cast<unsigned>(shape.cluster_size);
  cluster_.value.clusterDim.y = 1;
  cluster_.value.clusterDim.z = 1;
  config_.attrs = &cluster_;
  config_.numAttrs = 1;
}

}  // namespace wavetune
