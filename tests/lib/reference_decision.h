// The slow, obvious decision: what CompiledTable::Resolve must answer, straight
// from the decoded table.
//
//   EXPECT_EQ(compiled->Resolve(i, problem.View()),
//             ReferenceDecision(table, digest, i, problem.View()));
#ifndef WAVETUNE_TESTS_LIB_REFERENCE_DECISION_H_
#define WAVETUNE_TESTS_LIB_REFERENCE_DECISION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/decide/compiled_table.h"
#include "model/table/table.h"
#include "wavetune/decision.h"
#include "wavetune/problem.h"

namespace wavetune::testing {

Decision ReferenceDecision(const Table& table, const std::string& digest,
                           int sub_table, const ProblemView& problem,
                           bool stale = false);

// What CompiledTable::ResolveTogether must answer.
std::vector<Decision> ReferenceDecisionsTogether(
    const Table& table, const std::string& digest,
    const std::vector<TableProblem>& problems, uint32_t shared,
    bool stale = false, const Configuration* incumbent = nullptr);

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_REFERENCE_DECISION_H_
