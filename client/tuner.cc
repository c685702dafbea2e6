#include "client/tuner.h"

#include <algorithm>

namespace wavetune {

Decision Tuner::Resolve(const ProblemView& problem) const noexcept {
  Decision decision;
  if (state_->table != nullptr) {
    decision =
        state_->table->Resolve(state_->sub_table, problem, state_->stale);
  } else {
    decision.configuration = state_->default_configuration;
    decision.reason = DefaultReason::kNoTable;
  }
  if (state_->usage != nullptr) state_->usage->Record(problem, decision);
  return decision;
}

std::vector<ExplainedRow> Tuner::Explain(const ProblemView& problem) const {
  if (state_->table == nullptr) return {};
  return state_->table->Explain(state_->sub_table, problem);
}

std::vector<Configuration> Tuner::configurations() const {
  std::vector<Configuration> result;
  if (state_->table != nullptr && state_->sub_table >= 0) {
    const SubTable& sub =
        state_->table->table()
            .sub_tables[static_cast<size_t>(state_->sub_table)];
    for (const TableCandidate& candidate : sub.portfolio)
      result.push_back(candidate.configuration);
  }
  if (std::find(result.begin(), result.end(), state_->default_configuration) ==
      result.end()) {
    result.push_back(state_->default_configuration);
  }
  return result;
}

int Tuner::ParameterIndex(absl::string_view name) const {
  for (size_t i = 0; i < state_->parameters.size(); ++i) {
    if (absl::string_view(state_->parameters[i]) == name)
      return static_cast<int>(i);
  }
  return -1;
}

}  // namespace wavetune
