#include "client/table_state.h"

#include <algorithm>
#include <cstddef>

namespace wavetune {
namespace {

// The answer where there is no table.
Decision DefaultOf(const Configuration& configuration) noexcept {
  Decision decision;
  decision.configuration = configuration;
  decision.reason = DefaultReason::kNoTable;
  return decision;
}

}  // namespace

Decision TableState::Resolve(const ProblemView& problem) const noexcept {
  // Made where the caller wants it: clearing or copying 136 bytes costs more
  // than looking a repeated problem up.
  Decision decision = table != nullptr
                          ? table->Resolve(sub_table, problem, stale)
                          : DefaultOf(default_configuration);
  decision.origin = origin;
  if (usage != nullptr) usage->Record(problem, decision);
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
