// Mapping: how a problem and a configuration become the physical coordinates of
// a launch.
//
// A mapping is built from a few primitives only (no free expression
// language). The planner must invert it: find a problem that lands on a
// wanted (G, L) (model/kernel/mapping_inverse.h). A client must evaluate it
// in nanoseconds.
//
//   // GEMM: G = ceil(m / BLOCK_M) * ceil(n / BLOCK_N), L = ceil(k / BLOCK_K)
//
// Source: arXiv 2604.10187, section 4.2 (macro kernel and physical
// coordinates). Deviation: W and L may differ per tile (causal attention).
#ifndef WAVETUNE_MODEL_KERNEL_MAPPING_H_
#define WAVETUNE_MODEL_KERNEL_MAPPING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "wavetune/configuration.h"
#include "wavetune/coordinates.h"
#include "wavetune/problem.h"

namespace wavetune {

// A whole number computed from a problem and a configuration. A tree; names are
// bound to indices.
struct Expression {
  enum class Kind : uint8_t {
    kConstant = 1,   // value
    kDimension = 2,  // extent number `value`
    kParameter = 3,  // parameter number `value`
    kCeilDiv = 4,    // ceil(product of children[0, split) / product of
                     // children[split, end))
    kProduct = 5,    // product of children
    kSumOver = 6,    // sum of children[0], with dimension `value` standing for
                     // one element of the repeated dimension at a time
    kCausalBlocks = 7,  // children: dimension seq_q, dimension seq_kv,
                        // parameter block_q, parameter block_kv
    kSum = 8,           // sum of children
    // The rest is for conditions and sizes, never for a mapping. Values may be
    // negative on the way.
    kNegative = 9,    // - children[0]
    kExactDiv = 10,   // children[0] / children[1], without a remainder
    kFloorDiv = 11,   // floor(children[0] / children[1])
    kRemainder = 12,  // children[0] - children[1] * floor(that)
    kMin = 13,        // least of children
    kMax = 14,        // greatest of children
  };
  Kind kind = Kind::kConstant;
  int64_t value = 1;
  int32_t split = 0;
  std::vector<Expression> children;

  static Expression Constant(int64_t value);
  static Expression OfDimension(int index);
  static Expression OfParameter(int index);
  static Expression CeilDiv(std::vector<Expression> numerator,
                            std::vector<Expression> denominator);
  static Expression Product(std::vector<Expression> factors);
  static Expression SumOver(int dimension, Expression term);
  static Expression CausalBlocks(int seq_q, int seq_kv, int block_q,
                                 int block_kv);
  static Expression Sum(std::vector<Expression> terms);
  // kNegative to kMax, with their children in order.
  static Expression Of(Kind kind, std::vector<Expression> children);

  friend bool operator==(const Expression&, const Expression&) = default;
};

// Largest value that an expression takes, and largest extent; a product or sum
// beyond it saturates here, so that overflow is never undefined. Decisions
// divide exactly up to it (model/decide/exact_quotient.h).
inline constexpr int64_t kExpressionLimit = int64_t{1} << 51;

// What EvaluateOrOver says of a value that has saturated.
inline constexpr int64_t kOverLimit = kExpressionLimit + 1;

// Returns the value of `expression`, saturated to [0, kExpressionLimit]; a
// saturated part stays so, also as part of a quotient. Extents must be >= 1
// (elements of the repeated dimension >= 0), parameters >= 0 and their indices
// valid (kernel_validation.h checks all of that). A divisor of 0 of kCeilDiv
// counts as 1; what EvaluateSigned has no value for is 0. Cannot fail. Cost:
// O(size of the tree), times the elements under kSumOver.
int64_t Evaluate(const Expression& expression, const ProblemView& problem,
                 const Configuration& configuration);

// The same, but kOverLimit for a value that has saturated: what it is less than
// says nothing.
int64_t EvaluateOrOver(const Expression& expression, const ProblemView& problem,
                       const Configuration& configuration);

// Returns the value, saturated at +-kExpressionLimit, or nothing where it has
// none: kExactDiv with a remainder, or kExactDiv, kFloorDiv or kRemainder by 0
// or less. `element` stands for the repeated dimension `repeated_dimension`
// (-1: there is none).
std::optional<int64_t> EvaluateSigned(const Expression& expression,
                                      const ProblemView& problem,
                                      const Configuration& configuration,
                                      int repeated_dimension = -1,
                                      int64_t element = 0);

// rows = ceil(extent / tile), summed over a repeated dimension.
struct RowAxis {
  int32_t dimension = 0;
  int32_t tile = 0;  // Parameter.

  friend bool operator==(const RowAxis&, const RowAxis&) = default;
};

// Which expressions give the coordinates.
struct Mapping {
  Expression tiles;  // G
  std::optional<Expression>
      iterations_per_tile;  // L where all tiles are alike; else
                            // total_iterations is set
  std::optional<Expression> total_iterations;  // W
  std::optional<Expression> longest_loop;
  // Bytes that a problem reads cold, where they grow with the elements of a
  // repeated dimension. Elements of 0 are left out: nothing reads theirs.
  std::optional<Expression> cold_bytes;
  std::optional<RowAxis> rows;

  friend bool operator==(const Mapping&, const Mapping&) = default;
};

// An expression of a mapping that need not be there.
struct OptionalExpression {
  uint8_t flag;  // In payloads (docs/table_format.md): never given twice.
  const char* name;
  std::optional<Expression> Mapping::*value;
  // Follows from the problem alone: it names no parameter, and sums over the
  // repeated dimension.
  bool of_problem = false;
};

// All of them, ascending by flag: what reads, writes or checks mappings goes
// through this list.
inline constexpr OptionalExpression kOptionalExpressions[] = {
    {1, "iterations_per_tile", &Mapping::iterations_per_tile},
    {2, "total_iterations", &Mapping::total_iterations},
    {4, "longest_loop", &Mapping::longest_loop},
    {16, "cold_bytes", &Mapping::cold_bytes, /*of_problem=*/true},
};

// Returns how much of a tile's loads depends on the rows of tiles around it, in
// [0, 1]. Each of several rows brings 1 / rows of what they share. A single row
// brings what it leaves empty, as copying a row outside of a matrix takes no
// less than copying one inside (docs/decisions/0002).
inline double RowShare(int64_t rows, double row_fill) {
  return rows == 1 ? 1 - row_fill : 1 / static_cast<double>(rows);
}

// Returns the coordinates. Requirements as Evaluate. Cannot fail. Thread-safe.
Coordinates MapProblem(const Mapping& mapping, const ProblemView& problem,
                       const Configuration& configuration);

// The most that ColdMib says of bytes that have not saturated.
inline constexpr double kMaxColdMib = 0x1p-20 * kExpressionLimit;

// Returns B (Coordinates::cold_mib), exact, or more than kMaxColdMib where the
// bytes have saturated; 0 where the mapping has none. Requirements as Evaluate.
// Cannot fail. Cost: as Evaluate; no lock, allocation or system call.
double ColdMib(const Mapping& mapping, const ProblemView& problem);

// Returns the waves of a launch. tiles_per_wave >= 1.
// Source: arXiv 2604.10187, section 4.1. Deviation: tiles per wave count
// resident blocks, not multiprocessors (docs/architecture.md).
inline int64_t Waves(int64_t tiles, int64_t tiles_per_wave) {
  return (tiles + tiles_per_wave - 1) / tiles_per_wave;
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_MAPPING_H_
