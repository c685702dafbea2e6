// Whether a compiled kernel takes the arguments that its manifest declares.
//
// Why: a scalar of another size, or an argument too few, is no error of the
// driver. The kernel then reads bytes that were never passed: a wrong result at
// best.
//
// Thread safety: pure functions of the kernel.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_ARGUMENTS_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_ARGUMENTS_H_

#include <CL/cl.h>

#include <string>

#include "absl/status/status.h"
#include "model/kernel/argument.h"
#include "wavetune/configuration.h"

namespace wavetune {

struct Implementation;
struct KernelSpec;

// With this the compiler keeps the arguments' types.
inline constexpr char kKeepArgumentTypes[] = "-cl-kernel-arg-info";

// Whether dynamic local memory is passed behind the arguments.
enum class LocalMemory { kNone, kPassed, kForSomeProblems };

// Returns what the implementation passes with a configuration. Cannot fail.
LocalMemory LocalMemoryOf(const Implementation& implementation,
                          const Configuration& configuration);

// Returns OK if `kernel` takes the spec's arguments and the local memory: as
// many, buffers as pointers to global or constant memory, scalars by value and
// of their type. What the driver does not tell, and names that an author made
// up, are taken on trust. Errors: FAILED_PRECONDITION with the argument and
// both types.
absl::Status CheckArguments(cl_kernel kernel, const std::string& entry,
                            const KernelSpec& spec, LocalMemory local_memory);

// Returns OK if a by-value argument of the OpenCL type `type` ("uint") is what
// `argument` declares, or a type that is none of OpenCL's. Errors: as
// CheckArguments.
absl::Status CheckScalarType(const Argument& argument, const std::string& entry,
                             const std::string& type);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_ARGUMENTS_H_
