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
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/kernel/mapping.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

enum class ElementType { kFloat32, kInt32, kInt64, kBfloat16 };
enum class ArgumentRole { kInput, kOutput, kScalar, kInOut, kWorkspace };

// What a workspace holds when a launch begins.
enum class Zeroed : uint8_t {
  kEveryLaunch,  // Zeros: zeroed before each launch, in the launch's time.
  kOnce,         // Zeros: the kernel leaves them.
  kNever,        // Anything.
};

// What an index buffer of a grouped kernel holds: the elements of the repeated
// dimension (rows of each expert), each rounded up to whole blocks.
struct ElementBlocks {
  enum class Kind : uint8_t {
    kPaddedOrder,   // The rows, element by element, padded to whole blocks.
    kBlockElement,  // The element of each block.
    kPaddedTotal,   // Rows and padding together.
  };
  Kind kind = Kind::kPaddedOrder;
  int32_t dimension = 0;  // The repeated one.
  Expression block;       // Rows of a block, over parameters.

  friend bool operator==(const ElementBlocks&, const ElementBlocks&) = default;
};

// What a float buffer holds before a launch, where its manifest says so.
struct FloatValues {
  enum class Kind : uint8_t {
    kUniform,  // From `first` to `second`.
    kNormal,   // With mean `first` and deviation `second`.
  };
  Kind kind = Kind::kUniform;
  double first = -1;
  double second = 1;

  friend bool operator==(const FloatValues&, const FloatValues&) = default;
};

// One argument of the kernel function.
struct Argument {
  std::string name;
  ArgumentRole role = ArgumentRole::kInput;
  ElementType type = ElementType::kFloat32;
  Expression size;  // Elements of a buffer, or the value of a scalar.
  // Rotated over more than the last-level cache between launches.
  bool cold = false;
  // The value of a scalar, in place of `size`.
  std::optional<double> number;
  // Values of an integer buffer that has values before a launch are 0 to this
  // less 1; absent: any.
  std::optional<Expression> below;
  // Values of a float buffer that has values before a launch; absent: uniform
  // in [-1, 1), and in checked launches also much larger ones.
  std::optional<FloatValues> values;
  // Bytes that a buffer's address is a multiple of; 0: of its elements alone.
  int32_t aligned = 0;
  // What an integer input holds, in place of random values.
  std::optional<ElementBlocks> blocks;
  Zeroed zeroed = Zeroed::kEveryLaunch;  // A workspace's.
};

// Whether a launch finds values in the buffer: an input, or one that is read
// and written.
inline bool HoldsValues(const Argument& argument) {
  return argument.role == ArgumentRole::kInput ||
         argument.role == ArgumentRole::kInOut;
}

// Whether the buffer has results after a launch.
inline bool HoldsResults(const Argument& argument) {
  return argument.role == ArgumentRole::kOutput ||
         argument.role == ArgumentRole::kInOut;
}

inline bool IsZeroedBy(const Argument& argument, Zeroed when) {
  return argument.role == ArgumentRole::kWorkspace && argument.zeroed == when;
}

// A CUDA tensor map over a two-dimensional, row-major, dense argument, passed
// by value before the arguments.
struct TensorMap {
  // How a box is laid out in shared memory.
  enum class Swizzle : uint8_t { kNone, k32Bytes, k64Bytes, k128Bytes };

  int32_t argument = 0;  // Index into KernelSpec::arguments; a buffer.
  std::vector<Expression> extents;  // Elements, over dimensions and parameters;
                                    // the contiguous one first.
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

// Returns the content as manifests name it: "padded_order", "block_element" or
// "padded_total". Cannot fail.
const char* ElementBlocksName(ElementBlocks::Kind kind);

// Returns the role as messages name it: "input", "output", "scalar", "in-out
// buffer" or "workspace". Cannot fail.
const char* RoleName(ArgumentRole role);

bool IsInteger(ElementType type);

// Returns the bytes of a scalar argument at a problem, in the host's order (at
// most 8: no allocation). Errors: FAILED_PRECONDITION when its value does not
// fit into the type.
absl::StatusOr<std::string> ScalarBytes(const Argument& argument,
                                        const ProblemView& problem,
                                        const Configuration& configuration);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_ARGUMENT_H_
