// RollbackTarget: which table of a history is meant by "what served before".
//
//   ASSIGN_OR_RETURN(const std::vector<TableRecord> history,
//                    catalog.History(kernel, silicon_key));
//   ASSIGN_OR_RETURN(const TableRecord target,
//                    RollbackTarget(history, serving, /*digest=*/""));
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_CATALOG_ROLLBACK_H_
#define WAVETUNE_SERVER_CATALOG_ROLLBACK_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/store/records.h"

namespace wavetune {

// Shortest beginning of a digest that selects.
inline constexpr size_t kMinDigestPrefix = 8;

// Returns why a fleet's rollout of a table was halted, or nothing.
using WhyHalted = std::function<std::string(const TableRecord&)>;

// Returns the promotion to go back to, of one kernel on one silicon.
//
// `history`: its promotions and withdrawals, newest first; `serving`: what
// serves now. With `digest`, a digest or the beginning of one: the last
// promotion of that table. Without: the last promotion before what serves now;
// where that was itself chosen by a rollback, before its own, so that rolling
// back again goes further back. Tables that were withdrawn for their key are
// never chosen, nor are those whose rollout was halted, which served on the
// node that measured them. Errors: NOT_FOUND where there is no earlier one, or
// none of that digest. FAILED_PRECONDITION for one that was withdrawn or
// halted, and for the beginning of several digests. INVALID_ARGUMENT for too
// short a beginning.
absl::StatusOr<TableRecord> RollbackTarget(
    const std::vector<TableRecord>& history,
    const std::vector<TableRecord>& serving, absl::string_view digest,
    const WhyHalted& why_halted = nullptr);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_ROLLBACK_H_
