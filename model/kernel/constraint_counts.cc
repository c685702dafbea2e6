#include "model/kernel/constraint_counts.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "model/kernel/condition.h"
#include "model/kernel/condition_text.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "wavetune/configuration.h"

namespace wavetune {
namespace {

// Combinations of a constraint's own parameters that are tried: a fraction of a
// second.
constexpr int64_t kMaxTried = int64_t{1} << 21;

bool Excludes(const Condition& constraint, const Configuration& configuration) {
  return !Holds(constraint, ProblemView(), configuration);
}

int64_t SaturatedProduct(int64_t a, int64_t b) {
  return a > kExpressionLimit / std::max<int64_t>(b, 1) ? kExpressionLimit
                                                        : a * b;
}

const std::vector<int64_t>& ValuesOf(const KernelSpec& spec,
                                     int32_t parameter) {
  return spec.parameters[static_cast<size_t>(parameter)].values;
}

int64_t CountValues(const KernelSpec& spec) {
  int64_t combinations = 1;
  for (const Parameter& parameter : spec.parameters) {
    combinations = SaturatedProduct(
        combinations, static_cast<int64_t>(parameter.values.size()));
  }
  return combinations;
}

// Sets `values` to the next combination of `parameters`; false after the last.
bool Next(const KernelSpec& spec, const std::vector<int32_t>& parameters,
          std::vector<size_t>& at, std::vector<int64_t>& values) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::vector<int64_t>& own = ValuesOf(spec, parameters[i]);
    at[i] = (at[i] + 1) % own.size();
    values[static_cast<size_t>(parameters[i])] = own[at[i]];
    if (at[i] != 0) return true;
  }
  return false;
}

// What a constraint says of its own parameters, it says of each combination of
// the others.
std::optional<int64_t> CountAlone(const KernelSpec& spec,
                                  const Condition& constraint,
                                  int64_t combinations) {
  std::vector<int32_t> parameters;
  CollectParameters(constraint, parameters);
  int64_t own = 1;
  for (const int32_t parameter : parameters) {
    own = SaturatedProduct(
        own, static_cast<int64_t>(ValuesOf(spec, parameter).size()));
  }
  if (own > kMaxTried || combinations == kExpressionLimit) return std::nullopt;
  std::vector<int64_t> values;
  for (const Parameter& parameter : spec.parameters)
    values.push_back(parameter.values.front());
  std::vector<size_t> at(parameters.size());
  int64_t excluded = 0;
  do {
    excluded += Excludes(constraint, Configuration(values)) ? 1 : 0;
  } while (Next(spec, parameters, at, values));
  return excluded * (combinations / own);
}

int64_t CountListed(const KernelSpec& spec, const Condition& constraint) {
  return std::count_if(spec.configurations.begin(), spec.configurations.end(),
                       [&constraint](const Configuration& listed) {
                         return Excludes(constraint, listed);
                       });
}

std::optional<int64_t> CountOnly(const KernelSpec& spec, size_t constraint,
                                 const KernelSpace& space) {
  if (!space.complete) return std::nullopt;
  const KernelSpace larger = EnumerateSpaceWithout(spec, constraint);
  if (!larger.complete) return std::nullopt;
  return larger.count - space.count;
}

}  // namespace

ConstraintCounts CountConstraints(const KernelSpec& spec,
                                  const KernelSpace& space) {
  const bool listed = !spec.configurations.empty();
  ConstraintCounts counts{
      .combinations = listed ? static_cast<int64_t>(spec.configurations.size())
                             : CountValues(spec)};
  if (counts.combinations == 0) return counts;
  for (size_t i = 0; i < spec.constraints.size(); ++i) {
    counts.constraints.push_back(
        {.alone = listed ? CountListed(spec, spec.constraints[i])
                         : CountAlone(spec, spec.constraints[i],
                                      counts.combinations),
         .only = CountOnly(spec, i, space)});
  }
  return counts;
}

std::vector<std::string> ConstraintRemarks(
    const KernelSpec& spec, const ConstraintCounts& counts,
    const std::vector<bool>& needed_elsewhere) {
  std::vector<std::string> remarks;
  for (size_t i = 0; i < counts.constraints.size(); ++i) {
    const ConstraintCount& count = counts.constraints[i];
    const std::string name =
        absl::StrCat("'", ConditionText(spec, spec.constraints[i]), "'");
    if (count.alone == counts.combinations) {
      remarks.push_back(absl::StrCat(
          name, " excludes everything: no combination of the parameters' ",
          "values fulfils it; relax it"));
    } else if (i < needed_elsewhere.size() && needed_elsewhere[i]) {
      continue;
    } else if (count.alone == 0) {
      remarks.push_back(absl::StrCat(
          name, " excludes nothing: every combination of the parameters' ",
          "values fulfils it; remove it, or look for a slip in it"));
    } else if (count.only == 0) {
      remarks.push_back(absl::StrCat(
          name, " excludes nothing that the others do not exclude, too"));
    }
  }
  return remarks;
}

}  // namespace wavetune
