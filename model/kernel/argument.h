// Arguments of a kernel function, tensor maps among them, and their elements as
// bytes: size, and a scalar's value.
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
  // Rotated over more than the last-level cache between launches.
  bool cold = false;
};

// A CUDA tensor map over a two-dimensional, row-major, dense argument, passed
// by value before the arguments.
struct TensorMap {
  // How a box is laid out in shared memory.
  enum class Swizzle : uint8_t { kNone, k32Bytes, k64Bytes, k128Bytes };

  int32_t argument = 0;  // Index into KernelSpec::arguments; a buffer.
  std::vector<Expression> extents;  // Elements, over dimensions; the contiguous
                                    // one first.
  std::vector<Expression>
      box;  // Elements that one copy moves, over parameters.
  Swizzle swizzle = Swizzle::kNone;
  int32_t l2_promotion_bytes = 0;     // 0, 64, 128 or 256.
  std::optional<int32_t> enabled_by;  // Parameter; 0 there: passed as zeros.

  friend bool operator==(const TensorMap&, const TensorMap&) = default;
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
