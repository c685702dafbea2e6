// KernelBinder: names, parameters, problems, and the whole.
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
#include "model/kernel/expression_faults.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_check.h"
#include "model/table/table_check_mapping.h"

namespace wavetune {
namespace {

// Mapping::cold_bytes of all cold arguments: nothing where they do not grow
// with the elements of a repeated dimension (what dense kernels read follows
// from their tiles), and where they do not follow from the problem alone.
std::optional<Expression> ColdBytesOf(const KernelSpec& spec) {
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
  if (!IsOfProblem(spec.dimensions, all)) return std::nullopt;
  return all;
}

// Gives a mapping the expression, if a table has room for it.
// docs/decisions/0032 says why overlaps do without.
void SetColdBytes(const std::optional<Expression>& cold_bytes, WaveForm form,
                  Mapping& mapping) {
  mapping.cold_bytes.reset();
  if (form == WaveForm::kOverlap) return;
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

std::optional<WaveForm> KernelBinder::BindWaveForm(v1::WaveForm form,
                                                   const std::string& path) {
  switch (form) {
    case v1::WAVE_FORM_UNSPECIFIED:
      return std::nullopt;
    case v1::WAVE_SUM:
      return WaveForm::kSum;
    case v1::WAVE_OVERLAP:
      return WaveForm::kOverlap;
    default:
      Fault(path, "is unknown; give WAVE_SUM or WAVE_OVERLAP");
      return std::nullopt;
  }
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
    const std::string path = absl::StrCat("specialisations[", i, "]");
    if (s.has_mapping())
      bound.mapping = BindMapping(s.mapping(), path + ".mapping");
    bound.wave_form = BindWaveForm(s.wave_form(), path + ".wave_form");
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
  spec.wave_form =
      BindWaveForm(proto_.wave_form(), "wave_form").value_or(spec.wave_form);
  const std::optional<Expression> cold_bytes = ColdBytesOf(spec);
  SetColdBytes(cold_bytes, spec.wave_form, spec.mapping);
  for (Specialisation& specialisation : spec.specialisations) {
    const WaveForm form = spec.WaveFormOf(specialisation.name);
    if (!specialisation.mapping && cold_bytes && form != spec.wave_form)
      specialisation.mapping = spec.mapping;
    if (specialisation.mapping)
      SetColdBytes(cold_bytes, form, *specialisation.mapping);
  }
  if (proto_.portfolio_size() < 0 ||
      proto_.portfolio_size() > static_cast<int>(kMaxPortfolio))
    Fault("portfolio_size", absl::StrCat("must be 0 to ", kMaxPortfolio));
  if (proto_.portfolio_size() > 0)
    spec.portfolio_size = proto_.portfolio_size();
  spec.serves = BindServes();
  spec.served_types.assign(proto_.serves().types().begin(),
                           proto_.serves().types().end());
  return spec;
}

}  // namespace wavetune
