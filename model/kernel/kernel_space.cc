#include "model/kernel/kernel_space.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/kernel/condition.h"
#include "model/kernel/configuration_text.h"
#include "model/kernel/expression_faults.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/legal_extents.h"
#include "model/kernel/relation_proof.h"

namespace wavetune {
namespace {

// Partial configurations visited before a search is given up: about a second.
constexpr int64_t kMaxVisited = int64_t{1} << 24;

constexpr size_t kMaxFaultsNamed = 8;

// Returns the highest parameter that a constraint mentions, -1 for none, and
// `size` (which no configuration reaches) if it mentions anything else.
int LastParameter(const Condition& constraint, int size) {
  std::vector<int32_t> dimensions;
  CollectDimensions(constraint, dimensions);
  if (!dimensions.empty()) return size;
  std::vector<int32_t> parameters;
  CollectParameters(constraint, parameters);
  int last = -1;
  for (const int32_t index : parameters) {
    if (index < 0 || index >= size) return size;
    last = std::max(last, static_cast<int>(index));
  }
  return last;
}

// Whether the manifest's explicit list, if it has one, has the configuration.
bool IsListed(const KernelSpec& spec, const Configuration& configuration) {
  return spec.configurations.empty() ||
         std::find(spec.configurations.begin(), spec.configurations.end(),
                   configuration) != spec.configurations.end();
}

// `left_out` is the number of a constraint that does not count, or one that no
// constraint has.
class Enumerator {
 public:
  Enumerator(const KernelSpec& spec, size_t left_out)
      : spec_(spec), size_(static_cast<int>(spec.parameters.size())) {
    // The last entry holds constraints that nothing can fulfil.
    by_last_.resize(static_cast<size_t>(size_) + 1);
    for (size_t i = 0; i < spec.constraints.size(); ++i) {
      if (i == left_out) continue;
      const Condition& constraint = spec.constraints[i];
      const int last = std::max(0, LastParameter(constraint, size_));
      by_last_[static_cast<size_t>(last)].push_back(&constraint);
    }
  }

  KernelSpace Run() {
    if (size_ > 0 && size_ <= kMaxParameters && by_last_.back().empty()) {
      if (spec_.configurations.empty()) {
        Visit(0);
      } else {
        TakeListed();
      }
    }
    return std::move(result_);
  }

 private:
  void TakeListed() {
    std::copy_if(spec_.configurations.begin(), spec_.configurations.end(),
                 std::back_inserter(result_.configurations),
                 [this](const Configuration& listed) {
                   return HasDeclaredValues(spec_, listed) && Fulfils(listed);
                 });
    result_.count = static_cast<int64_t>(result_.configurations.size());
  }

  bool Fulfils(const Configuration& configuration) const {
    return std::all_of(by_last_.begin(), by_last_.end(),
                       [&](const auto& constraints) {
                         return AllHold(constraints, configuration);
                       });
  }

  static bool AllHold(const std::vector<const Condition*>& constraints,
                      const Configuration& configuration) {
    return std::all_of(constraints.begin(), constraints.end(),
                       [&configuration](const Condition* constraint) {
                         return Holds(*constraint, ProblemView(),
                                      configuration);
                       });
  }

  // Returns false when the search is over.
  bool Visit(int depth) {
    if (depth == size_) {
      if (++result_.count <= kMaxConfigurations + 1) {
        result_.configurations.emplace_back(
            absl::MakeConstSpan(values_.data(), static_cast<size_t>(size_)));
      }
      return true;
    }
    const auto index = static_cast<size_t>(depth);
    for (const int64_t value : spec_.parameters[index].values) {
      if (++visited_ > kMaxVisited) {
        result_.complete = false;
        return false;
      }
      values_[index] = value;
      if (Allowed(index) && !Visit(depth + 1)) return false;
    }
    return true;
  }

  bool Allowed(size_t index) const {
    if (by_last_[index].empty()) return true;
    return AllHold(by_last_[index], Configuration(absl::MakeConstSpan(
                                        values_.data(), index + 1)));
  }

  const KernelSpec& spec_;
  const int size_;
  std::vector<std::vector<const Condition*>> by_last_;
  std::array<int64_t, kMaxParameters> values_{};
  int64_t visited_ = 0;
  KernelSpace result_;
};

bool InRange(const Dimension& dimension, int64_t extent) {
  return dimension.min <= extent && extent <= dimension.max;
}

void CheckExtent(const Dimension& dimension, int64_t extent,
                 std::vector<std::string>& faults) {
  if (InRange(dimension, extent)) return;
  faults.push_back(absl::StrCat(dimension.name, "=", extent, " is outside of ",
                                dimension.min, "..", dimension.max));
}

void CheckPreconditions(const KernelSpec& spec, const Problem& problem,
                        std::vector<std::string>& faults) {
  const int repeated = RepeatedDimensionOf(spec);
  for (const Relation& relation : FoldConditions(
           spec.Of(problem.specialisation).preconditions, Configuration())) {
    if (Holds(relation, problem.View(), repeated)) continue;
    faults.push_back(absl::StrCat("it breaks the precondition ",
                                  FormatRelation(relation, spec.dimensions)));
  }
}

std::string JoinExtents(absl::Span<const int64_t> extents) {
  return absl::StrCat("[", absl::StrJoin(extents, " "), "]");
}

}  // namespace

KernelSpace EnumerateSpace(const KernelSpec& spec) {
  return Enumerator(spec, spec.constraints.size()).Run();
}

KernelSpace EnumerateSpaceWithout(const KernelSpec& spec, size_t left_out) {
  return Enumerator(spec, left_out).Run();
}

std::vector<Configuration> EnumerateConfigurations(const KernelSpec& spec) {
  return EnumerateSpace(spec).configurations;
}

bool HasDeclaredValues(const KernelSpec& spec,
                       const Configuration& configuration) {
  const auto size = static_cast<int>(spec.parameters.size());
  if (configuration.size() != size) return false;
  for (int i = 0; i < size; ++i) {
    const auto& values = spec.parameters[static_cast<size_t>(i)].values;
    if (std::find(values.begin(), values.end(), configuration[i]) ==
        values.end()) {
      return false;
    }
  }
  return true;
}

bool InSpace(const KernelSpec& spec, const Configuration& configuration) {
  const auto size = static_cast<int>(spec.parameters.size());
  return HasDeclaredValues(spec, configuration) &&
         IsListed(spec, configuration) &&
         std::all_of(spec.constraints.begin(), spec.constraints.end(),
                     [&](const Condition& constraint) {
                       return LastParameter(constraint, size) < size &&
                              Holds(constraint, ProblemView(), configuration);
                     });
}

bool IsLegal(const KernelSpec& spec, const Configuration& configuration,
             const ProblemView& problem) {
  if (problem.extents.size() != spec.dimensions.size()) return false;
  const int repeated = RepeatedDimensionOf(spec);
  if (problem.repeated.empty() != (repeated < 0)) return false;
  for (size_t i = 0; i < spec.dimensions.size(); ++i) {
    const Dimension& dimension = spec.dimensions[i];
    const auto extents =
        dimension.repeated ? problem.repeated : problem.extents.subspan(i, 1);
    for (const int64_t extent : extents) {
      if (!InRange(dimension, extent)) return false;
    }
  }
  const auto holds = [&](const Condition& condition) {
    return Holds(condition, problem, configuration, repeated);
  };
  return std::all_of(spec.preconditions.begin(), spec.preconditions.end(),
                     holds) &&
         std::all_of(spec.problem_predicates.begin(),
                     spec.problem_predicates.end(), holds);
}

std::vector<Relation> ProblemRelations(const KernelSpec& spec,
                                       const Configuration& configuration) {
  std::vector<Condition> conditions = spec.preconditions;
  conditions.insert(conditions.end(), spec.problem_predicates.begin(),
                    spec.problem_predicates.end());
  return FoldConditions(conditions, configuration);
}

bool IsLegalForEveryProblem(const KernelSpec& spec,
                            const Configuration& configuration) {
  const std::vector<Relation> folded =
      FoldConditions(spec.problem_predicates, configuration);
  return std::all_of(folded.begin(), folded.end(),
                     [&](const Relation& relation) {
                       return AlwaysHolds(relation, spec.dimensions);
                     });
}

absl::Status CheckProblem(const KernelSpec& spec, const Problem& problem) {
  std::vector<std::string> faults;
  const size_t wanted = spec.dimensions.size();
  for (size_t i = problem.extents.size(); i < wanted; ++i) {
    faults.push_back(absl::StrCat(spec.dimensions[i].name, " is missing"));
  }
  for (size_t i = wanted; i < problem.extents.size(); ++i) {
    faults.push_back(absl::StrCat("extent number ", i + 1, " (",
                                  problem.extents[i],
                                  ") belongs to no dimension"));
  }
  const int repeated = RepeatedDimensionOf(spec);
  for (size_t i = 0; i < std::min(wanted, problem.extents.size()); ++i) {
    if (static_cast<int>(i) == repeated) continue;
    CheckExtent(spec.dimensions[i], problem.extents[i], faults);
  }
  if (repeated < 0 && !problem.repeated.empty()) {
    faults.push_back("a list of extents is given, but no dimension repeats");
  }
  if (repeated >= 0) {
    const Dimension& dimension = spec.dimensions[static_cast<size_t>(repeated)];
    if (problem.repeated.empty()) {
      faults.push_back(
          absl::StrCat(dimension.name, " is missing its list of extents"));
    }
    for (const int64_t extent : problem.repeated) {
      CheckExtent(dimension, extent, faults);
    }
    if (faults.empty() &&
        std::all_of(problem.repeated.begin(), problem.repeated.end(),
                    [](int64_t extent) { return extent == 0; })) {
      faults.push_back(absl::StrCat("every element of ", dimension.name,
                                    " is 0, so that there is nothing to "
                                    "launch; give one above 0"));
    }
  }
  if (faults.empty()) CheckPreconditions(spec, problem, faults);
  const std::vector<std::string> names = spec.SpecialisationNames();
  if (std::find(names.begin(), names.end(), problem.specialisation) ==
      names.end()) {
    faults.push_back(absl::StrCat("specialisation '", problem.specialisation,
                                  "' is unknown; there are: '",
                                  absl::StrJoin(names, "', '"), "'"));
  }
  if (faults.empty()) return absl::OkStatus();
  // A list can have thousands of elements; the first faults are enough.
  if (faults.size() > kMaxFaultsNamed) {
    const size_t more = faults.size() - kMaxFaultsNamed;
    faults.resize(kMaxFaultsNamed);
    faults.push_back(absl::StrCat("and ", more, " more"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "problem of kernel '", spec.name, "': ", absl::StrJoin(faults, "; ")));
}

std::string FormatConfiguration(const KernelSpec& spec,
                                const Configuration& configuration) {
  return FormatConfiguration(ParameterNames(spec), configuration);
}

std::string FormatProblem(const KernelSpec& spec, const Problem& problem) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < problem.extents.size(); ++i) {
    const bool known = i < spec.dimensions.size();
    const std::string name = known ? spec.dimensions[i].name : "?";
    if (known && spec.dimensions[i].repeated) {
      parts.push_back(absl::StrCat(name, "=", JoinExtents(problem.repeated)));
    } else {
      parts.push_back(absl::StrCat(name, "=", problem.extents[i]));
    }
  }
  if (!problem.specialisation.empty()) {
    parts.push_back(absl::StrCat("[", problem.specialisation, "]"));
  }
  return absl::StrJoin(parts, " ");
}

namespace {

// Values by (parameter, value).
using Values = std::set<std::pair<int, int64_t>>;

Values ValuesOf(absl::Span<const Configuration> configurations) {
  Values values;
  for (const Configuration& configuration : configurations) {
    for (int i = 0; i < configuration.size(); ++i) {
      values.emplace(i, configuration[i]);
    }
  }
  return values;
}

int CountNew(const Configuration& configuration, const Values& wanted) {
  int count = 0;
  for (int i = 0; i < configuration.size(); ++i) {
    count += wanted.contains({i, configuration[i]}) ? 1 : 0;
  }
  return count;
}

class Sampler {
 public:
  Sampler(std::vector<Configuration> space, size_t size)
      : space_(std::move(space)),
        size_(size),
        taken_(space_.size()),
        wanted_(ValuesOf(space_)) {}

  std::vector<Configuration> Run(const Configuration& default_configuration) {
    const auto found =
        std::find(space_.begin(), space_.end(), default_configuration);
    if (found != space_.end()) {
      Take(static_cast<size_t>(found - space_.begin()));
    }
    while (!wanted_.empty() && chosen_.size() < size_) Take(BestCover());
    Spread();
    return std::move(chosen_);
  }

 private:
  void Take(size_t index) {
    taken_[index] = true;
    chosen_.push_back(space_[index]);
    for (int i = 0; i < space_[index].size(); ++i) {
      wanted_.erase({i, space_[index][i]});
    }
  }

  // The first of those that have the most wanted values; any has one.
  size_t BestCover() const {
    size_t best = 0;
    int most = 0;
    for (size_t i = 0; i < space_.size(); ++i) {
      const int own = CountNew(space_[i], wanted_);
      if (own <= most) continue;
      best = i;
      most = own;
    }
    return best;
  }

  // Fills up from evenly spread places; where one is taken, with the next.
  void Spread() {
    const size_t missing = size_ - chosen_.size();
    for (size_t i = 0; i < missing; ++i) {
      size_t at = i * space_.size() / missing;
      while (taken_[at]) at = (at + 1) % space_.size();
      Take(at);
    }
  }

  const std::vector<Configuration> space_;
  const size_t size_;  // Less than the space.
  std::vector<bool> taken_;
  Values wanted_;
  std::vector<Configuration> chosen_;
};

}  // namespace

std::vector<Configuration> SampleSpace(const KernelSpec& spec, size_t size) {
  return SampleSpace(EnumerateConfigurations(spec), size,
                     spec.default_configuration);
}

std::vector<Configuration> SampleSpace(
    std::vector<Configuration> space, size_t size,
    const Configuration& default_configuration) {
  if (size >= space.size()) return space;
  return Sampler(std::move(space), std::max<size_t>(1, size))
      .Run(default_configuration);
}

std::vector<std::string> ValuesLeftOut(const KernelSpec& spec,
                                       absl::Span<const Configuration> space,
                                       absl::Span<const Configuration> sample) {
  const Values has = ValuesOf(space);
  const Values seen = ValuesOf(sample);
  std::vector<std::string> left_out;
  for (size_t p = 0; p < spec.parameters.size(); ++p) {
    for (const int64_t value : spec.parameters[p].values) {
      const std::pair<int, int64_t> key(static_cast<int>(p), value);
      if (!has.contains(key) || seen.contains(key)) continue;
      left_out.push_back(absl::StrCat(spec.parameters[p].name, "=", value));
    }
  }
  return left_out;
}

}  // namespace wavetune
