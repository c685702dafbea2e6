#include "profiler_agent/cuda/triton/triton_form.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "model/kernel/tensor_map_plan.h"

namespace wavetune {
namespace {

constexpr int64_t kDivisor = 16;

char LetterOf(const Argument& argument, const TritonArgument& declared,
              const Configuration& configuration, const Problem& problem) {
  if (!declared.specialise) return kGeneral;
  const bool is_buffer = argument.role != ArgumentRole::kScalar;
  // Buffers begin at multiples of 256 bytes here, as frameworks' do.
  if (is_buffer) return declared.align ? kDivisible : kGeneral;
  if (!IsInteger(argument.type)) return kGeneral;
  const int64_t value = Evaluate(argument.size, problem.View(), configuration);
  if (value == 1 && declared.annotated.empty()) return kOne;
  return declared.align && value % kDivisor == 0 ? kDivisible : kGeneral;
}

const char* ElementName(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return "fp32";
    case ElementType::kInt32:
      return "i32";
    case ElementType::kInt64:
      return "i64";
    case ElementType::kBfloat16:
      return "bf16";
  }
  return "";
}

}  // namespace

TritonForm FormOf(const KernelSpec& spec,
                  const std::vector<TritonArgument>& arguments,
                  const Configuration& configuration, const Problem& problem) {
  TritonForm form;
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    form += LetterOf(spec.arguments[i], arguments[i], configuration, problem);
  }
  return form;
}

std::string TritonTypeName(const Argument& argument) {
  return absl::StrCat(argument.role == ArgumentRole::kScalar ? "" : "*",
                      ElementName(argument.type));
}

std::string TritonTypeName(const KernelSpec& spec, const TensorMap& map,
                           const Configuration& configuration) {
  const TensorMapDescriptor described = DescribeTensorMap(map, configuration);
  if (!described.enabled) return "";
  const Argument& argument = spec.arguments[static_cast<size_t>(map.argument)];
  return absl::StrCat("tensordesc<", ElementName(argument.type), "[",
                      described.box[1], ",", described.box[0], "]>");
}

}  // namespace wavetune
