#include "profiler_agent/opencl/opencl_arguments.h"

#include <cstddef>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "model/kernel/argument.h"
#include "model/kernel/fold.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/launch_descriptor.h"

namespace wavetune {
namespace {

// What OpenCL C calls an element type.
std::vector<std::string> NamesOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return {"float"};
    case ElementType::kInt32:
      return {"int", "uint", "unsigned int"};
    case ElementType::kInt64:
      return {"long", "ulong", "unsigned long"};
    case ElementType::kBfloat16:
      break;
  }
  return {"ushort", "short", "unsigned short"};
}

// Of which we know that they are not those of the manifest.
bool IsOfOpenCl(const std::string& type) {
  static const auto* const names = new std::set<std::string>{
      "char",  "uchar", "unsigned char", "short", "ushort", "unsigned short",
      "int",   "uint",  "unsigned int",  "long",  "ulong",  "unsigned long",
      "float", "half",  "double",        "bool"};
  return names->contains(type);
}

absl::Status Mismatch(const std::string& entry, const Argument& argument,
                      absl::string_view declared, absl::string_view takes) {
  return absl::FailedPreconditionError(
      absl::StrCat("argument '", argument.name, "' is ", declared,
                   " in the manifest, but kernel function '", entry, "' takes ",
                   takes, "; make them the same"));
}

// Empty where the driver does not say.
std::string TypeNameOf(cl_kernel kernel, cl_uint index) {
  size_t size = 0;
  if (clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, 0, nullptr,
                         &size) != CL_SUCCESS ||
      size == 0) {
    return "";
  }
  std::string name(size, '\0');
  if (clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, size,
                         name.data(), nullptr) != CL_SUCCESS) {
    return "";
  }
  return std::string(name.c_str());  // Up to the terminator.
}

absl::Status CheckNumber(cl_kernel kernel, const std::string& entry,
                         const KernelSpec& spec, LocalMemory local_memory) {
  cl_uint takes = 0;
  if (clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(takes), &takes,
                      nullptr) != CL_SUCCESS) {
    return absl::OkStatus();
  }
  const size_t arguments = spec.arguments.size();
  if (local_memory == LocalMemory::kForSomeProblems &&
      (takes == arguments || takes == arguments + 1)) {
    return absl::OkStatus();
  }
  const bool has_local_memory = local_memory != LocalMemory::kNone;
  const size_t passed = arguments + (has_local_memory ? 1 : 0);
  if (takes == passed) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "kernel function '", entry, "' takes ", takes,
      " arguments, but the manifest passes ", passed, ": ",
      absl::StrJoin(spec.arguments, ", ",
                    [](std::string* out, const Argument& argument) {
                      absl::StrAppend(out, argument.name);
                    }),
      has_local_memory ? " and dynamic local memory" : "",
      "; make them the same"));
}

absl::Status CheckOne(cl_kernel kernel, const std::string& entry, cl_uint index,
                      const Argument& argument) {
  cl_kernel_arg_address_qualifier memory = CL_KERNEL_ARG_ADDRESS_PRIVATE;
  if (clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                         sizeof(memory), &memory, nullptr) != CL_SUCCESS) {
    return absl::OkStatus();
  }
  const std::string type = TypeNameOf(kernel, index);
  const bool in_memory = memory == CL_KERNEL_ARG_ADDRESS_GLOBAL ||
                         memory == CL_KERNEL_ARG_ADDRESS_CONSTANT;
  if (argument.role != ArgumentRole::kScalar) {
    if (in_memory) return absl::OkStatus();
    return Mismatch(entry, argument, "a buffer",
                    memory == CL_KERNEL_ARG_ADDRESS_LOCAL
                        ? "local memory"
                        : absl::StrCat("a value (", type, ")"));
  }
  if (memory != CL_KERNEL_ARG_ADDRESS_PRIVATE) {
    return Mismatch(
        entry, argument,
        absl::StrCat("a scalar (", ManifestTypeName(argument.type), ")"),
        absl::StrCat("a pointer (", type, ")"));
  }
  return CheckScalarType(argument, entry, type);
}

}  // namespace

absl::Status CheckScalarType(const Argument& argument, const std::string& entry,
                             const std::string& type) {
  for (const std::string& name : NamesOf(argument.type)) {
    if (type == name) return absl::OkStatus();
  }
  if (!IsOfOpenCl(type)) return absl::OkStatus();
  return Mismatch(entry, argument, ManifestTypeName(argument.type), type);
}

LocalMemory LocalMemoryOf(const Implementation& implementation,
                          const Configuration& configuration) {
  if (!implementation.shared_memory_bytes.has_value())
    return LocalMemory::kNone;
  const Expression bytes =
      FoldExpression(*implementation.shared_memory_bytes, configuration);
  if (!IsConstant(bytes)) return LocalMemory::kForSomeProblems;
  return Evaluate(bytes, ProblemView(), Configuration()) > 0
             ? LocalMemory::kPassed
             : LocalMemory::kNone;
}

absl::Status CheckArguments(cl_kernel kernel, const std::string& entry,
                            const KernelSpec& spec, LocalMemory local_memory) {
  RETURN_IF_ERROR(CheckNumber(kernel, entry, spec, local_memory));
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    RETURN_IF_ERROR(
        CheckOne(kernel, entry, static_cast<cl_uint>(i), spec.arguments[i]));
  }
  return absl::OkStatus();
}

}  // namespace wavetune
