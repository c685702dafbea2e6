#include "model/kernel/kernel_validation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "model/kernel/backend_traits.h"
#include "model/kernel/condition_text.h"
#include "model/kernel/constraint_counts.h"
#include "model/kernel/expression_faults.h"
#include "model/kernel/implementation_faults.h"
#include "model/kernel/kernel_faults.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping_inverse.h"
#include "model/kernel/served_layers_faults.h"

namespace wavetune {
namespace {

// Largest value of a tuning parameter: they are compiled in as int macros.
constexpr int64_t kMaxParameterValue = kDefaultMaxExtent;

bool IsReplayOnly(const KernelSpec& spec) {
  return std::all_of(spec.implementations.begin(), spec.implementations.end(),
                     [](const Implementation& implementation) {
                       return TraitsOf(implementation.backend).language ==
                              KernelLanguage::kRecording;
                     });
}

class Validator {
 public:
  // `specialisation`: the one whose constants `spec` has; empty: none's, or the
  // first's.
  explicit Validator(const KernelSpec& spec, std::string specialisation = "")
      : spec_(spec),
        specialisation_(std::move(specialisation)),
        faults_(spec) {}

  absl::Status Run() {
    CheckNames();
    CheckDimensions();
    CheckParameters();
    CheckSpecialisations();
    const bool relations_are_sound = CheckConditions();
    CheckMappings();
    const bool sizes_are_sound = CheckImplementations(spec_, faults_);
    CheckArguments();
    CheckCorrectness();
    if (relations_are_sound) {
      CheckProblems(spec_.representative_problems, "representative_problems");
      CheckProblems(spec_.correctness_problems, "correctness_problems");
    }
    CheckLimits();
    CheckServedLayers(spec_, faults_);
    if (relations_are_sound && parameters_are_sound_) {
      CheckSpace(sizes_are_sound);
    }
    if (faults_.size() == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("kernel '", spec_.name, "' has ", faults_.size(),
                     faults_.size() == 1 ? " fault:\n" : " faults:\n",
                     absl::StrJoin(faults_.lines(), "\n")));
  }

 private:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    faults_.Add(parts...);
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
      faults_.CheckUnique("dimensions", dimension.name, seen);
    }
    for (const Parameter& parameter : spec_.parameters) {
      if (!IsIdentifier(parameter.name)) {
        Add("parameters: name '", parameter.name,
            "' is malformed; use [A-Za-z][A-Za-z0-9_]*");
      }
      if (absl::AsciiStrToLower(parameter.name) == kComputeCapabilityName) {
        Add("parameters: name '", parameter.name,
            "' is what device_predicates call a fact of the device; rename it");
      }
      faults_.CheckUnique("parameters", parameter.name, seen);
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
      const int64_t least = dimension.repeated ? 0 : 1;
      if (dimension.min < least) {
        Add("dimensions: '", dimension.name, "' has min ", dimension.min,
            "; give at least ", least,
            dimension.repeated ? "" : " (only a repeated dimension has 0)");
      }
      if (dimension.max < 1) {
        Add("dimensions: '", dimension.name, "' has max ", dimension.max,
            "; give at least 1");
      } else if (dimension.min > dimension.max) {
        Add("dimensions: '", dimension.name, "' has min ", dimension.min,
            " above max ", dimension.max, "; exchange them");
      }
      if (dimension.max > kExpressionLimit) {
        Add("dimensions: '", dimension.name, "' has max ", dimension.max,
            "; give at most 2^51");
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
      faults_.CheckUnique("specialisations", specialisation.name, seen);
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
  bool CheckConditions() {
    const size_t before = faults_.size();
    const auto check = [this](absl::string_view field,
                              const std::vector<Condition>& conditions,
                              KernelFaults::Scope scope) {
      for (size_t i = 0; i < conditions.size(); ++i) {
        faults_.CheckCondition(absl::StrCat(field, "[", i, "]"), conditions[i],
                               scope);
      }
    };
    check("constraints", spec_.constraints, KernelFaults::Scope::kParameters);
    check("precondition", spec_.preconditions, KernelFaults::Scope::kProblem);
    check("problem_predicates", spec_.problem_predicates,
          KernelFaults::Scope::kDimensions);
    if (faults_.size() == before) {
      CheckForm("precondition", spec_.preconditions, {Configuration()});
    }
    return faults_.size() == before;
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
    for (const OptionalExpression& part : kOptionalExpressions) {
      const auto& expression = mapping.*part.value;
      if (expression.has_value()) CollectParameters(*expression, used);
    }
    for (const int32_t index : used) {
      const Parameter& parameter = spec_.parameters[static_cast<size_t>(index)];
      if (parameter.role != ParameterRole::kMacro) {
        Add(prefix, "mapping: parameter '", parameter.name,
            "' changes the grid or the loop, but is declared micro; declare it "
            "macro");
      }
    }
    faults_.CheckPositive(prefix + "mapping", used);
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
      faults_.CheckUnique("arguments", argument.name, seen);
      CheckArgument(argument);
      has_output |= HoldsResults(argument);
    }
    if (!replay_only && !has_output) {
      Add("arguments: there is no output; declare the buffer that the kernel "
          "writes OUTPUT or INOUT");
    }
  }

  void CheckArgument(const Argument& argument) {
    const std::string prefix = absl::StrCat("arguments: '", argument.name, "'");
    if (argument.role == ArgumentRole::kScalar) {
      CheckScalar(prefix, argument);
    } else {
      faults_.CheckExpression(prefix + ": elements", argument.size);
    }
    if (argument.cold && !HoldsValues(argument)) {
      Add(prefix,
          " is cold but no input; only inputs and in-out buffers are "
          "rotated");
    }
    if (argument.below.has_value()) CheckBelow(prefix, argument);
    if (argument.blocks.has_value()) CheckBlocks(prefix, argument);
    if (argument.values.has_value()) CheckValues(prefix, argument);
    CheckAlignment(prefix, argument);
  }

  void CheckScalar(const std::string& prefix, const Argument& argument) {
    if (!argument.number.has_value()) {
      faults_.CheckExpression(prefix + ": value", argument.size,
                              /*positive=*/false);
      return;
    }
    if (IsInteger(argument.type)) {
      Add(prefix, ": number: the type is ", ManifestTypeName(argument.type),
          "; give value, or declare it FLOAT32");
    }
    // NaN is not.
    if (!(std::abs(*argument.number) <= std::numeric_limits<float>::max())) {
      Add(prefix, ": number: is ", *argument.number,
          "; give a finite number that a float32 holds");
    }
  }

  void CheckBelow(const std::string& prefix, const Argument& argument) {
    faults_.CheckExpression(prefix + ": below", argument.below);
    if (!IsInteger(argument.type)) {
      Add(prefix, ": below: the type is ", ManifestTypeName(argument.type),
          "; declare it INT32 or INT64, or remove below");
    }
    if (!HoldsValues(argument)) {
      Add(prefix, ": below: the ", RoleName(argument.role),
          " has no values before a launch; declare it INPUT or INOUT, or "
          "remove below");
    }
    if (spec_.RepeatedDimensionOf(argument) >= 0) {
      Add(prefix,
          ": below: it is named as the repeated dimension and holds its "
          "elements; rename it, or remove below");
    }
  }

  void CheckValues(const std::string& prefix, const Argument& argument) {
    const FloatValues& values = *argument.values;
    if (IsInteger(argument.type)) {
      Add(prefix, ": values: the type is ", ManifestTypeName(argument.type),
          "; integers are bounded by below");
    }
    if (!HoldsValues(argument)) {
      Add(prefix, ": values: the ", RoleName(argument.role),
          " has no values before a launch; declare it INPUT or INOUT, or "
          "remove them");
    }
    // All that it may hold fits into a float32.
    constexpr double kMost = std::numeric_limits<float>::max() / 8;
    const bool finite =
        std::abs(values.first) <= kMost && std::abs(values.second) <= kMost;
    if (values.kind == FloatValues::Kind::kUniform
            ? !(finite && values.first < values.second)
            : !(finite && values.second > 0)) {
      Add(prefix, ": values: ",
          values.kind == FloatValues::Kind::kUniform
              ? "are uniform from the lower number to the higher one"
              : "are around a mean by a deviation above 0",
          ", both below 4e37; these are ", values.first, " and ",
          values.second);
    }
  }

  void CheckAlignment(const std::string& prefix, const Argument& argument) {
    const int32_t aligned = argument.aligned;
    if (aligned == 0 ||
        (aligned > 0 && aligned <= 128 && (aligned & (aligned - 1)) == 0)) {
      return;
    }
    Add(prefix, ": aligned: is ", aligned,
        "; give a power of two, 128 at most, as buffers of OpenCL devices have "
        "no more");
  }

  void CheckBlocks(const std::string& argument_prefix,
                   const Argument& argument) {
    const std::string name = ElementBlocksName(argument.blocks->kind);
    const std::string prefix = absl::StrCat(argument_prefix, ": ", name);
    CheckBlockSize(prefix, argument.blocks->block);
    const auto& dimensions = spec_.dimensions;
    const auto index = static_cast<size_t>(argument.blocks->dimension);
    if (index >= dimensions.size() || !dimensions[index].repeated) {
      Add(prefix, ": ",
          index < dimensions.size()
              ? absl::StrCat("dimension '", dimensions[index].name,
                             "' is not repeated")
              : "the dimension does not exist",
          "; name the repeated dimension, or remove ", name);
    }
    if (!IsInteger(argument.type)) {
      Add(prefix, ": the type is ", ManifestTypeName(argument.type),
          "; declare it INT32 or INT64, or remove ", name);
    }
    if (argument.role != ArgumentRole::kInput || argument.cold) {
      Add(prefix, ": the ", argument.cold ? "cold " : "",
          RoleName(argument.role),
          " cannot hold it: it is written for each problem; declare it INPUT, "
          "and not cold, or remove ",
          name);
    }
    if (argument.below.has_value()) {
      Add(prefix, ": it has a bound (below), too; remove one of them");
    }
    if (spec_.RepeatedDimensionOf(argument) >= 0) {
      Add(prefix,
          ": it is named as the repeated dimension and holds its elements; "
          "rename it, or remove ",
          name);
    }
  }

  void CheckBlockSize(const std::string& prefix, const Expression& block) {
    faults_.CheckExpression(prefix + ": block", block);
    std::vector<int32_t> dimensions;
    CollectDimensions(block, dimensions);
    if (!dimensions.empty()) {
      Add(prefix,
          ": block: names a dimension; rows of a block follow from parameters "
          "and constants alone");
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
    faults_.CheckSource("correctness.source", correctness.source);
    if (!IsIdentifier(correctness.entry, /*underscore=*/true)) {
      Add("correctness.entry: '", correctness.entry,
          "' is no function name; name the reference function");
    }
    faults_.CheckExpression("correctness.work_items", correctness.work_items);
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
        problem.specialisation = specialisation_.empty()
                                     ? spec_.SpecialisationNames().front()
                                     : specialisation_;
      }
      // Another's constants do not count for it.
      if (!specialisation_.empty() &&
          problem.specialisation != specialisation_) {
        continue;
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

  // One that nothing fulfils is the culprit; else they contradict each other.
  void AddEmptySpace(const KernelSpace& empty) {
    const ConstraintCounts counts = CountConstraints(spec_, empty);
    for (size_t i = 0; i < counts.constraints.size(); ++i) {
      if (counts.constraints[i].alone != counts.combinations) continue;
      Add("constraints: no configuration fulfils them, as '",
          ConditionText(spec_, spec_.constraints[i]),
          "' excludes everything by itself; relax it");
      return;
    }
    Add("constraints: no configuration fulfils them together; relax one");
  }

  void CheckSpace(bool sizes_are_sound) {
    const KernelSpace space = EnumerateSpace(spec_);
    const auto size = static_cast<int64_t>(space.configurations.size());
    if (!space.complete || size > kMaxConfigurations) {
      Add("parameters: the space has ", space.complete ? "" : "more than ",
          space.count, " configurations, of which at most ", kMaxConfigurations,
          " can be enumerated; give fewer values (powers of two in the place "
          "of each number), more requirements, or a list of configurations: "
          "profiling compiles all, ",
          space.complete ? "" : "more than ",
          space.count * kUsualCompileMs / 3600000, " hours of a core at ",
          kUsualCompileMs, " ms each");
    } else if (size == 0) {
      AddEmptySpace(space);
    }
    CheckConfigurations();
    CheckDefault();
    CheckForm("problem_predicates", spec_.problem_predicates,
              space.configurations);
    if (sizes_are_sound) {
      CheckImplementationsIn(space.configurations, spec_, faults_);
    }
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

  // Configurations of an explicit list are distinct and have declared values;
  // constraints may leave some out.
  void CheckConfigurations() {
    std::set<Configuration> seen;
    for (size_t i = 0; i < spec_.configurations.size(); ++i) {
      const Configuration& listed = spec_.configurations[i];
      if (!HasDeclaredValues(spec_, listed)) {
        Add("configurations[", i, "]: '", FormatConfiguration(spec_, listed),
            "' has a value that its parameter does not declare; add it there");
      }
      if (!seen.insert(listed).second) {
        Add("configurations[", i, "]: '", FormatConfiguration(spec_, listed),
            "' is there twice; remove one");
      }
    }
  }

  // What decisions evaluate are relations between sums of products.
  void CheckForm(absl::string_view field,
                 const std::vector<Condition>& conditions,
                 absl::Span<const Configuration> space) {
    for (size_t i = 0; i < conditions.size(); ++i) {
      const auto broken = std::find_if(
          space.begin(), space.end(), [&](const Configuration& configuration) {
            return !FoldCondition(conditions[i], configuration).has_value();
          });
      if (broken == space.end()) continue;
      Add(field, "[", i, "]: ",
          broken->size() == 0
              ? ""
              : absl::StrCat("at ", FormatConfiguration(spec_, *broken), " "),
          "it has an 'or' between dimensions, or a quotient, remainder, "
          "minimum or maximum of dimensions; write relations between sums of "
          "products of dimensions (or … % … == 0) that all hold");
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
  const std::string specialisation_;
  bool parameters_are_sound_ = false;
  KernelFaults faults_;
};

}  // namespace

absl::Status ValidateKernelSpec(const KernelSpec& spec) {
  if (absl::Status status = Validator(spec).Run(); !status.ok()) return status;
  for (const auto& [name, own] : spec.own) {
    const absl::Status status = Validator(*own, name).Run();
    if (status.ok()) continue;
    return absl::Status(status.code(),
                        absl::StrCat("with the constants of specialisation '",
                                     name, "': ", status.message()));
  }
  return absl::OkStatus();
}

}  // namespace wavetune
