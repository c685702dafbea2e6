#include "profiler_agent/cuda/cuda_arguments.h"

#include "absl/strings/str_cat.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

// More parameters than a function can have: 4 KiB of bytes.
constexpr size_t kMostParameters = 4096;

// What the manifest passes as one parameter.
struct Passed {
  std::string what;
  size_t bytes = 0;
};

std::vector<Passed> PassedBy(const KernelSpec& spec, size_t tensor_maps,
                             const std::optional<TritonLaunch>& triton) {
  std::vector<Passed> passed;
  for (size_t i = 0; i < tensor_maps; ++i) {
    const std::string map = absl::StrCat("tensor map number ", i + 1);
    passed.push_back({map, sizeof(CUtensorMap)});
    if (!triton.has_value()) continue;
    passed.insert(passed.end(), 2, {map + "'s extent", sizeof(int32_t)});
    passed.insert(passed.end(), 2, {map + "'s stride", sizeof(int64_t)});
  }
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    if (triton.has_value() && !triton->passed[i]) continue;
    const Argument& argument = spec.arguments[i];
    const bool scalar = argument.role == ArgumentRole::kScalar;
    passed.push_back(
        {absl::StrCat("argument '", argument.name, "' (",
                      scalar ? ManifestTypeName(argument.type) : "a buffer",
                      ")"),
         scalar ? static_cast<size_t>(ElementBytes(argument.type))
                : sizeof(CUdeviceptr)});
  }
  if (triton.has_value()) {
    passed.push_back({"Triton's scratch memory", sizeof(CUdeviceptr)});
    passed.push_back({"Triton's profile", sizeof(CUdeviceptr)});
  }
  return passed;
}

}  // namespace

std::optional<std::vector<size_t>> ParameterSizes(const CudaDriver& driver,
                                                  CUfunction function) {
  if (driver.func_get_param_info == nullptr) return std::nullopt;
  std::vector<size_t> sizes;
  while (sizes.size() < kMostParameters) {
    size_t offset = 0;
    size_t size = 0;
    const CUresult code =
        driver.func_get_param_info(function, sizes.size(), &offset, &size);
    if (code == CUDA_ERROR_INVALID_VALUE) return sizes;  // There are no more.
    if (code != CUDA_SUCCESS) return std::nullopt;
    sizes.push_back(size);
  }
  return std::nullopt;
}

absl::Status CheckParameterSizes(const KernelSpec& spec, size_t tensor_maps,
                                 const std::string& entry,
                                 const std::vector<size_t>& sizes,
                                 const std::optional<TritonLaunch>& triton) {
  if (triton.has_value()) tensor_maps = triton->maps.size();
  const std::vector<Passed> passed = PassedBy(spec, tensor_maps, triton);
  if (passed.size() != sizes.size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "kernel function '", entry, "' takes ", sizes.size(),
        " parameters, but the manifest passes ", passed.size(), ": ",
        tensor_maps, " tensor maps and ", spec.arguments.size(), " arguments",
        triton.has_value() ? ", those that are part of the code left out, and "
                             "Triton's own"
                           : "",
        "; make them the same"));
  }
  for (size_t i = 0; i < passed.size(); ++i) {
    if (passed[i].bytes == sizes[i]) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(passed[i].what, " has ", passed[i].bytes,
                     " bytes in the manifest, but parameter number ", i + 1,
                     " of kernel function '", entry, "' has ", sizes[i],
                     "; make them the same"));
  }
  return absl::OkStatus();
}

}  // namespace wavetune
