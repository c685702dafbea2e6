// TritonKernel: machine code that Triton made, and how it is launched.
//
// Thread safety: plain values.
#ifndef WAVETUNE_PROFILER_AGENT_TRITON_TRITON_KERNEL_H_
#define WAVETUNE_PROFILER_AGENT_TRITON_TRITON_KERNEL_H_

#include <cstdint>
#include <string>
#include <vector>

namespace wavetune {

// What a launch needs that Triton decides. The function's parameters are the
// passed arguments, then two pointers: the scratch memory, and one that is null
// (Triton's profiler's).
struct TritonLaunch {
  int64_t threads = 0;        // Of a block.
  int64_t shared_bytes = 0;   // Dynamic, of a block.
  int64_t scratch_bytes = 0;  // Device memory of a block; 0: none.
  std::vector<bool> passed;   // By argument of the manifest: false where the
                              // value is part of the machine code.

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
  std::string key;  // Of the entry in the cache on disk (program_cache.h).
  bool from_disk = false;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_TRITON_TRITON_KERNEL_H_
