// Checks before a fetched table may decide.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLIENT_SRC_VERIFIED_TABLE_H_
#define WAVETUNE_CLIENT_SRC_VERIFIED_TABLE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/src/table_cache.h"
#include "model/decide/compiled_table.h"

namespace wavetune {

// Returns the table, ready to decide. Errors: DATA_LOSS where the payload does
// not have the announced digest, or is not of the announced kernel,
// fingerprint, silicon or environment. As DecodeTable for a payload that is
// malformed or of a future major version.
absl::StatusOr<std::shared_ptr<const CompiledTable>> Verify(
    const FetchedTable& fetched);

// Returns a table as its payload describes it (no promotion, no device), for a
// payload that nobody announced. Errors: as DecodeTable.
absl::StatusOr<FetchedTable> FromPayload(std::string payload);

// Errors: NOT_FOUND, saying what the table is for, unless it is for `kernel`
// and a fingerprint that begins with `fingerprint`.
absl::Status CheckIdentity(const v1::TableInfo& info, const std::string& kernel,
                           const std::string& fingerprint);

// One line for people.
std::string Describe(const v1::TableInfo& info);

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_VERIFIED_TABLE_H_
