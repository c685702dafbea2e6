// What Triton's compiler takes beside a function's arguments: the tuning
// parameters that are not the function's.
//
// Why by name: manifests of Triton kernels have the parameters that engines'
// tuning files and `triton.Config` have, and these say num_warps.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_TRITON_OPTIONS_H_
#define WAVETUNE_MODEL_KERNEL_TRITON_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "wavetune/configuration.h"

namespace wavetune {

struct KernelSpec;
struct Parameter;

// Threads of a warp: NVIDIA's.
inline constexpr int64_t kTritonWarpThreads = 32;

// Triton's own defaults.
struct TritonOptions {
  int64_t num_warps = 4;
  int64_t num_stages = 3;
  int64_t maxnreg = 0;  // Registers of a thread; 0: as many as it likes.

  friend bool operator==(const TritonOptions&, const TritonOptions&) = default;
};

// Returns whether a tuning parameter of this name is an option of the compiler,
// not an argument of the function: num_warps, num_stages, num_ctas, maxnreg.
bool IsTritonOption(absl::string_view parameter);

// Returns the options of a configuration. Cannot fail.
TritonOptions TritonOptionsOf(const KernelSpec& spec,
                              const Configuration& configuration);

// Returns which value of an option's parameter Triton does not take, and what
// it takes; empty where it takes all.
std::string TritonOptionFault(const Parameter& parameter);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_TRITON_OPTIONS_H_
