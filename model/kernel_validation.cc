// Whether a spec is valid. kernel_space.cc answers the other questions of
// kernel_validation.h.
#include "model/kernel_validation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "model/kernel_space.h"
#include "model/mapping_inverse.h"
#include "model/mapping_structure.h"

namespace wavetune {
namespace {

constexpr size_t kMaxNameLength = 64;

// Largest value of a tuning parameter: they are compiled in as int macros.
constexpr int64_t kMaxParameterValue = kDefaultMaxExtent;

// [a-z][a-z0-9_]*
bool IsLowerName(absl::string_view name) {
  if (name.empty() || name.size() > kMaxNameLength) return false;
  if (!absl::ascii_islower(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return absl::ascii_islower(byte) || absl::ascii_isdigit(byte) || c == '_';
  });
}

// [A-Za-z][A-Za-z0-9_]*, or from an underscore where `underscore` says so.
bool IsIdentifier(absl::string_view name, bool underscore = false) {
  if (name.empty() || name.size() > kMaxNameLength) return false;
  if (!absl::ascii_isalpha(static_cast<unsigned char>(name[0])) &&
      !(underscore && name[0] == '_')) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

bool IsReplayOnly(const KernelSpec& spec) {
  return std::all_of(spec.implementations.begin(), spec.implementations.end(),
                     [](const Implementation& implementation) {
                       return implementation.backend == "replay";
                     });
}

class Validator {
 public:
  explicit Validator(const KernelSpec& spec) : spec_(spec) {}

  absl::Status Run() {
    CheckNames();
    CheckDimensions();
    CheckParameters();
    CheckSpecialisations();
    const bool relations_are_sound = CheckRelations();
    CheckMappings();
    CheckImplementations();
    CheckArguments();
    CheckCorrectness();
    CheckProblems(spec_.representative_problems, "representative_problems");
    CheckProblems(spec_.correctness_problems, "correctness_problems");
    CheckLimits();
    if (relations_are_sound && parameters_are_sound_) CheckSpace();
    if (faults_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("kernel '", spec_.name, "' has ", faults_.size(),
                     faults_.size() == 1 ? " fault:\n" : " faults:\n",
                     absl::StrJoin(faults_, "\n")));
  }

 private:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    faults_.push_back(absl::StrCat(parts...));
  }

  // `seen` holds names already used, in lower case: traces match columns
  // without regard to case.
  void CheckUnique(absl::string_view field, const std::string& name,
                   std::set<std::string>& seen) {
    if (seen.insert(absl::AsciiStrToLower(name)).second) return;
    Add(field, ": name '", name,
        "' is used twice (case does not count); rename one");
  }

  void CheckNames() {
    if (!IsLowerName(spec_.name)) {
      Add("name: '", spec_.name,
          "' is malformed; use [a-z][a-z0-9_]*, at most 64 characters");
    }
    // Dimensions and parameters share a name space: relations name both.
    std::set<std::string> seen;
    for (const Dimension& dimension : spec_.dimensions) {
      if (!IsLowerName(dimension.name)) {
        Add("dimensions: name '", dimension.name,
            "' is malformed; use [a-z][a-z0-9_]*");
      }
      CheckUnique("dimensions", dimension.name, seen);
    }
    for (const Parameter& parameter : spec_.parameters) {
      if (!IsIdentifier(parameter.name)) {
        Add("parameters: name '", parameter.name,
            "' is malformed; use [A-Za-z][A-Za-z0-9_]*");
      }
      CheckUnique("parameters", parameter.name, seen);
    }
  }

  void CheckDimensions() {
    const size_t count = spec_.dimensions.size();
    if (count < 1 || count > static_cast<size_t>(kMaxDimensions)) {
      Add("dimensions: there are ", count, "; give 1 to ", kMaxDimensions);
    }
    int repeated = 0;
    for (const Dimension& dimension : spec_.dimensions) {
      repeated += dimension.repeated ? 1 : 0;
      if (dimension.min < 1) {
        Add("dimensions: '", dimension.name, "' has min ", dimension.min,
            "; give at least 1");
      }
      if (dimension.min > dimension.max) {
        Add("dimensions: '", dimension.name, "' has min ", dimension.min,
            " above max ", dimension.max, "; exchange them");
      }
      if (dimension.max > kExpressionLimit) {
        Add("dimensions: '", dimension.name, "' has max ", dimension.max,
            "; give at most 2^52");
      }
    }
    if (repeated > 1) {
      Add("dimensions: ", repeated, " are repeated; repeat at most one");
    }
  }

  void CheckParameters() {
    const size_t before = faults_.size();
    const size_t count = spec_.parameters.size();
    if (count < 1 || count > static_cast<size_t>(kMaxParameters)) {
      Add("parameters: there are ", count, "; give 1 to ", kMaxParameters);
    }
    for (const Parameter& parameter : spec_.parameters) {
      if (parameter.values.empty()) {
        Add("parameters: '", parameter.name,
            "' has no values; give at least one");
      }
      std::set<int64_t> seen;
      for (const int64_t value : parameter.values) {
        if (value < 0 || value > kMaxParameterValue) {
          Add("parameters: '", parameter.name, "' has value ", value,
              "; give 0 to 2^31 - 1");
        }
        if (!seen.insert(value).second) {
          Add("parameters: '", parameter.name, "' has value ", value,
              " twice; give it once");
        }
      }
    }
    parameters_are_sound_ = faults_.size() == before;
  }

  void CheckSpecialisations() {
    std::set<std::string> seen;
    for (const Specialisation& specialisation : spec_.specialisations) {
      if (!IsLowerName(specialisation.name)) {
        Add("specialisations: name '", specialisation.name,
            "' is malformed; use [a-z][a-z0-9_]*");
      }
      CheckUnique("specialisations", specialisation.name, seen);
      for (const auto& [macro, value] : specialisation.defines) {
        if (!IsIdentifier(macro, /*underscore=*/true)) {
          Add("specialisations: '", specialisation.name, "' defines '", macro,
              "', which is no macro name; use [A-Za-z_][A-Za-z0-9_]*");
        }
        if (spec_.ParameterIndex(macro) >= 0) {
          Add("specialisations: '", specialisation.name, "' defines '", macro,
              "', which is a tuning parameter; rename one");
        }
      }
    }
  }

  // Returns whether every relation can be evaluated.
  bool CheckRelations() {
    const size_t before = faults_.size();
    for (size_t i = 0; i < spec_.constraints.size(); ++i) {
      CheckRelation(absl::StrCat("constraints[", i, "]"), spec_.constraints[i],
                    /*dimensions_allowed=*/false);
    }
    for (size_t i = 0; i < spec_.problem_predicates.size(); ++i) {
      CheckRelation(absl::StrCat("problem_predicates[", i, "]"),
                    spec_.problem_predicates[i], /*dimensions_allowed=*/true);
    }
    return faults_.size() == before;
  }

  void CheckRelation(const std::string& field, const Relation& relation,
                     bool dimensions_allowed) {
    if (relation.left.empty() || relation.right.empty()) {
      Add(field, ": a side has no terms; give both sides");
    }
    if (relation.op < Relation::Operator::kEqual ||
        relation.op > Relation::Operator::kMultipleOf) {
      Add(field, ": the operator is unknown; give one that kernel.proto lists");
    }
    for (const auto* side : {&relation.left, &relation.right}) {
      for (const Relation::Term& term : *side) {
        CheckTerm(field, term, dimensions_allowed);
      }
    }
  }

  void CheckTerm(const std::string& field, const Relation::Term& term,
                 bool dimensions_allowed) {
    if (term.coefficient < -kExpressionLimit ||
        term.coefficient > kExpressionLimit) {
      Add(field, ": coefficient ", term.coefficient,
          " is out of range; give at most 2^52 either way");
    }
    const auto outside = [](int32_t index, size_t count) {
      return index < 0 || static_cast<size_t>(index) >= count;
    };
    for (const int32_t index : term.parameters) {
      if (outside(index, spec_.parameters.size())) {
        Add(field, ": parameter number ", index, " does not exist; declare it");
      }
    }
    if (!dimensions_allowed && !term.dimensions.empty()) {
      Add(field,
          ": names a dimension; constraints hold for parameters only, move it "
          "to problem_predicates");
    }
    for (const int32_t index : term.dimensions) {
      if (outside(index, spec_.dimensions.size())) {
        Add(field, ": dimension number ", index, " does not exist; declare it");
      }
    }
  }

  void CheckMappings() {
    CheckMapping("", spec_.mapping);
    for (const Specialisation& specialisation : spec_.specialisations) {
      if (specialisation.mapping.has_value()) {
        CheckMapping(
            absl::StrCat("specialisations: '", specialisation.name, "': "),
            *specialisation.mapping);
      }
    }
  }

  void CheckMapping(const std::string& prefix, const Mapping& mapping) {
    const absl::Status status = CheckInvertible(spec_, mapping);
    if (!status.ok()) {
      // One line for each malformed expression.
      for (const absl::string_view line :
           absl::StrSplit(status.message(), '\n')) {
        Add(prefix, line);
      }
      return;
    }
    std::vector<int32_t> used;
    CollectParameters(mapping.tiles, used);
    for (const auto* part :
         {&mapping.iterations_per_tile, &mapping.total_iterations,
          &mapping.longest_loop}) {
      if (part->has_value()) CollectParameters(**part, used);
    }
    for (const int32_t index : used) {
      const Parameter& parameter = spec_.parameters[static_cast<size_t>(index)];
      if (parameter.role != ParameterRole::kMacro) {
        Add(prefix, "mapping: parameter '", parameter.name,
            "' changes the grid or the loop, but is declared micro; declare it "
            "macro");
      }
    }
    CheckPositive(prefix + "mapping", used);
  }

  // Divisors and factors of a grid are at least 1.
  void CheckPositive(const std::string& field,
                     const std::vector<int32_t>& used) {
    for (const int32_t index : used) {
      const Parameter& parameter = spec_.parameters[static_cast<size_t>(index)];
      if (std::find(parameter.values.begin(), parameter.values.end(), 0) !=
          parameter.values.end()) {
        Add(field, ": parameter '", parameter.name,
            "' can be 0 there; give values of at least 1");
      }
    }
  }

  void CheckExpression(const std::string& field,
                       const std::optional<Expression>& expression,
                       bool positive = true) {
    if (!expression.has_value()) return;
    const size_t before = faults_.size();
    FindExpressionFaults(spec_, *expression, field, faults_);
    if (!positive || faults_.size() != before) return;
    std::vector<int32_t> used;
    CollectParameters(*expression, used);
    CheckPositive(field, used);
  }

  void CheckImplementations() {
    if (spec_.implementations.empty()) {
      Add("implementations: there are none; give one per backend");
    }
    std::set<std::string> seen;
    for (const Implementation& implementation : spec_.implementations) {
      if (!IsLowerName(implementation.backend)) {
        Add("implementations: backend '", implementation.backend,
            "' is malformed; use opencl, cuda or replay");
      }
      CheckUnique("implementations", implementation.backend, seen);
      CheckImplementation(
          absl::StrCat("implementations: '", implementation.backend, "': "),
          implementation);
    }
  }

  void CheckImplementation(const std::string& prefix,
                           const Implementation& implementation) {
    for (const std::string& source : implementation.sources) {
      CheckSource(prefix + "sources", source);
    }
    CheckExpression(prefix + "groups", implementation.groups);
    CheckExpression(prefix + "local_memory_bytes",
                    implementation.local_memory_bytes, /*positive=*/false);
    CheckExpression(prefix + "group_size", implementation.group_size);
    if (implementation.group_size.has_value()) {
      std::vector<int32_t> dimensions;
      CollectDimensions(*implementation.group_size, dimensions);
      if (!dimensions.empty()) {
        Add(prefix,
            "group_size: names a dimension; use parameters and constants");
      }
    }
    if (implementation.backend == "replay") return;
    if (implementation.sources.empty()) {
      Add(prefix, "sources: there are none; name the file to compile");
    }
    if (!IsIdentifier(implementation.entry, /*underscore=*/true)) {
      Add(prefix, "entry: '", implementation.entry,
          "' is no function name; name the kernel function");
    }
    if (!implementation.group_size.has_value()) {
      Add(prefix, "group_size: is missing; give the work items of a group");
    }
  }

  // A kernel is its folder: nothing outside enters its fingerprint.
  void CheckSource(const std::string& field, const std::string& source) {
    const std::vector<absl::string_view> parts = absl::StrSplit(source, '/');
    const bool escapes =
        std::find(parts.begin(), parts.end(), "..") != parts.end();
    if (source.empty() || source[0] == '/' || escapes ||
        absl::StrContains(source, '\0')) {
      Add(field, ": '", source,
          "' is no file in the kernel's folder; give a relative path without "
          "'..'");
    }
  }

  void CheckArguments() {
    const bool replay_only = IsReplayOnly(spec_);
    std::set<std::string> seen;
    bool has_output = false;
    for (const Argument& argument : spec_.arguments) {
      if (!IsIdentifier(argument.name, /*underscore=*/true)) {
        Add("arguments: name '", argument.name,
            "' is malformed; use [A-Za-z_][A-Za-z0-9_]*");
      }
      CheckUnique("arguments", argument.name, seen);
      CheckExpression(
          absl::StrCat(
              "arguments: '", argument.name, "': ",
              argument.role == ArgumentRole::kScalar ? "value" : "elements"),
          argument.size, argument.role != ArgumentRole::kScalar);
      has_output |= argument.role == ArgumentRole::kOutput;
      if (argument.cold && argument.role != ArgumentRole::kInput) {
        Add("arguments: '", argument.name,
            "' is cold but no input; only inputs are rotated");
      }
    }
    if (!replay_only && !has_output) {
      Add("arguments: there is no output; declare the buffer that the kernel "
          "writes");
    }
  }

  void CheckCorrectness() {
    if (!spec_.correctness.has_value()) {
      if (!IsReplayOnly(spec_)) {
        Add("correctness: is missing; name a reference and a tolerance");
      }
      return;
    }
    const Correctness& correctness = *spec_.correctness;
    CheckSource("correctness.source", correctness.source);
    if (!IsIdentifier(correctness.entry, /*underscore=*/true)) {
      Add("correctness.entry: '", correctness.entry,
          "' is no function name; name the reference function");
    }
    CheckExpression("correctness.work_items", correctness.work_items);
    if (!(correctness.relative_tolerance > 0) ||
        !std::isfinite(correctness.relative_tolerance)) {
      Add("correctness.relative_tolerance: is ", correctness.relative_tolerance,
          "; give a finite number above 0");
    }
  }

  void CheckProblems(const std::vector<WeightedProblem>& problems,
                     absl::string_view field) {
    for (size_t i = 0; i < problems.size(); ++i) {
      Problem problem = problems[i].problem;
      // Empty means all specialisations here.
      if (problem.specialisation.empty()) {
        problem.specialisation = spec_.SpecialisationNames().front();
      }
      const absl::Status status = CheckProblem(spec_, problem);
      if (!status.ok()) {
        Add(field, "[", i, "]: ", status.message(), "; correct it");
      }
      if (!(problems[i].weight > 0) || !std::isfinite(problems[i].weight)) {
        Add(field, "[", i, "]: weight is ", problems[i].weight,
            "; give a finite number above 0");
      }
    }
  }

  void CheckLimits() {
    if (spec_.limits.max_elements < 1) {
      Add("limits.max_elements: is ", spec_.limits.max_elements,
          "; give at least 1");
    }
    if (spec_.limits.max_total_iterations < 0) {
      Add("limits.max_total_iterations: is ", spec_.limits.max_total_iterations,
          "; give 0 (no limit) or more");
    }
  }

  void CheckSpace() {
    const KernelSpace space = EnumerateSpace(spec_);
    const auto size = static_cast<int64_t>(space.configurations.size());
    if (!space.complete || size > kMaxConfigurations) {
      Add("parameters: the space has more than ", kMaxConfigurations,
          " configurations, or takes too long to enumerate; give fewer values "
          "or more constraints");
    } else if (size == 0) {
      Add("constraints: no configuration fulfils them; relax one");
    }
    CheckDefault();
    if (size > 0 &&
        std::none_of(space.configurations.begin(), space.configurations.end(),
                     [this](const Configuration& configuration) {
                       return IsLegalForEveryProblem(spec_, configuration);
                     })) {
      Add("problem_predicates: no configuration is legal for every problem; "
          "give a parameter a value that needs nothing of the problem, for "
          "example a vector width of 1");
    }
  }

  void CheckDefault() {
    const Configuration& configuration = spec_.default_configuration;
    if (configuration.size() == static_cast<int>(spec_.parameters.size()) &&
        InSpace(spec_, configuration)) {
      return;
    }
    Add("default_configuration: '", FormatConfiguration(spec_, configuration),
        "' is not in the space; give every parameter one of its values, within "
        "the constraints");
  }

  const KernelSpec& spec_;
  bool parameters_are_sound_ = false;
  std::vector<std::string> faults_;
};

}  // namespace

absl::Status ValidateKernelSpec(const KernelSpec& spec) {
  return Validator(spec).Run();
}

}  // namespace wavetune
