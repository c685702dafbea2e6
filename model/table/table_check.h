// CheckTable: every rule that a table must keep, in one place.
//
// Why: the encoder and the decoder apply the same rules. So nothing can be
// written that is refused later, and a decision never has to look at an index
// twice. docs/table_format.md lists the rules for readers.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_TABLE_TABLE_CHECK_H_
#define WAVETUNE_MODEL_TABLE_TABLE_CHECK_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "model/table/table.h"

namespace wavetune {

// Limits of a table. They bound what a decoder allocates and what a decision
// costs; a 64 KiB payload reaches few of them.
inline constexpr size_t kMaxNameBytes = 128;  // Names of all kinds.
inline constexpr size_t kMaxKeyBytes = 1024;  // Silicon and environment key.
inline constexpr size_t kMaxSubTables = 255;  // Specialisations.
inline constexpr size_t kMaxPortfolio = 128;  // Candidates of a sub-table.
inline constexpr size_t kMaxGroups = 128;     // Macro groups of a sub-table.
inline constexpr size_t kMaxRowRegimes = 16;
inline constexpr size_t kMaxWaveRegimes = 16;
inline constexpr size_t kMaxLoopAnchors = 32;
inline constexpr size_t kMaxLayers = 255;      // In a sub-table.
inline constexpr size_t kMaxLayerSpans = 255;  // In a layer.
inline constexpr size_t kMaxPredicates = 255;  // In a sub-table.
inline constexpr size_t kMaxTerms = 16;        // On one side of a relation.
inline constexpr size_t kMaxFactors = 16;      // Dimensions of a term.
inline constexpr int kMaxExpressionDepth = 8;
inline constexpr int kMaxMappingNodes = 64;  // In all of a mapping's trees.
// Nodes of the mapping, and relations, times macro groups: what one decision
// may have to evaluate.
inline constexpr int kMaxDecisionNodes = 2048;
// Coefficients and floors, in microseconds; keeps every prediction finite.
inline constexpr double kMaxCoefficient = 1e30;
// Relative bounds.
inline constexpr double kMaxRelativeBound = 1e6;

// Returns OK if the table keeps every rule of docs/table_format.md. Errors:
// INVALID_ARGUMENT with the field and what is wrong with it. Cost: linear in
// the table's size.
absl::Status CheckTable(const Table& table);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_TABLE_CHECK_H_
