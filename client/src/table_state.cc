#include "client/src/table_state.h"

#include <algorithm>
#include <cstddef>

namespace wavetune {

namespace {

Decision Default(const TableState& state) {
  Decision decision;
  decision.configuration = state.default_configuration;
  decision.reason = state.default_reason;
  decision.origin = state.origin;
  return decision;
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
