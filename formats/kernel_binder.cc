#include "formats/kernel_binder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/manifest_text/declarations.h"
#include "formats/manifest_text/lexer.h"
#include "model/kernel/expression_faults.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_check.h"
#include "model/table/table_check_mapping.h"

namespace wavetune {
namespace {

// Whether a table can hold the expression as one of the problem alone.
bool IsOfProblem(const Expression& e, int depth) {
  using Kind = Expression::Kind;
  const bool known = e.kind >= Kind::kConstant && e.kind <= Kind::kSum &&
                     e.kind != Kind::kParameter;
  if (!known || depth > kMaxExpressionDepth) return false;
  if (e.kind == Kind::kConstant) return e.value >= 1;
  for (size_t i = 0; i < e.children.size(); ++i) {
    const bool divides =
        e.kind == Kind::kCeilDiv && i >= static_cast<size_t>(e.split);
    if (divides && e.children[i].kind != Kind::kConstant) return false;
    if (!IsOfProblem(e.children[i], depth + 1)) return false;
  }
  return true;
}

bool SumsOverElements(const Expression& e) {
  return e.kind == Expression::Kind::kSumOver ||
         std::any_of(e.children.begin(), e.children.end(), SumsOverElements);
}

// Mapping::cold_bytes of all cold arguments: nothing where they do not grow
// with the elements of a repeated dimension (what dense kernels read follows
// from their tiles), and where they do not follow from the problem alone.
// docs/decisions/0032 says why overlaps do without.
std::optional<Expression> ColdBytesOf(const KernelSpec& spec) {
  if (spec.wave_form == WaveForm::kOverlap) return std::nullopt;
  std::vector<Expression> terms;
  for (const Argument& argument : spec.arguments) {
    if (!argument.cold) continue;
    const auto bytes = static_cast<int64_t>(ElementBytes(argument.type));
    terms.push_back(
        Expression::Product({Expression::Constant(bytes), argument.size}));
  }
  if (terms.empty()) return std::nullopt;
  Expression all = terms.size() == 1 ? std::move(terms[0])
                                     : Expression::Sum(std::move(terms));
  if (!SumsOverElements(all) || !IsOfProblem(all, /*depth=*/1)) {
    return std::nullopt;
  }
  return all;
}

// Gives a mapping the expression, if a table has room for it.
void SetColdBytes(const std::optional<Expression>& cold_bytes,
                  Mapping& mapping) {
  mapping.cold_bytes = cold_bytes;
  if (CountNodes(mapping) > kMaxMappingNodes) mapping.cold_bytes.reset();
}

}  // namespace

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

void KernelBinder::BindConfigurations(KernelSpec* spec) {
  for (int i = 0; i < proto_.configurations_size(); ++i) {
    const std::string path = absl::StrCat("configurations[", i, "]");
    const auto& values = proto_.configurations(i).values();
    spec->configurations.push_back(BindValues(
        std::map<std::string, int64_t>(values.begin(), values.end()), path));
  }
}

void KernelBinder::BindRoles(KernelSpec* spec) {
  std::vector<int32_t> macro;
  const auto add = [&macro](const Mapping& mapping) {
    CollectParameters(mapping.tiles, macro);
    for (const OptionalExpression& part : kOptionalExpressions) {
      const auto& expression = mapping.*part.value;
      if (expression.has_value()) CollectParameters(*expression, macro);
    }
    if (mapping.rows.has_value()) macro.push_back(mapping.rows->tile);
  };
  add(spec->mapping);
  for (const Specialisation& specialisation : spec->specialisations) {
    if (specialisation.mapping.has_value()) add(*specialisation.mapping);
  }
  for (int i = 0; i < proto_.parameters_size(); ++i) {
    const auto role = proto_.parameters(i).role();
    const bool is_macro =
        role == v1::Parameter::ROLE_UNSPECIFIED
            ? std::find(macro.begin(), macro.end(), i) != macro.end()
            : role == v1::Parameter::MACRO;
    spec->parameters[static_cast<size_t>(i)].role =
        is_macro ? ParameterRole::kMacro : ParameterRole::kMicro;
  }
}

Implementation KernelBinder::BindImplementation(
    const v1::Implementation& implementation, const std::string& path) {
  Implementation result;
  result.backend = implementation.backend();
  result.sources.assign(implementation.sources().begin(),
                        implementation.sources().end());
  result.entry = implementation.entry();
  result.compile_options.assign(implementation.compile_options().begin(),
                                implementation.compile_options().end());
  result.block_size =
      BindSides(implementation.block_size(), path + ".block_size");
  result.blocks = BindSides(implementation.blocks(), path + ".blocks");
  result.shared_memory_bytes = BindOptional(
      implementation.has_shared_memory_bytes(),
      implementation.shared_memory_bytes(), path + ".shared_memory_bytes");
  result.cluster_size =
      BindOptional(implementation.has_cluster_size(),
                   implementation.cluster_size(), path + ".cluster_size");
  result.persistent_if =
      BindRelations(implementation.persistent_if(), path + ".persistent_if",
                    Scope::kParameters);
  for (int i = 0; i < implementation.tensor_maps_size(); ++i) {
    result.tensor_maps.push_back(
        BindTensorMap(implementation.tensor_maps(i),
                      absl::StrCat(path, ".tensor_maps[", i, "]")));
  }
  result.device_predicates =
      BindRelations(implementation.device_predicates(),
                    path + ".device_predicates", Scope::kDevice);
  for (int i = 0; i < implementation.vendor_baselines_size(); ++i) {
    result.vendor_baselines.push_back(
        BindVendorBaseline(implementation.vendor_baselines(i),
                           absl::StrCat(path, ".vendor_baselines[", i, "]")));
  }
  return result;
}

VendorBaseline KernelBinder::BindVendorBaseline(
    const v1::VendorBaseline& baseline, const std::string& path) {
  VendorBaseline result{.library = baseline.library()};
  if (!baseline.has_matrix_product()) {
    Fault(path, "says no operation; give matrix_product");
    return result;
  }
  const v1::MatrixProduct& product = baseline.matrix_product();
  const std::string prefix = path + ".matrix_product.";
  const auto argument = [&](const std::string& name, const char* field) {
    return Find(arguments_, name, prefix + field, "argument");
  };
  result.product = {.a = argument(product.a(), "a"),
                    .b = argument(product.b(), "b"),
                    .out = argument(product.out(), "out"),
                    .m = DimensionOf(product.m(), prefix + "m"),
                    .n = DimensionOf(product.n(), prefix + "n"),
                    .k = DimensionOf(product.k(), prefix + "k"),
                    .b_transposed = product.b_transposed()};
  return result;
}

TensorMap KernelBinder::BindTensorMap(const v1::TensorMap& map,
                                      const std::string& path) {
  TensorMap result;
  result.argument =
      Find(arguments_, map.argument(), path + ".argument", "argument");
  result.extents = BindExpressions(map.extents(), path + ".extents");
  result.box = BindExpressions(map.box(), path + ".box");
  if (v1::TensorMap::Swizzle_IsValid(map.swizzle())) {
    // Equal numbers, see the static_asserts below.
    result.swizzle = static_cast<TensorMap::Swizzle>(map.swizzle());
  } else {
    Fault(path + ".swizzle", "is unknown; give one that kernel.proto lists");
  }
  result.l2_promotion_bytes = map.l2_promotion_bytes();
  if (!map.enabled_by().empty()) {
    result.enabled_by = ParameterOf(map.enabled_by(), path + ".enabled_by");
  }
  return result;
}
static_assert(static_cast<int>(TensorMap::Swizzle::kNone) ==
              v1::TensorMap::SWIZZLE_UNSPECIFIED);
static_assert(static_cast<int>(TensorMap::Swizzle::k32Bytes) ==
              v1::TensorMap::SWIZZLE_32B);
static_assert(static_cast<int>(TensorMap::Swizzle::k64Bytes) ==
              v1::TensorMap::SWIZZLE_64B);
static_assert(static_cast<int>(TensorMap::Swizzle::k128Bytes) ==
              v1::TensorMap::SWIZZLE_128B);

Argument KernelBinder::BindArgument(const v1::Argument& argument,
                                    const std::string& path) {
  Argument result;
  result.name = argument.name();
  result.cold = argument.cold();
  switch (argument.type()) {
    case v1::Argument::FLOAT32:
      result.type = ElementType::kFloat32;
      break;
    case v1::Argument::INT32:
      result.type = ElementType::kInt32;
      break;
    case v1::Argument::INT64:
      result.type = ElementType::kInt64;
      break;
    case v1::Argument::BFLOAT16:
      result.type = ElementType::kBfloat16;
      break;
    default:
      Fault(path + ".type",
            "is missing; give FLOAT32, INT32, INT64 or BFLOAT16");
  }
  switch (argument.role()) {
    case v1::Argument::INPUT:
      result.role = ArgumentRole::kInput;
      break;
    case v1::Argument::OUTPUT:
      result.role = ArgumentRole::kOutput;
      break;
    case v1::Argument::SCALAR:
      result.role = ArgumentRole::kScalar;
      break;
    case v1::Argument::INOUT:
      result.role = ArgumentRole::kInOut;
      break;
    case v1::Argument::WORKSPACE:
      result.role = ArgumentRole::kWorkspace;
      break;
    default:
      Fault(path + ".role",
            "is missing; give INPUT, OUTPUT, INOUT, WORKSPACE or SCALAR");
      return result;
  }
  if (result.role == ArgumentRole::kScalar) {
    BindScalar(argument, path, &result);
  } else {
    BindBuffer(argument, path, &result);
  }
  return result;
}

void KernelBinder::BindScalar(const v1::Argument& argument,
                              const std::string& path, Argument* result) {
  if (argument.has_number()) {
    result->number = argument.number();
    if (argument.has_value()) {
      Fault(path, "gives value and number; remove one");
    }
  } else if (argument.has_value()) {
    result->size = BindExpression(argument.value(), path + ".value");
  } else {
    Fault(path,
          "has no value; give value (an expression), or number for FLOAT32 and "
          "BFLOAT16");
  }
  const auto refuse = [&](bool given, const char* name) {
    if (given) Fault(path, absl::StrCat("a scalar has a value, not ", name));
  };
  refuse(argument.has_elements(), "elements");
  refuse(argument.has_below(), "below");
  refuse(argument.zeroed() != v1::Argument::ZEROED_UNSPECIFIED, "zeroed");
}

void KernelBinder::BindBuffer(const v1::Argument& argument,
                              const std::string& path, Argument* result) {
  result->size = BindExpression(argument.elements(), path + ".elements");
  result->below =
      BindOptional(argument.has_below(), argument.below(), path + ".below");
  const auto refuse = [&](bool given, const char* name) {
    if (given) Fault(path, absl::StrCat("a buffer has elements, not a ", name));
  };
  refuse(argument.has_value(), "value");
  refuse(argument.has_number(), "number");
  switch (argument.zeroed()) {
    case v1::Argument::ZEROED_UNSPECIFIED:
      return;
    case v1::Argument::EVERY_LAUNCH:
      break;
    case v1::Argument::ONCE:
      result->zeroed = Zeroed::kOnce;
      break;
    case v1::Argument::NEVER:
      result->zeroed = Zeroed::kNever;
      break;
    default:
      Fault(path + ".zeroed", "is unknown; give EVERY_LAUNCH, ONCE or NEVER");
  }
  if (result->role != ArgumentRole::kWorkspace) {
    Fault(path + ".zeroed",
          absl::StrCat("is for workspaces, but the role is ",
                       v1::Argument::Role_Name(argument.role()),
                       "; remove it, or declare the role WORKSPACE"));
  }
}

Configuration KernelBinder::BindValues(
    const std::map<std::string, int64_t>& given, const std::string& path) {
  std::vector<int64_t> values;
  for (const v1::Parameter& parameter : proto_.parameters()) {
    auto it = given.find(parameter.name());
    if (it == given.end()) {
      Fault(path, absl::StrCat("has no value for parameter \"",
                               parameter.name(), "\""));
      values.push_back(0);
    } else {
      values.push_back(it->second);
    }
  }
  for (const auto& [name, value] : given) ParameterOf(name, path);
  return Configuration(values);
}

void KernelBinder::BindGrid(const v1::ProblemGrid& grid,
                            const std::string& path,
                            std::vector<WeightedProblem>* out) {
  const size_t faults_before = faults_.size();
  std::vector<std::vector<int64_t>> axes(
      static_cast<size_t>(proto_.dimensions_size()));
  for (int i = 0; i < grid.axes_size(); ++i) {
    const std::string where = absl::StrCat(path, ".axes[", i, "]");
    const size_t d = static_cast<size_t>(
        DimensionOf(grid.axes(i).dimension(), where + ".dimension"));
    if (faults_.size() > faults_before) return;
    if (!axes[d].empty())
      Fault(where, absl::StrCat("dimension \"", grid.axes(i).dimension(),
                                "\" is given twice"));
    axes[d].assign(grid.axes(i).values().begin(), grid.axes(i).values().end());
  }
  int64_t count = 1;
  for (size_t d = 0; d < axes.size(); ++d) {
    const v1::Dimension& dimension = proto_.dimensions(static_cast<int>(d));
    if (axes[d].empty())
      Fault(path, absl::StrCat("has no values for dimension \"",
                               dimension.name(), "\""));
    if (!dimension.repeated()) count *= static_cast<int64_t>(axes[d].size());
    if (count > 10000)
      Fault(path, "has more than 10000 problems; give fewer values");
    if (faults_.size() > faults_before) return;
  }
  std::set<std::string> specialisations;
  for (const std::string& name : grid.specialisation()) {
    bool known = name.empty();  // For all, as none.
    for (const v1::Specialisation& s : proto_.specialisations())
      known = known || s.name() == name;
    if (!known)
      Fault(path + ".specialisation",
            absl::StrCat("unknown specialisation \"", name, "\""));
    if (!specialisations.insert(name).second)
      Fault(path + ".specialisation",
            absl::StrCat("\"", name, "\" is given twice"));
  }
  if (specialisations.empty()) specialisations.insert("");
  if (grid.has_weight() && !(grid.weight() > 0 && std::isfinite(grid.weight())))
    Fault(
        path + ".weight",
        absl::StrCat("is ", grid.weight(),
                     "; give a finite number above 0, or leave it out for 1"));
  const double weight =
      (grid.has_weight() ? grid.weight() : 1.0) /
      static_cast<double>(count * static_cast<int64_t>(specialisations.size()));
  for (const std::string& specialisation : specialisations) {
    MultiplyOut(
        axes, count,
        {.problem = {.specialisation = specialisation}, .weight = weight}, out);
  }
}

void KernelBinder::MultiplyOut(const std::vector<std::vector<int64_t>>& axes,
                               int64_t count, const WeightedProblem& empty,
                               std::vector<WeightedProblem>* out) {
  for (int64_t i = 0; i < count; ++i) {
    WeightedProblem item = empty;
    int64_t rest = i;
    for (size_t d = 0; d < axes.size(); ++d) {
      if (proto_.dimensions(static_cast<int>(d)).repeated()) {
        item.problem.extents.push_back(0);
        item.problem.repeated = axes[d];
        continue;
      }
      const int64_t size = static_cast<int64_t>(axes[d].size());
      item.problem.extents.push_back(axes[d][static_cast<size_t>(rest % size)]);
      rest /= size;
    }
    out->push_back(std::move(item));
  }
}

bool KernelBinder::has_constants() const {
  return std::any_of(
      proto_.specialisations().begin(), proto_.specialisations().end(),
      [](const v1::Specialisation& s) { return !s.constants().empty(); });
}

void KernelBinder::IndexConstants() {
  for (int i = 0; i < proto_.specialisations_size(); ++i) {
    const v1::Specialisation& s = proto_.specialisations(i);
    CheckConstants(s, absl::StrCat("specialisations[", i, "].constants"));
    const bool wanted =
        specialisation_.empty() ? i == 0 : s.name() == specialisation_;
    if (!wanted) continue;
    for (const auto& [name, value] : s.constants()) {
      names_.Add(name, Expression::Constant(value));
    }
  }
}

void KernelBinder::CheckConstants(const v1::Specialisation& specialisation,
                                  const std::string& path) {
  for (const auto& [name, value] : specialisation.constants()) {
    if (dimensions_.contains(name) || parameters_.contains(name)) {
      Fault(path, absl::StrCat("\"", name,
                               "\" is a dimension or parameter; rename one"));
    }
    if (specialisation.defines().contains(name)) {
      Fault(path, absl::StrCat("\"", name,
                               "\" is a define already, as every constant is "
                               "one; remove one"));
    }
    for (const v1::Specialisation& other : proto_.specialisations()) {
      if (other.constants().contains(name)) continue;
      Fault(path, absl::StrCat("specialisation \"", other.name(),
                               "\" has no \"", name, "\"; give it a value"));
    }
  }
}

void KernelBinder::IndexAll() {
  IndexNames(proto_.dimensions(), "dimensions", &dimensions_);
  IndexNames(proto_.parameters(), "parameters", &parameters_);
  // Validation reports names used twice.
  for (int i = 0; i < proto_.arguments_size(); ++i) {
    arguments_.emplace(proto_.arguments(i).name(), i);
  }
  for (int i = 0; i < proto_.dimensions_size(); ++i) {
    names_.Add(proto_.dimensions(i).name(), Expression::OfDimension(i));
  }
  for (int i = 0; i < proto_.parameters_size(); ++i) {
    names_.Add(proto_.parameters(i).name(), Expression::OfParameter(i));
  }
  IndexConstants();
  names_.AddDeviceFact(kComputeCapabilityName,
                       Expression::OfDimension(
                           static_cast<int>(DeviceFact::kComputeCapability)));
}

KernelSpec KernelBinder::Bind() {
  KernelSpec spec;
  spec.name = proto_.name();
  spec.description = proto_.description();
  faults_ = ExpandDeclarations(places_, proto_);
  IndexAll();
  for (const v1::Dimension& d : proto_.dimensions()) {
    // An expert without tokens is nothing special.
    const int64_t least = d.repeated() ? 0 : 1;
    spec.dimensions.push_back(
        {.name = d.name(),
         .repeated = d.repeated(),
         .min = d.has_min() ? d.min() : least,
         .max = d.has_max() ? d.max() : kDefaultMaxExtent});
  }
  for (int i = 0; i < proto_.parameters_size(); ++i) {
    const v1::Parameter& p = proto_.parameters(i);
    if (!v1::Parameter::Role_IsValid(p.role())) {
      Fault(absl::StrCat("parameters[", i, "].role"),
            absl::StrCat("of \"", p.name(),
                         "\" is unknown; give MACRO or MICRO"));
    }
    spec.parameters.push_back(
        {.name = p.name(), .values = {p.values().begin(), p.values().end()}});
  }
  for (int i = 0; i < proto_.specialisations_size(); ++i) {
    const v1::Specialisation& s = proto_.specialisations(i);
    Specialisation bound{.name = s.name(),
                         .defines = {s.defines().begin(), s.defines().end()},
                         .mapping = std::nullopt};
    for (const auto& [name, value] : s.constants())
      bound.defines.emplace(name, absl::StrCat(value));
    if (s.has_mapping())
      bound.mapping = BindMapping(
          s.mapping(), absl::StrCat("specialisations[", i, "].mapping"));
    spec.specialisations.push_back(std::move(bound));
  }
  spec.constraints =
      BindRelations(proto_.constraints(), "constraints", Scope::kParameters);
  spec.problem_predicates = BindRelations(
      proto_.problem_predicates(), "problem_predicates", Scope::kDimensions);
  spec.preconditions =
      BindRelations(proto_.precondition(), "precondition", Scope::kProblem);
  BindRequirements(&spec);
  spec.mapping = BindMapping(proto_.mapping(), "mapping");
  BindRoles(&spec);
  for (int i = 0; i < proto_.implementations_size(); ++i) {
    spec.implementations.push_back(BindImplementation(
        proto_.implementations(i), absl::StrCat("implementations[", i, "]")));
  }
  for (int i = 0; i < proto_.arguments_size(); ++i) {
    spec.arguments.push_back(
        BindArgument(proto_.arguments(i), absl::StrCat("arguments[", i, "]")));
  }
  if (proto_.has_correctness()) {
    const v1::Correctness& c = proto_.correctness();
    spec.correctness = Correctness{
        .source = c.source(),
        .entry = c.entry(),
        .work_items = BindExpression(c.work_items(), "correctness.work_items"),
        .relative_tolerance = c.relative_tolerance(),
        .compile_options = {c.compile_options().begin(),
                            c.compile_options().end()}};
  }
  const auto& defaults = proto_.default_configuration();
  spec.default_configuration = BindValues(
      std::map<std::string, int64_t>(defaults.begin(), defaults.end()),
      "default_configuration");
  BindConfigurations(&spec);
  for (int i = 0; i < proto_.representative_problems_size(); ++i) {
    BindGrid(proto_.representative_problems(i),
             absl::StrCat("representative_problems[", i, "]"),
             &spec.representative_problems);
  }
  for (int i = 0; i < proto_.correctness_problems_size(); ++i) {
    BindGrid(proto_.correctness_problems(i),
             absl::StrCat("correctness_problems[", i, "]"),
             &spec.correctness_problems);
  }
  if (proto_.limits().has_max_elements())
    spec.limits.max_elements = proto_.limits().max_elements();
  spec.limits.max_total_iterations = proto_.limits().max_total_iterations();
  if (!v1::WaveForm_IsValid(proto_.wave_form()))
    Fault("wave_form", "is unknown; give WAVE_SUM or WAVE_OVERLAP");
  if (proto_.wave_form() == v1::WAVE_OVERLAP)
    spec.wave_form = WaveForm::kOverlap;
  const std::optional<Expression> cold_bytes = ColdBytesOf(spec);
  SetColdBytes(cold_bytes, spec.mapping);
  for (Specialisation& specialisation : spec.specialisations) {
    if (specialisation.mapping.has_value()) {
      SetColdBytes(cold_bytes, *specialisation.mapping);
    }
  }
  if (proto_.portfolio_size() < 0 ||
      proto_.portfolio_size() > static_cast<int>(kMaxPortfolio))
    Fault("portfolio_size", absl::StrCat("must be 0 to ", kMaxPortfolio));
  if (proto_.portfolio_size() > 0)
    spec.portfolio_size = proto_.portfolio_size();
  return spec;
}

}  // namespace wavetune
