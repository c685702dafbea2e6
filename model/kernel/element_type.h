// Elements of a kernel's arguments as bytes: their size, and a scalar's value.
//
// What measures a kernel and what launches it in earnest pass the same bytes.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_ELEMENT_TYPE_H_
#define WAVETUNE_MODEL_KERNEL_ELEMENT_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {

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

#endif  // WAVETUNE_MODEL_KERNEL_ELEMENT_TYPE_H_
