#include "launch/launch_config.h"

namespace wavetune {

LaunchConfig::LaunchConfig(const LaunchShape& shape, int64_t blocks,
                           CUstream stream) {
  config_.gridDimX = static_cast<unsigned>(blocks);
  config_.gridDimY = config_.gridDimZ = 1;
  config_.blockDimX = static_cast<unsigned>(shape.block_size);
  config_.blockDimY = config_.blockDimZ = 1;
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
