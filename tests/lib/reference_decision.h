// The slow, obvious decision: what CompiledTable::Resolve must answer, straight
// from the decoded table.
//
//   EXPECT_EQ(compiled->Resolve(i, problem.View()),
//             ReferenceDecision(table, digest, i, problem.View()));
#ifndef WAVETUNE_TESTS_LIB_REFERENCE_DECISION_H_
#define WAVETUNE_TESTS_LIB_REFERENCE_DECISION_H_

#include <string>

#include "model/table/table.h"
#include "wavetune/decision.h"
#include "wavetune/problem.h"

namespace wavetune::testing {

Decision ReferenceDecision(const Table& table, const std::string& digest,
                           int sub_table, const ProblemView& problem,
                           bool stale = false);

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_REFERENCE_DECISION_H_
