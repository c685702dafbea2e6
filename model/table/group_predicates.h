// Predicates of a table: kept once for a sub-table, by index for each group,
// whose members all need them.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_TABLE_GROUP_PREDICATES_H_
#define WAVETUNE_MODEL_TABLE_GROUP_PREDICATES_H_

#include <bitset>
#include <cstdint>
#include <vector>

#include "model/kernel/relation.h"
#include "model/table/table.h"
#include "wavetune/dimension.h"

namespace wavetune {

// Adds those of `relations` that are new to `sub.predicates`, and returns the
// indices of all of them, ascending: what a group keeps. Leaves out what holds
// at every problem in the dimensions' ranges. Cannot fail;
// model/table/table_check.h bounds the number.
std::vector<uint8_t> AddPredicates(const std::vector<Relation>& relations,
                                   const std::vector<Dimension>& dimensions,
                                   SubTable& sub);

// Returns the portfolio indices that a group may answer: its lead and those of
// its micro table. Cannot fail.
std::bitset<256> GroupMembers(const MacroGroup& group);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_GROUP_PREDICATES_H_
