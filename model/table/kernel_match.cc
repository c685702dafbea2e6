#include "model/table/kernel_match.h"

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "model/kernel/configuration_text.h"
#include "model/kernel/device_space.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/relation_proof.h"
#include "model/table/group_predicates.h"

namespace wavetune {
namespace {

constexpr char kAdvice[] =
    ": profile the kernel here, or take the table anew from where it was "
    "measured";

absl::Status CheckRanges(const KernelSpec& spec, const Table& table) {
  for (size_t i = 0; i < spec.dimensions.size(); ++i) {
    const Dimension& own = spec.dimensions[i];
    const Dimension& answered = table.dimensions[i];
    if (answered.min >= own.min && answered.max <= own.max) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the table answers ", own.name, " from ", answered.min, " to ",
        answered.max, ", the manifest of kernel ", spec.name, " has it from ",
        own.min, " to ", own.max, kAdvice));
  }
  return absl::OkStatus();
}

absl::Status CheckDefault(const KernelSpec& spec, const Table& table,
                          const DeviceFacts* device) {
  const Configuration& configuration = table.default_configuration;
  if (configuration == spec.default_configuration) return absl::OkStatus();
  for (const std::string& name : spec.SpecialisationNames()) {
    const KernelSpec& own = spec.Of(name);
    if (InSpace(own, configuration) &&
        IsLegalForEveryProblem(own, configuration) &&
        (device == nullptr ||
         CheckLimits(own, name, configuration, *device).ok())) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "the table's default ", FormatConfiguration(spec, configuration),
        " is not one that the manifest of kernel ", spec.name,
        device == nullptr ? "" : ", or the device,",
        " allows for every problem", kAdvice));
  }
  return absl::OkStatus();
}

// Judges what one sub-table may answer.
class SubTableJudge {
 public:
  // `spec` is the kernel as the sub-table's specialisation has it.
  SubTableJudge(const KernelSpec& spec, const Table& table, const SubTable& sub,
                const DeviceFacts* device)
      : spec_(spec),
        dimensions_(table.dimensions),
        sub_(sub),
        device_(device) {}

  absl::Status Check() {
    for (const TableCandidate& candidate : sub_.portfolio) {
      RETURN_IF_ERROR(CheckCandidate(candidate.configuration));
    }
    wanted_.resize(sub_.portfolio.size());
    for (const MacroGroup& group : sub_.groups) {
      RETURN_IF_ERROR(CheckGroup(group));
    }
    return absl::OkStatus();
  }

 private:
  using Predicates = std::bitset<256>;  // Indices into SubTable::predicates.

  // What the manifest asks of a problem, and which predicates see to it.
  struct Wanted {
    Relation relation;
    Predicates met_by;
  };

  absl::Status Refusal(const Configuration& configuration,
                       absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "the table chooses ", FormatConfiguration(spec_, configuration),
        sub_.specialisation.empty() ? "" : " for ", sub_.specialisation, ", ",
        what, kAdvice));
  }

  absl::Status CheckCandidate(const Configuration& configuration) const {
    if (!HasDeclaredValues(spec_, configuration)) {
      return Refusal(configuration,
                     absl::StrCat("which the manifest of kernel ", spec_.name,
                                  " does not declare here"));
    }
    if (!InSpace(spec_, configuration)) {
      return Refusal(
          configuration,
          absl::StrCat("which the manifest of kernel ", spec_.name,
                       " does not allow: a requirement, or one of the device, "
                       "excludes it"));
    }
    if (device_ == nullptr) return absl::OkStatus();
    const absl::Status fits =
        CheckLimits(spec_, sub_.specialisation, configuration, *device_);
    return fits.ok() ? fits : Refusal(configuration, fits.message());
  }

  absl::Status CheckGroup(const MacroGroup& group) {
    Predicates has;
    for (const uint8_t predicate : group.predicates) has.set(predicate);
    const std::bitset<256> members = GroupMembers(group);
    for (size_t i = 0; i < sub_.portfolio.size(); ++i) {
      if (!members[i]) continue;
      for (const size_t index : WantedOf(i)) {
        const Wanted& wanted = known_[index];
        if ((wanted.met_by & has).any()) continue;
        return Refusal(
            sub_.portfolio[i].configuration,
            absl::StrCat("also where ",
                         FormatRelation(wanted.relation, spec_.dimensions),
                         " does not hold, which the manifest of kernel ",
                         spec_.name, " asks for"));
      }
    }
    return absl::OkStatus();
  }

  // Indices into known_ of what is asked for under a candidate.
  const std::vector<size_t>& WantedOf(size_t candidate) {
    std::pair<bool, std::vector<size_t>>& wanted = wanted_[candidate];
    if (std::exchange(wanted.first, true)) return wanted.second;
    for (Relation& relation :
         ProblemRelations(spec_, sub_.portfolio[candidate].configuration)) {
      if (AlwaysHolds(relation, dimensions_)) continue;
      wanted.second.push_back(IndexOf(std::move(relation)));
    }
    return wanted.second;
  }

  size_t IndexOf(Relation relation) {
    const auto same = std::find_if(
        known_.begin(), known_.end(),
        [&](const Wanted& other) { return other.relation == relation; });
    if (same != known_.end()) return static_cast<size_t>(same - known_.begin());
    Predicates met_by;
    for (size_t i = 0; i < sub_.predicates.size(); ++i)
      met_by[i] = Implies(sub_.predicates[i], relation);
    known_.push_back({std::move(relation), met_by});
    return known_.size() - 1;
  }

  const KernelSpec& spec_;
  const std::vector<Dimension>& dimensions_;  // The table's.
  const SubTable& sub_;
  const DeviceFacts* const device_;
  std::vector<Wanted> known_;
  // Of each candidate: whether it was looked up, and WantedOf.
  std::vector<std::pair<bool, std::vector<size_t>>> wanted_;
};

}  // namespace

bool IsComparable(const KernelSpec& spec, const Table& table) {
  if (table.parameters != ParameterNames(spec)) return false;
  return std::equal(table.dimensions.begin(), table.dimensions.end(),
                    spec.dimensions.begin(), spec.dimensions.end(),
                    [](const Dimension& a, const Dimension& b) {
                      return a.name == b.name && a.repeated == b.repeated;
                    });
}

absl::Status CheckChoices(const KernelSpec& spec, const Table& table,
                          const DeviceFacts* device) {
  if (!IsComparable(spec, table)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the table is of another version of kernel ", spec.name,
        ": its parameters or dimensions are not those of the manifest here"));
  }
  RETURN_IF_ERROR(CheckRanges(spec, table));
  RETURN_IF_ERROR(CheckDefault(spec, table, device));
  const std::vector<std::string> names = spec.SpecialisationNames();
  for (const SubTable& sub : table.sub_tables) {
    if (std::find(names.begin(), names.end(), sub.specialisation) ==
        names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the table is of another version of kernel ", spec.name,
                       ": the manifest here has no specialisation '",
                       sub.specialisation, "'"));
    }
    RETURN_IF_ERROR(
        SubTableJudge(spec.Of(sub.specialisation), table, sub, device).Check());
  }
  return absl::OkStatus();
}

}  // namespace wavetune
