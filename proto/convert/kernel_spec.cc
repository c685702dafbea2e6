#include "proto/convert/kernel_spec.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace wavetune {
namespace {

// Collects faults with the path of the field, so that an author sees all of
// them at once.
class Binder {
 public:
  explicit Binder(const v1::KernelSpec& proto) : proto_(proto) {}

  KernelSpec Bind();
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  void Fault(const std::string& path, const std::string& what) {
    faults_.push_back(absl::StrCat(path, ": ", what));
  }

  template <typename Names>
  void IndexNames(const Names& names, const std::string& path,
                  std::map<std::string, int>* index) {
    for (int i = 0; i < names.size(); ++i) {
      if (!index->emplace(names[i].name(), i).second) {
        Fault(absl::StrCat(path, "[", i, "].name"),
              absl::StrCat("\"", names[i].name(),
                           "\" is declared twice; rename one"));
      }
    }
  }

  int Find(const std::map<std::string, int>& index, const std::string& name,
           const std::string& path, const char* kind) {
    auto it = index.find(name);
    if (it != index.end()) return it->second;
    std::vector<std::string> known;
    for (const auto& [n, i] : index) known.push_back(n);
    Fault(path, absl::StrCat("unknown ", kind, " \"", name,
                             "\"; declared are: ", absl::StrJoin(known, ", ")));
    return 0;
  }
  int DimensionOf(const std::string& name, const std::string& path) {
    return Find(dimensions_, name, path, "dimension");
  }
  int ParameterOf(const std::string& name, const std::string& path) {
    return Find(parameters_, name, path, "parameter");
  }

  Expression BindExpression(const v1::Expression& e, const std::string& path);
  Mapping BindMapping(const v1::Mapping& mapping, const std::string& path);
  Relation BindRelation(const v1::Relation& relation, const std::string& path);
  std::vector<Relation::Term> BindTerms(
      const google::protobuf::RepeatedPtrField<v1::Relation::Term>& terms,
      const std::string& path);
  Implementation BindImplementation(const v1::Implementation& implementation,
                                    const std::string& path);
  Argument BindArgument(const v1::Argument& argument, const std::string& path);
  Configuration BindDefault();
  // Multiplies a grid out and appends its problems, each with an equal share of
  // the grid's weight.
  void BindGrid(const v1::ProblemGrid& grid, const std::string& path,
                std::vector<WeightedProblem>* out);

  const v1::KernelSpec& proto_;
  std::map<std::string, int> dimensions_;
  std::map<std::string, int> parameters_;
  std::vector<std::string> faults_;
};

Expression Binder::BindExpression(const v1::Expression& e,
                                  const std::string& path) {
  auto bind_all = [this](const auto& children, const std::string& where,
                         std::vector<Expression>* out) {
    if (children.empty()) Fault(where, "needs at least one entry");
    for (int i = 0; i < children.size(); ++i)
      out->push_back(
          BindExpression(children[i], absl::StrCat(where, "[", i, "]")));
  };
  switch (e.kind_case()) {
    case v1::Expression::kConstant:
      return Expression::Constant(e.constant());
    case v1::Expression::kDimension:
      return Expression::OfDimension(DimensionOf(e.dimension(), path));
    case v1::Expression::kParameter:
      return Expression::OfParameter(ParameterOf(e.parameter(), path));
    case v1::Expression::kCeilDiv: {
      std::vector<Expression> numerator, denominator;
      bind_all(e.ceil_div().numerator(), path + ".ceil_div.numerator",
               &numerator);
      bind_all(e.ceil_div().denominator(), path + ".ceil_div.denominator",
               &denominator);
      return Expression::CeilDiv(std::move(numerator), std::move(denominator));
    }
    case v1::Expression::kProduct: {
      std::vector<Expression> factors;
      bind_all(e.product().factors(), path + ".product.factors", &factors);
      return Expression::Product(std::move(factors));
    }
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
            "product, sum_over or causal_blocks");
      return Expression();
  }
  return Expression();
}

Mapping Binder::BindMapping(const v1::Mapping& mapping,
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

std::vector<Relation::Term> Binder::BindTerms(
    const google::protobuf::RepeatedPtrField<v1::Relation::Term>& terms,
    const std::string& path) {
  if (terms.empty()) Fault(path, "needs at least one term");
  std::vector<Relation::Term> result;
  for (int i = 0; i < terms.size(); ++i) {
    Relation::Term term;
    term.coefficient = terms[i].coefficient() == 0 ? 1 : terms[i].coefficient();
    for (const std::string& name : terms[i].factors()) {
      if (auto p = parameters_.find(name); p != parameters_.end()) {
        term.parameters.push_back(p->second);
      } else if (auto d = dimensions_.find(name); d != dimensions_.end()) {
        term.dimensions.push_back(d->second);
      } else {
        Fault(absl::StrCat(path, "[", i, "].factors"),
              absl::StrCat(
                  "\"", name,
                  "\" is neither a parameter nor a dimension of this kernel"));
      }
    }
    result.push_back(std::move(term));
  }
  return result;
}

Relation Binder::BindRelation(const v1::Relation& relation,
                              const std::string& path) {
  Relation result;
  result.left = BindTerms(relation.left(), path + ".left");
  result.right = BindTerms(relation.right(), path + ".right");
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
static_assert(static_cast<int>(Relation::Operator::kEqual) ==
              v1::Relation::EQUAL);
static_assert(static_cast<int>(Relation::Operator::kLessOrEqual) ==
              v1::Relation::LESS_OR_EQUAL);
static_assert(static_cast<int>(Relation::Operator::kMultipleOf) ==
              v1::Relation::MULTIPLE_OF);

Implementation Binder::BindImplementation(
    const v1::Implementation& implementation, const std::string& path) {
  Implementation result;
  result.backend = implementation.backend();
  result.sources.assign(implementation.sources().begin(),
                        implementation.sources().end());
  result.entry = implementation.entry();
  result.compile_options.assign(implementation.compile_options().begin(),
                                implementation.compile_options().end());
  if (implementation.has_group_size())
    result.group_size =
        BindExpression(implementation.group_size(), path + ".group_size");
  if (implementation.has_groups())
    result.groups = BindExpression(implementation.groups(), path + ".groups");
  if (implementation.has_local_memory_bytes()) {
    result.local_memory_bytes = BindExpression(
        implementation.local_memory_bytes(), path + ".local_memory_bytes");
  }
  return result;
}

Argument Binder::BindArgument(const v1::Argument& argument,
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
    default:
      Fault(path + ".role", "is missing; give INPUT, OUTPUT or SCALAR");
      return result;
  }
  const bool scalar = result.role == ArgumentRole::kScalar;
  if (scalar) {
    result.size = BindExpression(argument.value(), path + ".value");
  } else {
    result.size = BindExpression(argument.elements(), path + ".elements");
  }
  if (scalar ? argument.has_elements() : argument.has_value()) {
    Fault(path, scalar ? "a scalar has a value, not elements"
                       : "a buffer has elements, not a value");
  }
  return result;
}

Configuration Binder::BindDefault() {
  std::vector<int64_t> values;
  for (const v1::Parameter& parameter : proto_.parameters()) {
    auto it = proto_.default_configuration().find(parameter.name());
    if (it == proto_.default_configuration().end()) {
      Fault("default_configuration",
            absl::StrCat("has no value for parameter \"", parameter.name(),
                         "\""));
      values.push_back(0);
    } else {
      values.push_back(it->second);
    }
  }
  std::map<std::string, int64_t> sorted(proto_.default_configuration().begin(),
                                        proto_.default_configuration().end());
  for (const auto& [name, value] : sorted)
    ParameterOf(name, "default_configuration");
  return Configuration(values);
}

void Binder::BindGrid(const v1::ProblemGrid& grid, const std::string& path,
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
  if (!grid.specialisation().empty()) {
    bool known = false;
    for (const v1::Specialisation& s : proto_.specialisations())
      known = known || s.name() == grid.specialisation();
    if (!known)
      Fault(path + ".specialisation",
            absl::StrCat("unknown specialisation \"", grid.specialisation(),
                         "\""));
  }
  if (grid.weight() < 0) Fault(path + ".weight", "must not be negative");
  const double weight =
      (grid.weight() == 0 ? 1.0 : grid.weight()) / static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    WeightedProblem item{.problem = {}, .weight = weight};
    item.problem.specialisation = grid.specialisation();
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

KernelSpec Binder::Bind() {
  KernelSpec spec;
  spec.name = proto_.name();
  spec.description = proto_.description();
  IndexNames(proto_.dimensions(), "dimensions", &dimensions_);
  IndexNames(proto_.parameters(), "parameters", &parameters_);
  for (const v1::Dimension& d : proto_.dimensions()) {
    spec.dimensions.push_back(
        {.name = d.name(),
         .repeated = d.repeated(),
         .min = d.min() == 0 ? 1 : d.min(),
         .max = d.max() == 0 ? kDefaultMaxExtent : d.max()});
  }
  for (int i = 0; i < proto_.parameters_size(); ++i) {
    const v1::Parameter& p = proto_.parameters(i);
    if (p.role() != v1::Parameter::MACRO && p.role() != v1::Parameter::MICRO) {
      Fault(absl::StrCat("parameters[", i, "].role"),
            absl::StrCat("of \"", p.name(),
                         "\" is missing; give MACRO or MICRO"));
    }
    spec.parameters.push_back(
        {.name = p.name(),
         .role = p.role() == v1::Parameter::MICRO ? ParameterRole::kMicro
                                                  : ParameterRole::kMacro,
         .values = {p.values().begin(), p.values().end()}});
  }
  for (int i = 0; i < proto_.specialisations_size(); ++i) {
    const v1::Specialisation& s = proto_.specialisations(i);
    Specialisation bound{.name = s.name(),
                         .defines = {s.defines().begin(), s.defines().end()},
                         .mapping = std::nullopt};
    if (s.has_mapping())
      bound.mapping = BindMapping(
          s.mapping(), absl::StrCat("specialisations[", i, "].mapping"));
    spec.specialisations.push_back(std::move(bound));
  }
  for (int i = 0; i < proto_.constraints_size(); ++i) {
    spec.constraints.push_back(BindRelation(
        proto_.constraints(i), absl::StrCat("constraints[", i, "]")));
    for (const auto* side :
         {&spec.constraints.back().left, &spec.constraints.back().right}) {
      for (const Relation::Term& term : *side) {
        if (!term.dimensions.empty()) {
          Fault(absl::StrCat("constraints[", i, "]"),
                "names a dimension; relations over problems belong to "
                "problem_predicates");
        }
      }
    }
  }
  for (int i = 0; i < proto_.problem_predicates_size(); ++i) {
    spec.problem_predicates.push_back(
        BindRelation(proto_.problem_predicates(i),
                     absl::StrCat("problem_predicates[", i, "]")));
  }
  spec.mapping = BindMapping(proto_.mapping(), "mapping");
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
  spec.default_configuration = BindDefault();
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
  if (proto_.limits().max_elements() != 0)
    spec.limits.max_elements = proto_.limits().max_elements();
  spec.limits.max_total_iterations = proto_.limits().max_total_iterations();
  return spec;
}

}  // namespace

absl::StatusOr<KernelSpec> KernelSpecFromProto(const v1::KernelSpec& proto) {
  Binder binder(proto);
  KernelSpec spec = binder.Bind();
  if (binder.faults().empty()) return spec;
  return absl::InvalidArgumentError(
      absl::StrCat("kernel \"", proto.name(), "\":\n  ",
                   absl::StrJoin(binder.faults(), "\n  ")));
}

}  // namespace wavetune
