// TritonKernel: machine code that Triton made, and how it is launched.
//
// Thread safety: plain values.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_KERNEL_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_KERNEL_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/kernel/argument.h"

namespace wavetune {

// How Triton's code wants a tensor map.
struct TritonTensorMap {
  // Elements that one copy moves, the contiguous ones first.
  std::array<uint32_t, 2> box = {1, 1};
  TensorMap::Swizzle swizzle = TensorMap::Swizzle::kNone;

  friend bool operator==(const TritonTensorMap&,
                         const TritonTensorMap&) = default;
};

// What a launch needs that Triton decides. The function's parameters are the
// tensor maps, the passed arguments, then two pointers: the scratch memory, and
// one that is null (Triton's profiler's). Behind each map are its extents (two
// of four bytes) and strides (two of eight), the contiguous ones last.
struct TritonLaunch {
  int64_t threads = 0;        // In a block.
  int64_t shared_bytes = 0;   // Dynamic, of a block.
  int64_t scratch_bytes = 0;  // Device memory of a block; 0: none.
  std::vector<bool> passed;   // By argument of the manifest: false where the
                              // value is part of the machine code.
  // The manifest's tensor maps that are encoded; others are part of the machine
  // code.
  std::vector<TritonTensorMap> maps;

  friend bool operator==(const TritonLaunch&, const TritonLaunch&) = default;
};

struct TritonKernel {
  std::string code;   // A cubin.
  std::string entry;  // The function in it.
  TritonLaunch launch;
  // What makes it not worth measuring: 0 and empty where nothing does.
  int64_t spilled_bytes = 0;  // Stores and loads of a thread, as ptxas counts.
  std::string serialised;     // What ptxas says of wgmma.
  int64_t tensor_memory_excess = 0;  // Columns beyond what there are.
  std::string key;  // The entry's in the cache on disk (program_cache.h).
  bool from_disk = false;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_KERNEL_H_
