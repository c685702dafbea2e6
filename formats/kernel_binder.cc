// The parts of a kernel that others are built from: names, expressions,
// mappings and relations. kernel_spec.cc puts the kernel together.
#include "formats/kernel_binder.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {

int KernelBinder::Find(const std::map<std::string, int>& index,
                       const std::string& name, const std::string& path,
                       const char* kind) {
  auto it = index.find(name);
  if (it != index.end()) return it->second;
  std::vector<std::string> known;
  for (const auto& [n, i] : index) known.push_back(n);
  Fault(path, absl::StrCat("unknown ", kind, " \"", name,
                           "\"; declared are: ", absl::StrJoin(known, ", ")));
  return 0;
}

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
    case v1::Expression::KIND_NOT_SET:
      Fault(path,
            "is empty; give a constant, dimension, parameter, ceil_div, "
            "product, sum, sum_over or causal_blocks");
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
  if (mapping.has_iterations_per_tile() == mapping.has_total_iterations()) {
    Fault(path,
          "needs exactly one of iterations_per_tile and total_iterations");
  }
  if (mapping.has_longest_loop())
    result.longest_loop =
        BindExpression(mapping.longest_loop(), path + ".longest_loop");
  if (mapping.has_rows()) {
    result.rows = RowAxis{
        .dimension =
            DimensionOf(mapping.rows().dimension(), path + ".rows.dimension"),
        .tile = ParameterOf(mapping.rows().tile(), path + ".rows.tile")};
  }
  return result;
}

void KernelBinder::BindFactor(const std::string& name, const std::string& path,
                              Scope scope, Relation::Term* term) {
  if (auto p = parameters_.find(name); p != parameters_.end()) {
    term->parameters.push_back(p->second);
    return;
  }
  if (scope == Scope::kDevice) {
    if (name == kComputeCapabilityName) {
      term->dimensions.push_back(
          static_cast<int32_t>(DeviceFact::kComputeCapability));
    } else {
      Fault(path, absl::StrCat("\"", name,
                               "\" is neither a parameter of this kernel nor ",
                               kComputeCapabilityName));
    }
    return;
  }
  auto d = dimensions_.find(name);
  if (d == dimensions_.end()) {
    Fault(path, absl::StrCat("\"", name,
                             "\" is neither a parameter nor a dimension of "
                             "this kernel"));
  } else if (scope == Scope::kParameters) {
    Fault(path, absl::StrCat("names dimension \"", name,
                             "\", but may name parameters only; relations over "
                             "problems belong to problem_predicates"));
  } else {
    term->dimensions.push_back(d->second);
  }
}

std::vector<Relation::Term> KernelBinder::BindTerms(
    const google::protobuf::RepeatedPtrField<v1::Relation::Term>& terms,
    const std::string& path, Scope scope) {
  if (terms.empty()) Fault(path, "needs at least one term");
  std::vector<Relation::Term> result;
  for (int i = 0; i < terms.size(); ++i) {
    Relation::Term term;
    if (terms[i].has_coefficient()) term.coefficient = terms[i].coefficient();
    for (const std::string& name : terms[i].factors()) {
      BindFactor(name, absl::StrCat(path, "[", i, "].factors"), scope, &term);
    }
    result.push_back(std::move(term));
  }
  return result;
}

Relation KernelBinder::BindRelation(const v1::Relation& relation,
                                    const std::string& path, Scope scope) {
  Relation result;
  result.left = BindTerms(relation.left(), path + ".left", scope);
  result.right = BindTerms(relation.right(), path + ".right", scope);
  if (relation.op() == v1::Relation::OPERATOR_UNSPECIFIED ||
      !v1::Relation::Operator_IsValid(relation.op())) {
    Fault(path + ".op",
          "is missing; give EQUAL, NOT_EQUAL, LESS, LESS_OR_EQUAL, GREATER, "
          "GREATER_OR_EQUAL or MULTIPLE_OF");
  } else {
    result.op = static_cast<Relation::Operator>(
        relation.op());  // Equal numbers, see the static_asserts below.
  }
  return result;
}

std::vector<Relation> KernelBinder::BindRelations(
    const google::protobuf::RepeatedPtrField<v1::Relation>& relations,
    const std::string& path, Scope scope) {
  std::vector<Relation> result;
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

}  // namespace wavetune
