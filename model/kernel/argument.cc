#include "model/kernel/argument.h"

#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

template <typename T>
std::string BytesOf(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// Of a scalar whose value is a whole number.
absl::StatusOr<std::string> BytesOfWhole(const Argument& argument,
                                         int64_t value) {
  switch (argument.type) {
    case ElementType::kInt32:
      if (!std::in_range<int32_t>(value)) {
        return absl::FailedPreconditionError(absl::StrCat(
            "argument ", argument.name, " is INT32, but its value is ", value,
            "; declare it INT64"));
      }
      return BytesOf(static_cast<int32_t>(value));
    case ElementType::kInt64:
      return BytesOf(value);
    case ElementType::kFloat32:
      return BytesOf(static_cast<float>(value));
    case ElementType::kBfloat16:
      break;
  }
  return BytesOf(ToBfloat16(static_cast<float>(value)));
}

}  // namespace

size_t ElementBytes(ElementType type) {
  switch (type) {
    case ElementType::kInt64:
      return 8;
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kFloat32:
    case ElementType::kInt32:
      break;
  }
  return 4;
}

const char* ManifestTypeName(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return "FLOAT32";
    case ElementType::kInt32:
      return "INT32";
    case ElementType::kInt64:
      return "INT64";
    case ElementType::kBfloat16:
      break;
  }
  return "BFLOAT16";
}

uint16_t ToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

const char* RoleName(ArgumentRole role) {
  switch (role) {
    case ArgumentRole::kInput:
      return "input";
    case ArgumentRole::kOutput:
      return "output";
    case ArgumentRole::kScalar:
      return "scalar";
    case ArgumentRole::kInOut:
      return "in-out buffer";
    case ArgumentRole::kWorkspace:
      break;
  }
  return "workspace";
}

const char* ElementBlocksName(ElementBlocks::Kind kind) {
  switch (kind) {
    case ElementBlocks::Kind::kPaddedOrder:
      return "padded_order";
    case ElementBlocks::Kind::kBlockElement:
      return "block_element";
    case ElementBlocks::Kind::kPaddedTotal:
      break;
  }
  return "padded_total";
}

bool IsInteger(ElementType type) {
  return type == ElementType::kInt32 || type == ElementType::kInt64;
}

absl::StatusOr<std::string> ScalarBytes(const Argument& argument,
                                        const ProblemView& problem,
                                        const Configuration& configuration) {
  if (!argument.number.has_value()) {
    return BytesOfWhole(argument,
                        Evaluate(argument.size, problem, configuration));
  }
  const auto number = static_cast<float>(*argument.number);
  return argument.type == ElementType::kBfloat16 ? BytesOf(ToBfloat16(number))
                                                 : BytesOf(number);
}

}  // namespace wavetune
