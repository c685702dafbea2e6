// The rules of mappings: trees of expressions. Part of CheckTable.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_TABLE_TABLE_CHECK_MAPPING_H_
#define WAVETUNE_MODEL_TABLE_TABLE_CHECK_MAPPING_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/table/table.h"

namespace wavetune {

// Returns OK if `mapping` keeps the rules, with `where` put before the message.
absl::Status CheckMapping(const Table& table, const Mapping& mapping,
                          const std::string& where);

// Returns whether a mapping keeps the rules with `expression` as one that
// problems alone give (OptionalExpression::of_problem): it has no parameter,
// and a sum over the repeated one of `dimensions`. Cannot fail.
bool IsOfProblem(const std::vector<Dimension>& dimensions,
                 const Expression& expression);

// Returns the number of expression nodes of a mapping, its row axis counted as
// one.
int CountNodes(const Mapping& mapping);

// Returns the nodes that a decision evaluates for `groups` groups: those of
// what follows from the problem alone once, the others for each. Cannot fail.
size_t CountDecisionNodes(const Mapping& mapping, size_t groups);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_TABLE_CHECK_MAPPING_H_
