// LaunchConfig: a CUlaunchConfig with its attributes.
//
//   const LaunchConfig config(shape, blocks, stream);
//   driver.cuLaunchKernelEx(config.get(), function, parameters, nullptr);
//
// What measures a kernel and what launches it in earnest launch it alike.
//
// Thread safety: immutable.
#ifndef WAVETUNE_LAUNCH_LAUNCH_CONFIG_H_
#define WAVETUNE_LAUNCH_LAUNCH_CONFIG_H_

#include <cuda.h>

#include "model/kernel/launch_descriptor.h"

namespace wavetune {

// Neither copied nor moved: it points into itself.
class LaunchConfig {
 public:
  // Launches `blocks`, whatever shape.blocks says: with clusters a multiple of
  // their size. Cannot fail.
  LaunchConfig(const LaunchShape& shape, const LaunchExtent& blocks,
               CUstream stream);
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  const CUlaunchConfig* get() const { return &config_; }

 private:
  CUlaunchConfig config_ = {};
  CUlaunchAttribute cluster_ = {};
};

}  // namespace wavetune

#endif  // WAVETUNE_LAUNCH_LAUNCH_CONFIG_H_
