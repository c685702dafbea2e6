#include "client/src/table_state.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace wavetune {

namespace {

Decision Default(const TableState& state) {
  Decision decision;
  decision.configuration = state.default_configuration;
  decision.reason = state.default_reason;
  decision.origin = state.origin;
  return decision;
}

// Returns the mask of parameters that CompiledTable wants; of none all.
uint32_t MaskOf(absl::Span<const int> parameters) {
  if (parameters.empty()) return ~uint32_t{0};
  uint32_t mask = 0;
  for (const int p : parameters) {
    if (p >= 0 && p < kMaxParameters) mask |= uint32_t{1} << p;
  }
  return mask;
}

}  // namespace

// One variable that all paths return: it is made in the caller's memory.
Decision TableState::Resolve(const ProblemView& problem) const noexcept {
  Decision decision = table != nullptr
                          ? table->Resolve(sub_table, problem, stale, origin)
                          : Default(*this);
  if (usage != nullptr) usage->Record(problem, decision);
  if (default_unusable && decision.source == DecisionSource::kDefault) {
    decision.reason = DefaultReason::kDefaultUnusable;
  }
  return decision;
}

void TableState::ResolveTogether(
    absl::Span<const JointProblem> problems, absl::Span<const int> shared,
    absl::Span<Decision> decisions,
    const Configuration* incumbent) const noexcept {
  static_assert(kMaxJointProblems == CompiledTable::kMaxTogether);
  std::array<TableProblem, CompiledTable::kMaxTogether> of_table;
  // More are counted, and refused, by the table.
  const size_t known = std::min(problems.size(), of_table.size());
  for (size_t i = 0; table != nullptr && i < known; ++i) {
    of_table[i] = {table->SubTableIndex(problems[i].specialisation),
                   problems[i].problem};
  }
  if (table == nullptr) {
    std::fill(decisions.begin(), decisions.end(), Default(*this));
  } else {
    // An empty list is refused, as too long a one must be.
    const size_t asked = known == problems.size() ? known : 0;
    table->ResolveTogether(absl::MakeConstSpan(of_table.data(), asked),
                           MaskOf(shared), decisions, stale, origin, incumbent);
  }
  for (size_t i = 0; i < decisions.size(); ++i) {
    // The counters are those of the tuner's own specialisation.
    if (usage != nullptr && i < known && of_table[i].sub_table == sub_table)
      usage->Record(problems[i].problem, decisions[i]);
    if (default_unusable && decisions[i].source == DecisionSource::kDefault)
      decisions[i].reason = DefaultReason::kDefaultUnusable;
  }
}

std::vector<Configuration> TableState::Configurations() const {
  std::vector<Configuration> result;
  if (table != nullptr && sub_table >= 0) {
    const SubTable& sub =
        table->table().sub_tables[static_cast<size_t>(sub_table)];
    for (const TableCandidate& candidate : sub.portfolio)
      result.push_back(candidate.configuration);
  }
  if (std::find(result.begin(), result.end(), default_configuration) ==
      result.end()) {
    result.push_back(default_configuration);
  }
  return result;
}

}  // namespace wavetune
