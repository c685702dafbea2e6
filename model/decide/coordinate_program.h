// CoordinateProgram: the expressions of all rows of a table as one flat list of
// operations, each distinct one evaluated once per problem.
//
//   CoordinateProgram program(/*dimensions=*/3, /*repeated_dimension=*/-1);
//   int tiles = program.Add(FoldExpression(mapping.tiles, configuration));
//   program.Seal();
//   int64_t slots[CoordinateProgram::kMaxSlots];
//   program.Run(problem, slots);  // slots[tiles] == EvaluateOrOver(…)
//
// Why: sixteen rows of a GEMM have about nine distinct ceil(extent / tile), not
// forty-eight; walking sixteen trees of vectors takes several times as long as
// the arithmetic. Operations are sorted by depth and kind, so that each run of
// one kind is a plain loop.
//
// Values are those of EvaluateOrOver (model/kernel/mapping.h): beyond
// kExpressionLimit all are kOverLimit. Since all factors are >= 0, the order of
// a product's factors does not matter.
//
// Thread safety: immutable after Seal.
#ifndef WAVETUNE_MODEL_DECIDE_COORDINATE_PROGRAM_H_
#define WAVETUNE_MODEL_DECIDE_COORDINATE_PROGRAM_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "model/decide/constant_divider.h"
#include "model/kernel/mapping.h"
#include "model/table/table_check.h"
#include "wavetune/dimension.h"
#include "wavetune/problem.h"

namespace wavetune {

class CoordinateProgram {
 public:
  // Room for the slots of every table that CheckTable accepts: a node makes at
  // most one operation of its own and one to multiply it with its siblings.
  static constexpr int kMaxSlots = 2 * kMaxDecisionNodes + kMaxDimensions;

  CoordinateProgram(int dimensions, int repeated_dimension);

  // Adds a folded expression (model/kernel/fold.h) and returns the slot of its
  // value; an expression that was added before keeps its slot. Cannot fail for
  // mappings that CheckTable accepts.
  int Add(const Expression& folded);

  // Orders the operations; call once, after the last Add.
  void Seal();

  // Evaluates everything at a legal problem. `slots` has room for kMaxSlots; no
  // allocation, lock or system call.
  void Run(const ProblemView& problem, int64_t* slots) const noexcept;

  int slot_count() const { return slot_count_; }

 private:
  // In the order in which a batch of equal depth runs them.
  enum class Kind : uint8_t {
    kCeilDivConstant,
    kProduct,
    kCausalBlocks,
    kAddition
  };
  // When an operation runs: once, per element of the repeated dimension, or
  // once after the sums over it are complete.
  enum Phase : uint8_t { kOnce, kPerElement, kAfterSums, kPhases };

  struct Operation {
    Kind kind = Kind::kProduct;
    Phase phase = kOnce;
    int depth = 0;
    int out = 0;
    int a = 0;
    int b = 0;                // The other factor or term; kCausalBlocks: tree.
    ConstantDivider divider;  // kCeilDivConstant.
  };
  struct Batch {
    Kind kind = Kind::kProduct;
    int begin = 0;
    int end = 0;
  };
  struct Constant {
    int slot = 0;
    int64_t value = 0;
  };
  struct Sum {
    int out = 0;
    int term = 0;
  };
  // A slot's facts while building.
  struct SlotFacts {
    Phase phase = kOnce;
    int depth = 0;
  };
  using Key = std::tuple<char, int, int, int64_t>;

  int NewSlot(SlotFacts facts);
  int AddConstant(int64_t value);
  int AddProduct(const std::vector<Expression>& factors, size_t begin,
                 size_t end);
  int AddProductOf(int a, int b);
  int AddTerms(const std::vector<Expression>& terms);
  int AddPair(char key, Kind kind, int a, int b);
  int AddCeilDiv(const Expression& folded);
  int AddSum(int term);
  int AddCausalBlocks(const Expression& folded);

  void RunBatches(Phase phase, const ProblemView& problem,
                  int64_t* slots) const noexcept;
  void RunElements(const ProblemView& problem, int64_t* slots) const noexcept;

  int dimensions_;
  int repeated_dimension_;
  int slot_count_ = 0;
  std::vector<SlotFacts> facts_;
  std::map<Key, int> known_;
  std::vector<Constant> constants_;
  std::vector<Operation> operations_;
  std::vector<Sum> sums_;
  std::vector<Expression> trees_;
  std::vector<Batch> batches_[kPhases];
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_COORDINATE_PROGRAM_H_
