#include "launch/launch_expression.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "model/kernel/fold.h"
#include "model/kernel/launch_descriptor.h"

namespace wavetune {
namespace {

using Json = nlohmann::ordered_json;
using Dimensions = std::vector<Dimension>;
using Kind = Expression::Kind;

// Deeper than any manifest's; a text must not exhaust the stack.
constexpr int kMaxDepth = 32;

struct OperatorName {
  Relation::Operator op;
  const char* name;
};
constexpr OperatorName kOperators[] = {
    {Relation::Operator::kEqual, "equal"},
    {Relation::Operator::kNotEqual, "not_equal"},
    {Relation::Operator::kLess, "less"},
    {Relation::Operator::kLessOrEqual, "less_or_equal"},
    {Relation::Operator::kGreater, "greater"},
    {Relation::Operator::kGreaterOrEqual, "greater_or_equal"},
    {Relation::Operator::kMultipleOf, "multiple_of"},
};

// Operations that have nothing but their operands.
struct OperationName {
  Kind kind;
  const char* name;
  size_t operands;  // 0: any number of them.
};
constexpr OperationName kOperations[] = {
    {Kind::kNegative, "negative", 1},
    {Kind::kExactDiv, "/", 2},
    {Kind::kFloorDiv, "floor_div", 2},
    {Kind::kRemainder, "%", 2},
    {Kind::kMin, "min", 0},
    {Kind::kMax, "max", 0},
};

const char* NameOf(Kind kind) {
  for (const OperationName& known : kOperations) {
    if (known.kind == kind) return known.name;
  }
  return "";
}

const std::string& NameOf(const Dimensions& dimensions, int64_t index) {
  return dimensions[static_cast<size_t>(index)].name;
}

absl::Status Unreadable(const Json& json, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      json.dump(-1, ' ', false, Json::error_handler_t::replace), " ", why));
}

absl::StatusOr<int64_t> DimensionFromJson(const Json& json,
                                          const Dimensions& dimensions) {
  for (size_t i = 0; json.is_string() && i < dimensions.size(); ++i) {
    if (json.get_ref<const std::string&>() == dimensions[i].name) {
      return static_cast<int64_t>(i);
    }
  }
  return Unreadable(json, "is no dimension of the kernel");
}

// ["*", children...], or the only child.
Json ProductToJson(const std::vector<Expression>& children, size_t begin,
                   size_t end, const Dimensions& dimensions) {
  if (end - begin == 1) return ExpressionToJson(children[begin], dimensions);
  Json json = Json::array({"*"});
  for (size_t i = begin; i < end; ++i) {
    json.push_back(ExpressionToJson(children[i], dimensions));
  }
  return json;
}

Json ListToJson(const char* operation, const std::vector<Expression>& children,
                const Dimensions& dimensions) {
  Json json = Json::array({operation});
  for (const Expression& child : children) {
    json.push_back(ExpressionToJson(child, dimensions));
  }
  return json;
}

class ExpressionReader {
 public:
  explicit ExpressionReader(const Dimensions& dimensions)
      : dimensions_(dimensions) {}

  absl::StatusOr<Expression> Read(const Json& json, int depth) const {
    if (depth > kMaxDepth) return Unreadable(json, "is nested too deeply");
    if (json.is_number_integer()) return ReadConstant(json);
    if (json.is_string()) {
      ASSIGN_OR_RETURN(const int64_t index,
                       DimensionFromJson(json, dimensions_));
      return Expression::OfDimension(static_cast<int>(index));
    }
    if (!json.is_array() || json.size() < 2 || !json[0].is_string()) {
      return Unreadable(json,
                        "is no expression: a number, a dimension or "
                        "[operation, ...]");
    }
    return ReadOperation(json, depth);
  }

 private:
  absl::StatusOr<Expression> ReadConstant(const Json& json) const {
    const bool too_large = json.is_number_unsigned() &&
                           json.get<uint64_t>() > uint64_t{kExpressionLimit};
    if (too_large || json.get<int64_t>() < 0) {
      return Unreadable(json, "is no number from 0 to 2^51");
    }
    return Expression::Constant(json.get<int64_t>());
  }

  absl::StatusOr<Expression> ReadOperation(const Json& json, int depth) const {
    const auto& operation = json[0].get_ref<const std::string&>();
    if (operation == "sum_over") return ReadSumOver(json, depth);
    std::vector<Expression> operands;
    for (size_t i = 1; i < json.size(); ++i) {
      ASSIGN_OR_RETURN(Expression operand, Read(json[i], depth + 1));
      operands.push_back(std::move(operand));
    }
    if (operation == "*") return Expression::Product(std::move(operands));
    if (operation == "+") return Expression::Sum(std::move(operands));
    if (operation == "ceil_div" && operands.size() == 2) {
      return Expression::CeilDiv({operands[0]}, {operands[1]});
    }
    if (operation == "causal_blocks" && operands.size() == 4) {
      Expression causal;
      causal.kind = Kind::kCausalBlocks;
      causal.children = std::move(operands);
      return causal;
    }
    for (const OperationName& known : kOperations) {
      if (operation == known.name &&
          (known.operands == 0 || known.operands == operands.size())) {
        return Expression::Of(known.kind, std::move(operands));
      }
    }
    return Unreadable(json,
                      "has an unknown operation, or a wrong number of "
                      "operands");
  }

  absl::StatusOr<Expression> ReadSumOver(const Json& json, int depth) const {
    if (json.size() != 3)
      return Unreadable(json, "needs a dimension and a term");
    ASSIGN_OR_RETURN(const int64_t index,
                     DimensionFromJson(json[1], dimensions_));
    if (!dimensions_[static_cast<size_t>(index)].repeated) {
      return Unreadable(json, "sums over a dimension that is not repeated");
    }
    ASSIGN_OR_RETURN(Expression term, Read(json[2], depth + 1));
    return Expression::SumOver(static_cast<int>(index), std::move(term));
  }

  const Dimensions& dimensions_;
};

Json TermsToJson(const std::vector<Relation::Term>& terms,
                 const Dimensions& dimensions) {
  Json json = Json::array();
  for (const Relation::Term& term : terms) {
    Json product = Json::array({term.coefficient});
    for (const int32_t dimension : term.dimensions) {
      product.push_back(NameOf(dimensions, dimension));
    }
    json.push_back(std::move(product));
  }
  return json;
}

absl::StatusOr<std::vector<Relation::Term>> TermsFromJson(
    const Json& json, const Dimensions& dimensions) {
  if (!json.is_array()) return Unreadable(json, "is no list of products");
  std::vector<Relation::Term> terms;
  for (const Json& product : json) {
    if (!product.is_array() || product.empty() ||
        !product[0].is_number_integer()) {
      return Unreadable(product, "is no [number, dimension, ...]");
    }
    Relation::Term term{.coefficient = product[0].get<int64_t>()};
    for (size_t i = 1; i < product.size(); ++i) {
      ASSIGN_OR_RETURN(const int64_t index,
                       DimensionFromJson(product[i], dimensions));
      term.dimensions.push_back(static_cast<int32_t>(index));
    }
    terms.push_back(std::move(term));
  }
  return terms;
}

}  // namespace

Json ExpressionToJson(const Expression& expression,
                      const Dimensions& dimensions) {
  if (IsConstant(expression)) {
    return Evaluate(expression, ProblemView(), Configuration());
  }
  const std::vector<Expression>& children = expression.children;
  switch (expression.kind) {
    case Kind::kConstant:
    case Kind::kParameter:  // Not in a descriptor.
      break;
    case Kind::kDimension:
      return NameOf(dimensions, expression.value);
    case Kind::kCeilDiv: {
      const auto split = static_cast<size_t>(expression.split);
      return Json::array(
          {"ceil_div", ProductToJson(children, 0, split, dimensions),
           ProductToJson(children, split, children.size(), dimensions)});
    }
    case Kind::kProduct:
      return ListToJson("*", children, dimensions);
    case Kind::kSum:
      return ListToJson("+", children, dimensions);
    case Kind::kSumOver:
      return Json::array({"sum_over", NameOf(dimensions, expression.value),
                          ExpressionToJson(children[0], dimensions)});
    case Kind::kCausalBlocks:
      return ListToJson("causal_blocks", children, dimensions);
    case Kind::kNegative:
    case Kind::kExactDiv:
    case Kind::kFloorDiv:
    case Kind::kRemainder:
    case Kind::kMin:
    case Kind::kMax:
      return ListToJson(NameOf(expression.kind), children, dimensions);
  }
  return expression.value;
}

Json RelationToJson(const Relation& relation, const Dimensions& dimensions) {
  const char* name = "";
  for (const OperatorName& known : kOperators) {
    if (known.op == relation.op) name = known.name;
  }
  return Json::array({name, TermsToJson(relation.left, dimensions),
                      TermsToJson(relation.right, dimensions)});
}

absl::StatusOr<Expression> ExpressionFromJson(const Json& json,
                                              const Dimensions& dimensions) {
  return ExpressionReader(dimensions).Read(json, 0);
}

absl::StatusOr<Relation> RelationFromJson(const Json& json,
                                          const Dimensions& dimensions) {
  if (json.is_array() && json.size() == 3 && json[0].is_string()) {
    for (const OperatorName& known : kOperators) {
      if (json[0].get_ref<const std::string&>() != known.name) continue;
      Relation relation{.op = known.op};
      ASSIGN_OR_RETURN(relation.left, TermsFromJson(json[1], dimensions));
      ASSIGN_OR_RETURN(relation.right, TermsFromJson(json[2], dimensions));
      return relation;
    }
  }
  return Unreadable(json, "is no [operator, left, right]");
}

}  // namespace wavetune
