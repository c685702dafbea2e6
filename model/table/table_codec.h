// Encoding of a Table as the immutable payload that is stored, sent and
// identified by its digest.
//
//   std::string payload = EncodeTable(table).value();
//   std::string identity = Sha256Hex(payload);
//   Table same = DecodeTable(payload).value();  // same == table
//
// The layout is our own and canonical (docs/table_format.md): the same Table
// gives the same bytes on every machine. A payload of this version without
// unknown sections encodes back to itself byte for byte. Unknown sections that
// are not critical are skipped; a future major version is refused. There is no
// checksum: the digest, which every store and transport compares, is one.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_TABLE_TABLE_CODEC_H_
#define WAVETUNE_MODEL_TABLE_TABLE_CODEC_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/table/table.h"

namespace wavetune {

// Largest payload in bytes.
inline constexpr size_t kMaxPayloadBytes = 64 * 1024;

// Returns the payload. Errors: RESOURCE_EXHAUSTED above kMaxPayloadBytes;
// INVALID_ARGUMENT where the table is not consistent (the same checks as
// DecodeTable: model/table/table_check.h). -0.0 is written as 0.0.
// Deterministic.
absl::StatusOr<std::string> EncodeTable(const Table& table);

// Returns the table in a payload. Errors: INVALID_ARGUMENT with the place and
// reason for anything malformed: bad magic, truncated or trailing bytes,
// indices out of range, values not finite. UNIMPLEMENTED with what to do for a
// future major version, an unknown critical section, coefficient, wave form or
// expression of a mapping, or a table of a release before 1.0. Never crashes,
// whatever the bytes; allocates at most some 200 times the payload's size
// (segments of one byte; 12 MB).
absl::StatusOr<Table> DecodeTable(absl::string_view payload);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_TABLE_CODEC_H_
