#include "model/kernel/relation_proof.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

using I128 = __int128;

constexpr I128 kLimit = kExpressionLimit;

// A product of dimensions, sorted; one that stands twice is there twice.
using Product = std::vector<int32_t>;

// Coefficients that are not 0 by product: a sum in which like terms have been
// added up.
using Polynomial = std::map<Product, I128>;

// Smallest and largest value over all problems in range.
struct Interval {
  I128 low = 0;
  I128 high = 0;
};

I128 Saturate(I128 value) { return std::clamp(value, -kLimit, kLimit); }

class Proof {
 public:
  Proof(const Relation& relation, const std::vector<Dimension>& dimensions)
      : relation_(relation), dimensions_(dimensions) {}

  bool Run() const {
    const bool alike = relation_.left == relation_.right;
    switch (relation_.op) {
      case Relation::Operator::kEqual:
        return alike ||
               Always([](Interval at) { return at.low == 0 && at.high == 0; });
      case Relation::Operator::kNotEqual:
        return Always([](Interval at) { return at.low > 0 || at.high < 0; });
      case Relation::Operator::kLess:
        return Always([](Interval at) { return at.high < 0; });
      case Relation::Operator::kLessOrEqual:
        return alike || Always([](Interval at) { return at.high <= 0; });
      case Relation::Operator::kGreater:
        return Always([](Interval at) { return at.low > 0; });
      case Relation::Operator::kGreaterOrEqual:
        return alike || Always([](Interval at) { return at.low >= 0; });
      case Relation::Operator::kMultipleOf:
        return IsMultiple();
    }
    return false;
  }

 private:
  const Dimension& Of(int32_t dimension) const {
    return dimensions_[static_cast<size_t>(dimension)];
  }

  // Adds a side's terms, with dimensions of one extent as numbers.
  void Add(const std::vector<Relation::Term>& terms, I128 sign,
           Polynomial& sum) const {
    for (const Relation::Term& term : terms) {
      I128 factor = Saturate(term.coefficient);
      Product product;
      for (const int32_t dimension : term.dimensions) {
        if (Of(dimension).min == Of(dimension).max) {
          factor = Saturate(factor * Of(dimension).min);
        } else {
          product.push_back(dimension);
        }
      }
      std::sort(product.begin(), product.end());
      I128& coefficient = sum[product];
      coefficient += sign * factor;
      if (coefficient == 0) sum.erase(product);
    }
  }

  Polynomial PolynomialOf(const std::vector<Relation::Term>& terms) const {
    Polynomial sum;
    Add(terms, 1, sum);
    return sum;
  }

  // Saturates, which keeps the order.
  Interval IntervalOf(const Product& product, I128 coefficient) const {
    Interval at{coefficient, coefficient};
    for (const int32_t dimension : product) {
      // Extents are not negative, so the sign stays.
      const I128 nearer = Of(dimension).min;
      const I128 farther = Of(dimension).max;
      at.low = Saturate(at.low * (coefficient < 0 ? farther : nearer));
      at.high = Saturate(at.high * (coefficient < 0 ? nearer : farther));
    }
    return at;
  }

  // Each term for itself.
  Interval SumOfIntervals(const Polynomial& polynomial) const {
    Interval sum;
    for (const auto& [product, coefficient] : polynomial) {
      const Interval at = IntervalOf(product, coefficient);
      sum.low = Saturate(sum.low + at.low);
      sum.high = Saturate(sum.high + at.high);
    }
    return sum;
  }

  // Whether Holds computes a side without saturating, whatever its order.
  bool IsSmall(const std::vector<Relation::Term>& terms) const {
    I128 most = 0;
    for (const Relation::Term& term : terms) {
      I128 value = Saturate(term.coefficient);
      if (value < 0) value = -value;
      for (const int32_t dimension : term.dimensions) {
        value = Saturate(value * std::max<I128>(1, Of(dimension).max));
      }
      most = Saturate(most + value);
    }
    return most < kLimit;
  }

  static bool HasSquares(const Polynomial& polynomial) {
    return std::any_of(
        polynomial.begin(), polynomial.end(), [](const auto& term) {
          const Product& product = term.first;
          return std::adjacent_find(product.begin(), product.end()) !=
                 product.end();
        });
  }

  // Without squares the sum is linear in each dimension: its extremes are where
  // all are at an end of their range.
  Interval ExactInterval(const Polynomial& polynomial) const {
    Interval at{kLimit * 2, -kLimit * 2};
    for (size_t corner = 0; corner < size_t{1} << dimensions_.size();
         ++corner) {
      I128 sum = 0;
      for (const auto& [product, coefficient] : polynomial) {
        I128 value = coefficient;
        for (const int32_t dimension : product) {
          const bool upper = (corner >> dimension & 1) != 0;
          value *= upper ? Of(dimension).max : Of(dimension).min;
        }
        sum += value;
      }
      at.low = std::min(at.low, sum);
      at.high = std::max(at.high, sum);
    }
    return at;
  }

  // Whether `holds` is true of the difference left - right.
  template <typename Condition>
  bool Always(Condition holds) const {
    if (IsSmall(relation_.left) && IsSmall(relation_.right)) {
      Polynomial difference;
      Add(relation_.left, 1, difference);
      Add(relation_.right, -1, difference);
      // More dimensions than are legal are a fault of their own.
      const bool exact = !HasSquares(difference) &&
                         dimensions_.size() <= size_t{kMaxDimensions};
      return holds(exact ? ExactInterval(difference)
                         : SumOfIntervals(difference));
    }
    // Saturated sides cannot be subtracted from each other, but compared.
    const Interval left = SumOfIntervals(PolynomialOf(relation_.left));
    const Interval right = SumOfIntervals(PolynomialOf(relation_.right));
    return holds({left.low - right.high, left.high - right.low});
  }

  // Whether `divisor` divides `product`, dimension by dimension.
  static bool Includes(const Product& product, const Product& divisor) {
    return std::includes(product.begin(), product.end(), divisor.begin(),
                         divisor.end());
  }

  bool IsMultiple() const {
    if (!IsSmall(relation_.right)) return false;
    const Polynomial right = PolynomialOf(relation_.right);
    if (SumOfIntervals(right).low <= 0) return false;
    const Polynomial left = PolynomialOf(relation_.left);
    if (left == right && IsSmall(relation_.left)) return true;
    if (right.size() != 1) return false;
    // Names of their own: a lambda of C++20 may capture no structured binding
    // in Clang 14.
    const auto& divisor = right.begin()->first;
    const I128 number = right.begin()->second;
    // A sum that has saturated is a power of two.
    if (!IsSmall(relation_.left) &&
        !(divisor.empty() && kLimit % number == 0)) {
      return false;
    }
    return std::all_of(left.begin(), left.end(), [&](const auto& term) {
      return term.second % number == 0 && Includes(term.first, divisor);
    });
  }

  const Relation& relation_;
  const std::vector<Dimension>& dimensions_;
};

}  // namespace

bool AlwaysHolds(const Relation& folded,
                 const std::vector<Dimension>& dimensions) {
  return Proof(folded, dimensions).Run();
}

bool Implies(const Relation& known, const Relation& wanted) {
  if (known == wanted) return true;
  const auto is_number = [](const std::vector<Relation::Term>& terms) {
    return terms.size() == 1 && terms[0].dimensions.empty();
  };
  if (known.op != wanted.op || known.left != wanted.left ||
      !is_number(known.right) || !is_number(wanted.right)) {
    return false;
  }
  const int64_t is = known.right[0].coefficient;
  const int64_t asked = wanted.right[0].coefficient;
  switch (known.op) {
    case Relation::Operator::kLess:
    case Relation::Operator::kLessOrEqual:
      return is <= asked;
    case Relation::Operator::kGreater:
    case Relation::Operator::kGreaterOrEqual:
      return is >= asked;
    case Relation::Operator::kMultipleOf:
      return asked > 0 && is % asked == 0;
    case Relation::Operator::kEqual:
    case Relation::Operator::kNotEqual:
      return false;
  }
  return false;
}

}  // namespace wavetune
