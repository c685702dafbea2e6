// Tables of a kernel as engines launch it for their experts: two products that
// share one configuration. Their latencies are near enough to real ones for
// choices to change with the number of tokens.
#ifndef WAVETUNE_TESTS_LIB_EXPERT_TABLE_H_
#define WAVETUNE_TESTS_LIB_EXPERT_TABLE_H_

#include <cstdint>

#include "model/table/table.h"

namespace wavetune::testing {

// Returns a table of "triton_fused_moe": dimensions tokens (slots of each local
// expert), n, k, top_k; specialisations gate_up and down, of whose candidates
// some are the same. Different seeds differ in the fastest candidates.
Table ExpertTable(uint64_t seed);

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_EXPERT_TABLE_H_
