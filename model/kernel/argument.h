// Arguments of a kernel function, and their elements as bytes: size, and a
// scalar's value.
//
// What measures a kernel and what launches it in earnest pass the same bytes.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_ARGUMENT_H_
#define WAVETUNE_MODEL_KERNEL_ARGUMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "model/kernel/mapping.h"

namespace wavetune {

enum class ElementType { kFloat32, kInt32, kInt64, kBfloat16 };
enum class ArgumentRole { kInput, kOutput, kScalar };

// One argument of the kernel function.
struct Argument {
  std::string name;
  ArgumentRole role = ArgumentRole::kInput;
  ElementType type = ElementType::kFloat32;
  Expression size;  // Elements of a buffer, or the value of a scalar.
  bool cold =
      false;  // Rotated over more than the last-level cache between launches.
};

// Returns the bytes of one element.
size_t ElementBytes(ElementType type);

// Returns the type as manifests name it: "FLOAT32", ... Cannot fail.
const char* ManifestTypeName(ElementType type);

// Returns the bits of a bfloat16, rounded to nearest, ties to even.
uint16_t ToBfloat16(float value);

// Returns the bytes of a scalar argument, in the host's order (at most 8: no
// allocation). Errors: FAILED_PRECONDITION when `value` does not fit into the
// type.
absl::StatusOr<std::string> ScalarBytes(const Argument& argument,
                                        int64_t value);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_ARGUMENT_H_
