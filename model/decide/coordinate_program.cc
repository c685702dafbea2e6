#include "model/decide/coordinate_program.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/types/span.h"

namespace wavetune {
namespace {

// Both factors in [0, kOverLimit].
int64_t OverLimitProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return kOverLimit;
  return std::min(product, kOverLimit);
}

}  // namespace

CoordinateProgram::CoordinateProgram(int dimensions, int repeated_dimension)
    : dimensions_(dimensions), repeated_dimension_(repeated_dimension) {
  // The first slots are the extents.
  for (int i = 0; i < dimensions; ++i) {
    NewSlot({.phase = i == repeated_dimension ? kPerElement : kOnce});
  }
}

int CoordinateProgram::NewSlot(SlotFacts facts) {
  facts_.push_back(facts);
  return slot_count_++;
}

int CoordinateProgram::Add(const Expression& folded) {
  switch (folded.kind) {
    case Expression::Kind::kConstant:
      return AddConstant(folded.value);
    case Expression::Kind::kDimension:
      return static_cast<int>(folded.value);
    case Expression::Kind::kCeilDiv:
      return AddCeilDiv(folded);
    case Expression::Kind::kProduct:
      return AddProduct(folded.children, 0, folded.children.size());
    case Expression::Kind::kSumOver:
      return AddSum(Add(folded.children[0]));
    case Expression::Kind::kCausalBlocks:
      return AddCausalBlocks(folded);
    case Expression::Kind::kSum:
      return AddTerms(folded.children);
    case Expression::Kind::kParameter:  // Folding has replaced them.
    case Expression::Kind::kNegative:   // CheckTable refuses these.
    case Expression::Kind::kExactDiv:
    case Expression::Kind::kFloorDiv:
    case Expression::Kind::kRemainder:
    case Expression::Kind::kMin:
    case Expression::Kind::kMax:
      break;
  }
  return AddConstant(0);
}

int CoordinateProgram::AddConstant(int64_t value) {
  const auto [entry, added] = known_.try_emplace({'c', 0, 0, value}, 0);
  if (added) {
    entry->second = NewSlot({});
    constants_.push_back({entry->second, value});
  }
  return entry->second;
}

int CoordinateProgram::AddProduct(const std::vector<Expression>& factors,
                                  size_t begin, size_t end) {
  int64_t constant = 1;
  int slot = -1;
  for (size_t i = begin; i < end; ++i) {
    if (factors[i].kind == Expression::Kind::kConstant) {
      constant = OverLimitProduct(constant, factors[i].value);
    } else {
      const int factor = Add(factors[i]);
      slot = slot < 0 ? factor : AddProductOf(slot, factor);
    }
  }
  if (slot < 0) return AddConstant(constant);
  return constant == 1 ? slot : AddProductOf(slot, AddConstant(constant));
}

int CoordinateProgram::AddProductOf(int a, int b) {
  return AddPair('*', Kind::kProduct, a, b);
}

int CoordinateProgram::AddTerms(const std::vector<Expression>& terms) {
  int64_t constant = 0;
  int slot = -1;
  for (const Expression& expression : terms) {
    if (expression.kind == Expression::Kind::kConstant) {
      constant = std::min(constant + expression.value, kOverLimit);
    } else {
      const int term = Add(expression);
      slot = slot < 0 ? term : AddPair('a', Kind::kAddition, slot, term);
    }
  }
  if (slot < 0) return AddConstant(constant);
  return constant == 0
             ? slot
             : AddPair('a', Kind::kAddition, slot, AddConstant(constant));
}

// Adds an operation whose operands have no order.
int CoordinateProgram::AddPair(char key, Kind kind, int a, int b) {
  if (a > b) std::swap(a, b);
  const auto [entry, added] = known_.try_emplace({key, a, b, 0}, 0);
  if (!added) return entry->second;
  const SlotFacts& left = facts_[static_cast<size_t>(a)];
  const SlotFacts& right = facts_[static_cast<size_t>(b)];
  const SlotFacts facts{.phase = std::max(left.phase, right.phase),
                        .depth = std::max(left.depth, right.depth) + 1};
  entry->second = NewSlot(facts);
  operations_.push_back({.kind = kind,
                         .phase = facts.phase,
                         .depth = facts.depth,
                         .out = entry->second,
                         .a = a,
                         .b = b});
  return entry->second;
}

int CoordinateProgram::AddCeilDiv(const Expression& folded) {
  const auto split = static_cast<size_t>(folded.split);
  int64_t divisor = 1;
  for (size_t i = split; i < folded.children.size(); ++i) {
    divisor = OverLimitProduct(divisor, folded.children[i].value);
  }
  divisor = std::min(divisor, kExpressionLimit);  // The quotients are the same.
  const int numerator = AddProduct(folded.children, 0, split);
  if (divisor <= 1) return numerator;
  const auto [entry, added] =
      known_.try_emplace({'/', numerator, 0, divisor}, 0);
  if (!added) return entry->second;
  const SlotFacts of = facts_[static_cast<size_t>(numerator)];
  entry->second = NewSlot({.phase = of.phase, .depth = of.depth + 1});
  operations_.push_back({.kind = Kind::kCeilDivConstant,
                         .phase = of.phase,
                         .depth = of.depth + 1,
                         .out = entry->second,
                         .a = numerator,
                         .divider = ConstantDivider(divisor)});
  return entry->second;
}

int CoordinateProgram::AddSum(int term) {
  const auto [entry, added] = known_.try_emplace({'+', term, 0, 0}, 0);
  if (added) {
    entry->second = NewSlot({.phase = kAfterSums});
    sums_.push_back({entry->second, term});
  }
  return entry->second;
}

int CoordinateProgram::AddCausalBlocks(const Expression& folded) {
  const auto same = std::find(trees_.begin(), trees_.end(), folded);
  const auto tree = static_cast<int>(same - trees_.begin());
  const auto [entry, added] = known_.try_emplace({'t', tree, 0, 0}, 0);
  if (!added) return entry->second;
  trees_.push_back(folded);
  Phase phase = kOnce;
  for (const Expression& child : folded.children) {
    if (child.kind == Expression::Kind::kDimension &&
        child.value == repeated_dimension_) {
      phase = kPerElement;
    }
  }
  entry->second = NewSlot({.phase = phase, .depth = 1});
  operations_.push_back({.kind = Kind::kCausalBlocks,
                         .phase = phase,
                         .depth = 1,
                         .out = entry->second,
                         .b = tree});
  return entry->second;
}

void CoordinateProgram::Seal() {
  // Stable: operations of equal rank keep the order of their declaration.
  std::stable_sort(operations_.begin(), operations_.end(),
                   [](const Operation& x, const Operation& y) {
                     return std::tie(x.phase, x.depth, x.kind) <
                            std::tie(y.phase, y.depth, y.kind);
                   });
  const Operation* previous = nullptr;
  for (int i = 0; i < static_cast<int>(operations_.size()); ++i) {
    const Operation& operation = operations_[static_cast<size_t>(i)];
    std::vector<Batch>& batches = batches_[operation.phase];
    if (previous == nullptr || previous->phase != operation.phase ||
        previous->kind != operation.kind) {
      batches.push_back({operation.kind, i, i});
    }
    batches.back().end = i + 1;
    previous = &operation;
  }
  known_.clear();
  facts_.clear();
}

void CoordinateProgram::RunBatches(Phase phase, const ProblemView& problem,
                                   int64_t* slots) const noexcept {
  for (const Batch& batch : batches_[phase]) {
    const Operation* const end = operations_.data() + batch.end;
    const Operation* operation = operations_.data() + batch.begin;
    switch (batch.kind) {
      case Kind::kCeilDivConstant:
        for (; operation != end; ++operation) {
          const int64_t numerator = slots[operation->a];
          slots[operation->out] = numerator > kExpressionLimit
                                      ? kOverLimit
                                      : operation->divider.CeilDiv(numerator);
        }
        break;
      case Kind::kProduct:
        for (; operation != end; ++operation) {
          slots[operation->out] =
              OverLimitProduct(slots[operation->a], slots[operation->b]);
        }
        break;
      case Kind::kCausalBlocks:
        for (; operation != end; ++operation) {
          slots[operation->out] =
              EvaluateOrOver(trees_[static_cast<size_t>(operation->b)], problem,
                             Configuration());
        }
        break;
      case Kind::kAddition:
        for (; operation != end; ++operation) {
          slots[operation->out] =
              std::min(slots[operation->a] + slots[operation->b], kOverLimit);
        }
        break;
    }
  }
}

void CoordinateProgram::RunElements(const ProblemView& problem,
                                    int64_t* slots) const noexcept {
  std::array<int64_t, kMaxDimensions> extents{};
  std::copy(problem.extents.begin(), problem.extents.end(), extents.begin());
  const ProblemView at_element(
      absl::MakeConstSpan(extents.data(), problem.extents.size()));
  for (const Sum& sum : sums_) slots[sum.out] = 0;
  for (const int64_t element : problem.repeated) {
    extents[static_cast<size_t>(repeated_dimension_)] = element;
    slots[repeated_dimension_] = element;
    RunBatches(kPerElement, at_element, slots);
    for (const Sum& sum : sums_) {
      slots[sum.out] = std::min(slots[sum.out] + slots[sum.term], kOverLimit);
    }
  }
}

void CoordinateProgram::Run(const ProblemView& problem,
                            int64_t* slots) const noexcept {
  for (int i = 0; i < dimensions_; ++i) {
    slots[i] = problem.extents[static_cast<size_t>(i)];
  }
  for (const Constant& constant : constants_) {
    slots[constant.slot] = constant.value;
  }
  RunBatches(kOnce, problem, slots);
  if (repeated_dimension_ < 0) return;
  RunElements(problem, slots);
  RunBatches(kAfterSums, problem, slots);
}

}  // namespace wavetune
