// KernelBinder: expressions, mappings and conditions.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/kernel_binder.h"
#include "formats/manifest_text/lexer.h"
#include "model/kernel/expression_faults.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {

std::vector<Expression> KernelBinder::BindExpressions(
    const google::protobuf::RepeatedPtrField<v1::Expression>& expressions,
    const std::string& path) {
  if (expressions.empty()) Fault(path, "needs at least one entry");
  std::vector<Expression> result;
  for (int i = 0; i < expressions.size(); ++i) {
    result.push_back(
        BindExpression(expressions[i], absl::StrCat(path, "[", i, "]")));
  }
  return result;
}

std::vector<Expression> KernelBinder::BindSides(
    const google::protobuf::RepeatedPtrField<v1::Expression>& sides,
    const std::string& path) {
  // One alone is no list to its author.
  if (sides.size() == 1) return {BindExpression(sides[0], path)};
  if (sides.empty()) return {};
  return BindExpressions(sides, path);
}

std::optional<Expression> KernelBinder::BindOptional(bool present,
                                                     const v1::Expression& e,
                                                     const std::string& path) {
  if (!present) return std::nullopt;
  return BindExpression(e, path);
}

Expression KernelBinder::BindExpression(const v1::Expression& e,
                                        const std::string& path) {
  switch (e.kind_case()) {
    case v1::Expression::kConstant:
      return Expression::Constant(e.constant());
    case v1::Expression::kDimension:
      return Expression::OfDimension(DimensionOf(e.dimension(), path));
    case v1::Expression::kParameter:
      return Expression::OfParameter(ParameterOf(e.parameter(), path));
    case v1::Expression::kCeilDiv:
      return Expression::CeilDiv(
          BindExpressions(e.ceil_div().numerator(),
                          path + ".ceil_div.numerator"),
          BindExpressions(e.ceil_div().denominator(),
                          path + ".ceil_div.denominator"));
    case v1::Expression::kProduct:
      return Expression::Product(
          BindExpressions(e.product().factors(), path + ".product.factors"));
    case v1::Expression::kSum:
      return Expression::Sum(
          BindExpressions(e.sum().terms(), path + ".sum.terms"));
    case v1::Expression::kSumOver:
      return Expression::SumOver(
          DimensionOf(e.sum_over().dimension(), path + ".sum_over.dimension"),
          BindExpression(e.sum_over().term(), path + ".sum_over.term"));
    case v1::Expression::kCausalBlocks: {
      const v1::CausalBlocks& c = e.causal_blocks();
      const std::string where = path + ".causal_blocks";
      return Expression::CausalBlocks(
          DimensionOf(c.seq_q(), where + ".seq_q"),
          DimensionOf(c.seq_kv(), where + ".seq_kv"),
          ParameterOf(c.block_q(), where + ".block_q"),
          ParameterOf(c.block_kv(), where + ".block_kv"));
    }
    case v1::Expression::kText:
      return ParseText(e.text(), path, Scope::kDimensions,
                       &TextParser::ParseExpression);
    case v1::Expression::KIND_NOT_SET:
      Fault(path,
            "is empty; give a text, or a constant, dimension, parameter, "
            "ceil_div, product, sum, sum_over or causal_blocks");
      return Expression();
  }
  return Expression();
}

Mapping KernelBinder::BindMapping(const v1::Mapping& mapping,
                                  const std::string& path) {
  Mapping result;
  result.tiles = BindExpression(mapping.tiles(), path + ".tiles");
  if (mapping.has_iterations_per_tile()) {
    result.iterations_per_tile = BindExpression(mapping.iterations_per_tile(),
                                                path + ".iterations_per_tile");
  }
  if (mapping.has_total_iterations()) {
    result.total_iterations =
        BindExpression(mapping.total_iterations(), path + ".total_iterations");
  }
  if (mapping.has_iterations_per_tile() && mapping.has_total_iterations()) {
    Fault(path,
          "has both iterations_per_tile and total_iterations; give one of "
          "them, or neither where the kernel has no loop");
  }
  if (!mapping.has_iterations_per_tile() && !mapping.has_total_iterations()) {
    result.iterations_per_tile = Expression::Constant(1);
  }
  if (mapping.has_longest_loop())
    result.longest_loop =
        BindExpression(mapping.longest_loop(), path + ".longest_loop");
  if (mapping.has_rows()) {
    result.rows = BindRows(mapping.rows(), path + ".rows");
  }
  return result;
}

RowAxis KernelBinder::BindRows(const v1::RowAxis& rows,
                               const std::string& path) {
  if (!rows.has_text()) {
    return {.dimension = DimensionOf(rows.dimension(), path + ".dimension"),
            .tile = ParameterOf(rows.tile(), path + ".tile")};
  }
  const Expression axis = ParseText(rows.text(), path, Scope::kDimensions,
                                    &TextParser::ParseExpression);
  if (axis.kind == Expression::Kind::kCeilDiv && axis.children.size() == 2 &&
      axis.children[0].kind == Expression::Kind::kDimension &&
      axis.children[1].kind == Expression::Kind::kParameter) {
    return {.dimension = static_cast<int32_t>(axis.children[0].value),
            .tile = static_cast<int32_t>(axis.children[1].value)};
  }
  Fault(path, "is no axis of rows; write ceil_div(dimension, parameter)");
  return {};
}

template <typename Result>
Result KernelBinder::ParseText(const v1::ManifestText& text,
                               const std::string& path, Scope scope,
                               Result (TextParser::*parse)()) {
  Lexer lexer(text.text());
  TextParser parser(lexer, names_, scope);
  Result result = (parser.*parse)();
  if (lexer.ok()) return result;
  Fault(absl::StrCat(path, ", ", places_.Of(text, lexer.fault()->at)),
        lexer.fault()->what);
  return Result();
}

Expression KernelBinder::BindFactor(const std::string& name,
                                    const std::string& path, Scope scope) {
  if (auto p = parameters_.find(name); p != parameters_.end()) {
    return Expression::OfParameter(p->second);
  }
  auto one = Expression::Constant(1);
  if (scope == Scope::kDevice) {
    if (const Expression* fact = names_.FindDeviceFact(name)) return *fact;
    Fault(path, absl::StrCat("\"", name,
                             "\" is neither a parameter of this kernel nor ",
                             kComputeCapabilityName));
    return one;
  }
  auto d = dimensions_.find(name);
  if (d == dimensions_.end()) {
    Fault(path, absl::StrCat("\"", name,
                             "\" is neither a parameter nor a dimension of "
                             "this kernel"));
    return one;
  }
  if (scope == Scope::kParameters) {
    Fault(path, absl::StrCat("names dimension \"", name,
                             "\", but may name parameters only; relations over "
                             "problems belong to problem_predicates"));
    return one;
  }
  return Expression::OfDimension(d->second);
}

Expression KernelBinder::BindTerms(
    const google::protobuf::RepeatedPtrField<v1::Relation::Term>& terms,
    const std::string& path, Scope scope) {
  if (terms.empty()) Fault(path, "needs at least one term");
  std::vector<Expression> sum;
  for (int i = 0; i < terms.size(); ++i) {
    std::vector<Expression> factors;
    if (terms[i].has_coefficient() || terms[i].factors().empty()) {
      factors.push_back(Expression::Constant(
          terms[i].has_coefficient() ? terms[i].coefficient() : 1));
    }
    for (const std::string& name : terms[i].factors()) {
      factors.push_back(
          BindFactor(name, absl::StrCat(path, "[", i, "].factors"), scope));
    }
    sum.push_back(factors.size() == 1
                      ? std::move(factors[0])
                      : Expression::Product(std::move(factors)));
  }
  return sum.size() == 1 ? std::move(sum[0]) : Expression::Sum(std::move(sum));
}

Condition KernelBinder::BindRelation(const v1::Relation& relation,
                                     const std::string& path, Scope scope) {
  if (relation.has_text()) {
    return ParseText(relation.text(), path, scope, &TextParser::ParseRelation);
  }
  Expression left = BindTerms(relation.left(), path + ".left", scope);
  Expression right = BindTerms(relation.right(), path + ".right", scope);
  if (relation.op() == v1::Relation::OPERATOR_UNSPECIFIED ||
      !v1::Relation::Operator_IsValid(relation.op())) {
    Fault(path + ".op",
          "is missing; give EQUAL, NOT_EQUAL, LESS, LESS_OR_EQUAL, GREATER, "
          "GREATER_OR_EQUAL or MULTIPLE_OF");
    return {};
  }
  // Equal numbers, see the static_asserts below.
  return {std::move(left), static_cast<Relation::Operator>(relation.op()),
          std::move(right)};
}

std::vector<Condition> KernelBinder::BindRelations(
    const google::protobuf::RepeatedPtrField<v1::Relation>& relations,
    const std::string& path, Scope scope) {
  std::vector<Condition> result;
  for (int i = 0; i < relations.size(); ++i) {
    result.push_back(
        BindRelation(relations[i], absl::StrCat(path, "[", i, "]"), scope));
  }
  return result;
}
static_assert(static_cast<int>(Relation::Operator::kEqual) ==
              v1::Relation::EQUAL);
static_assert(static_cast<int>(Relation::Operator::kLessOrEqual) ==
              v1::Relation::LESS_OR_EQUAL);
static_assert(static_cast<int>(Relation::Operator::kMultipleOf) ==
              v1::Relation::MULTIPLE_OF);

void KernelBinder::BindRequirements(KernelSpec* spec) {
  for (int i = 0; i < proto_.require_size(); ++i) {
    const std::string path = absl::StrCat("require[", i, "]");
    const size_t before = faults_.size();
    Condition condition =
        BindRelation(proto_.require(i), path, Scope::kDimensions);
    if (faults_.size() != before) continue;
    std::vector<int32_t> dimensions;
    CollectDimensions(condition, dimensions);
    std::vector<int32_t> parameters;
    CollectParameters(condition, parameters);
    if (!dimensions.empty()) {
      spec->problem_predicates.push_back(std::move(condition));
    } else if (!parameters.empty()) {
      spec->constraints.push_back(std::move(condition));
    } else {
      Fault(path,
            absl::StrCat("names neither a parameter nor a dimension, and so ",
                         Holds(condition, ProblemView(), Configuration())
                             ? "always"
                             : "never",
                         " holds; name one, or remove it"));
    }
  }
}

}  // namespace wavetune
