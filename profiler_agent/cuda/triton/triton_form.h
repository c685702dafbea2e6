// TritonForm: what of a launch's arguments is part of the machine code.
//
//   TritonForm form = FormOf(spec, arguments, configuration, {m, n, k});
//   form == "DDDDD-"  // Five pointers and numbers of multiples of 16; k is
//   odd.
//
// Why: Triton compiles a kernel anew where an integer is 1 or a multiple of 16
// and was not before, as vectors and pipelines depend on it. Whoever measures
// must launch what an engine would launch at that problem.
//
// Source: Triton 3.6, runtime/jit.py and native_specialize_impl.
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_FORM_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_FORM_H_

#include <string>
#include <vector>

#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct Argument;
struct KernelSpec;
struct TensorMap;

// One letter per argument of the manifest.
using TritonForm = std::string;
inline constexpr char kDivisible = 'D';  // By 16; the address of a buffer.
inline constexpr char kOne = '1';        // Is 1: passed no more.
inline constexpr char kGeneral = '-';

// What the function says of one of its arguments, in the manifest's order.
struct TritonArgument {
  bool specialise = true;  // Not in do_not_specialize.
  bool align = true;       // Not in do_not_specialize_on_alignment.
  // Its type is given ("i64"), so that 1 is not part of the code.
  std::string annotated;
};

// Returns the form at a problem; `arguments` has one entry per argument of
// `spec`. Cannot fail.
TritonForm FormOf(const KernelSpec& spec,
                  const std::vector<TritonArgument>& arguments,
                  const Configuration& configuration, const Problem& problem);

// Returns the argument's type as Triton names it: "*bf16", "i32".
std::string TritonTypeName(const Argument& argument);

// Returns a tensor map's, "tensordesc<bf16[128,64]>"; empty where the
// configuration switches it off.
std::string TritonTypeName(const KernelSpec& spec, const TensorMap& map,
                           const Configuration& configuration);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_FORM_H_
