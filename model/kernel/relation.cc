#include "model/kernel/relation.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/kernel/condition_text.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

int64_t ClampBothWays(__int128 value) {
  constexpr __int128 kLimit = kExpressionLimit;
  return static_cast<int64_t>(std::clamp(value, -kLimit, kLimit));
}

// `element` stands for the repeated dimension.
int64_t Sum(const std::vector<Relation::Term>& terms,
            const ProblemView& problem, int repeated_dimension,
            int64_t element) {
  int64_t sum = 0;
  for (const Relation::Term& term : terms) {
    int64_t product = ClampBothWays(term.coefficient);
    for (const int32_t index : term.dimensions) {
      const int64_t extent = index == repeated_dimension
                                 ? element
                                 : problem.extents[static_cast<size_t>(index)];
      product = ClampBothWays(static_cast<__int128>(product) * extent);
    }
    sum = ClampBothWays(static_cast<__int128>(sum) + product);
  }
  return sum;
}

bool Mentions(const std::vector<Relation::Term>& terms, int dimension) {
  return std::any_of(
      terms.begin(), terms.end(), [dimension](const Relation::Term& term) {
        return std::find(term.dimensions.begin(), term.dimensions.end(),
                         dimension) != term.dimensions.end();
      });
}

std::string FormatTerms(const std::vector<Dimension>& dimensions,
                        const std::vector<Relation::Term>& terms) {
  std::vector<std::string> sums;
  for (const Relation::Term& term : terms) {
    std::vector<std::string> factors;
    if (term.coefficient != 1 || term.dimensions.empty())
      factors.push_back(absl::StrCat(term.coefficient));
    for (int32_t index : term.dimensions)
      factors.push_back(dimensions[static_cast<size_t>(index)].name);
    sums.push_back(absl::StrJoin(factors, " * "));
  }
  return absl::StrJoin(sums, " + ");
}

}  // namespace

bool Satisfies(int64_t left, Relation::Operator op, int64_t right) {
  switch (op) {
    case Relation::Operator::kEqual:
      return left == right;
    case Relation::Operator::kNotEqual:
      return left != right;
    case Relation::Operator::kLess:
      return left < right;
    case Relation::Operator::kLessOrEqual:
      return left <= right;
    case Relation::Operator::kGreater:
      return left > right;
    case Relation::Operator::kGreaterOrEqual:
      return left >= right;
    case Relation::Operator::kMultipleOf:
      return right > 0 && left % right == 0;
  }
  return false;
}

bool Holds(const Relation& relation, const ProblemView& problem,
           int repeated_dimension) {
  const auto holds_at = [&](int64_t element) {
    return Satisfies(Sum(relation.left, problem, repeated_dimension, element),
                     relation.op,
                     Sum(relation.right, problem, repeated_dimension, element));
  };
  if (repeated_dimension < 0 ||
      (!Mentions(relation.left, repeated_dimension) &&
       !Mentions(relation.right, repeated_dimension))) {
    return holds_at(0);
  }
  return std::all_of(problem.repeated.begin(), problem.repeated.end(),
                     holds_at);
}

std::string FormatRelation(const Relation& relation,
                           const std::vector<Dimension>& dimensions) {
  const std::string left = FormatTerms(dimensions, relation.left);
  const std::string right = FormatTerms(dimensions, relation.right);
  const bool multiple = relation.op == Relation::Operator::kMultipleOf;
  const auto group = [&](const std::string& text) {
    const bool simple = text.find(' ') == std::string::npos;
    return multiple && !simple ? absl::StrCat("(", text, ")") : text;
  };
  return absl::StrCat(group(left), " ", OperatorText(relation.op), " ",
                      group(right), multiple ? " == 0" : "");
}

}  // namespace wavetune
