// PredicateProgram: the problem predicates of all rows of a table, each
// distinct one evaluated once per problem.
//
//   PredicateProgram program(/*repeated_dimension=*/-1);
//   program.Add(sub_table.predicates[2], /*group=*/5);
//   uint64_t excluded[2] = {0, 0};
//   program.Run(problem, excluded);  // Bit 5: the relation does not hold.
//
// Why: most predicates do not mention a parameter, so that all rows share them,
// and most have the form `k % 8 == 0`, which needs no walk over sums of
// products.
//
// Thread safety: immutable after the last Add.
#ifndef WAVETUNE_MODEL_DECIDE_PREDICATE_PROGRAM_H_
#define WAVETUNE_MODEL_DECIDE_PREDICATE_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/decide/constant_divider.h"
#include "model/kernel/relation.h"
#include "wavetune/problem.h"

namespace wavetune {

class PredicateProgram {
 public:
  explicit PredicateProgram(int repeated_dimension)
      : repeated_dimension_(repeated_dimension) {}

  // Adds a relation that must hold for a macro group, number 0 to 127; an equal
  // one is kept once.
  void Add(const Relation& relation, size_t group);

  // Sets the bits of the groups that are not for this legal problem. No
  // allocation, lock or system call.
  void Run(const ProblemView& problem, uint64_t* excluded) const noexcept;

  // If all relations ask for powers of two, calls see(dimension, low bits) for
  // each dimension with such relations and returns true. An extent with none of
  // those bits excludes no group. Returns false where there are others.
  template <typename See>
  bool FindLowBits(const See& see) const {
    if (!divided_.empty() || !any_.empty()) return false;
    for (const Powers& of : powers_) {
      int zeros = 0;
      while (zeros <= Powers::kMost && of.fails[zeros].any()) ++zeros;
      see(static_cast<size_t>(of.dimension), (uint64_t{1} << zeros) - 1);
    }
    return true;
  }

  // How many relations are evaluated, those that ask for powers of two counted
  // once per dimension.
  size_t size() const { return powers_.size() + divided_.size() + any_.size(); }

 private:
  // A bit per group.
  struct Groups {
    uint64_t words[2] = {0, 0};

    void Set(size_t group) { words[group / 64] |= uint64_t{1} << (group % 64); }
    bool any() const { return (words[0] | words[1]) != 0; }
    void AddTo(uint64_t* excluded) const {
      excluded[0] |= words[0];
      excluded[1] |= words[1];
    }
  };
  // extents[dimension] is a multiple of a power of two, another for each group.
  struct Powers {
    static constexpr int kMost = 51;  // kExpressionLimit has as many zeros.

    int dimension = 0;
    Groups fails[kMost + 1];  // By the number of zeros that the extent ends in.
  };
  // The same of any divisor.
  struct Divided {
    int dimension = 0;
    ConstantDivider divider;
    Groups groups;
  };
  struct Any {
    Relation relation;
    Groups groups;
  };

  void AddMultiple(int dimension, int64_t divisor, size_t group);

  int repeated_dimension_;
  std::vector<Powers> powers_;
  std::vector<Divided> divided_;
  std::vector<Any> any_;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_PREDICATE_PROGRAM_H_
