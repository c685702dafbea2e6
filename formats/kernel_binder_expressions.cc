// KernelBinder: expressions, mappings and conditions.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/kernel_binder.h"
#include "model/kernel/expression_faults.h"
#include "model/kernel/kernel_spec.h"
#include "model/text/lexer.h"

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
  if (e.has_text()) {
    return ParseText(e.text(), path, Scope::kDimensions,
                     &TextParser::ParseExpression);
  }
  if (e.has_product()) {
    return Expression::Product(
        BindExpressions(e.product().factors(), path + ".product.factors"));
  }
  Fault(path, "is empty; write it as text, such as \"ceil_div(m, BLOCK_M)\"");
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

Condition KernelBinder::BindRelation(const v1::Relation& relation,
                                     const std::string& path, Scope scope) {
  if (relation.has_text()) {
    return ParseText(relation.text(), path, scope, &TextParser::ParseRelation);
  }
  Fault(path, "is empty; write a condition as text, such as \"BLOCK_M <= 64\"");
  return {};
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
