// KernelArgument: what a kernel's launches are measured with in one place.
#ifndef WAVETUNE_KERNEL_ARGUMENT_H_
#define WAVETUNE_KERNEL_ARGUMENT_H_

#include <string>

namespace wavetune {

// One argument of a kernel, in the words of its manifest.
struct KernelArgument {
  std::string name;
  std::string role;  // "input", "output", "in-out buffer", "workspace" or
                     // "scalar".
  std::string type;  // "bfloat16", "float32", "int32", "int64".

  friend bool operator==(const KernelArgument&,
                         const KernelArgument&) = default;
};

}  // namespace wavetune

#endif  // WAVETUNE_KERNEL_ARGUMENT_H_
