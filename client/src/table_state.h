// TableState: what a tuner decides with at one moment. Immutable once shared.
#ifndef WAVETUNE_CLIENT_SRC_TABLE_STATE_H_
#define WAVETUNE_CLIENT_SRC_TABLE_STATE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client/usage/usage_recorder.h"
#include "model/decide/compiled_table.h"
#include "wavetune/configuration.h"
#include "wavetune/decision.h"
#include "wavetune/joint_problem.h"
#include "wavetune/problem.h"

namespace wavetune {

struct TableState {
  std::shared_ptr<const CompiledTable> table;  // nullptr: defaults only.
  int sub_table = -1;  // The tuner's specialisation's; >= 0 with a table.
  bool stale = false;
  std::string stale_reason = "";  // What differs; empty where not stale.
  std::string compiler = "";      // The table's; empty where nobody says.
  std::string carried_to = "";    // As OfferedTable::carried_to.
  TableOrigin origin = TableOrigin::kDefaults;
  Configuration default_configuration;
  // What a decision without a table says.
  DefaultReason default_reason = DefaultReason::kNoTable;
  // The default is known not to work on the device: its decisions say so.
  bool default_unusable = false;
  // Counts the decisions of this table; nullptr: nobody does.
  std::shared_ptr<UsageRecorder> usage;

  // As Tuner::Resolve. Cannot fail.
  Decision Resolve(const ProblemView& problem) const noexcept;

  // As Tuner::ResolveTogether. Cannot fail.
  void ResolveTogether(absl::Span<const JointProblem> problems,
                       absl::Span<const int> shared,
                       absl::Span<Decision> decisions,
                       const Configuration* incumbent) const noexcept;

  // Returns what Resolve can answer, the default included. Cannot fail.
  std::vector<Configuration> Configurations() const;

  // Hex; empty without a table.
  std::string digest() const { return table == nullptr ? "" : table->digest(); }
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_TABLE_STATE_H_
