// Stored records: the registry's records <-> the bytes that the daemon keeps on
// disk (proto/wavetune/v1/store.proto).
//
// Every message carries a format version. Decode functions return DATA_LOSS for
// bytes that are not such a message and FAILED_PRECONDITION for a format newer
// than this program's; both name what is wrong. Encode functions cannot fail.
// A record that went through both is unchanged.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_STORED_RECORDS_H_
#define WAVETUNE_SERVER_STORED_RECORDS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/registry/records.h"
#include "server/registry/table_store.h"

namespace wavetune {

// Of all stored messages; StoredTable's format 1 is not StoredJob's.
inline constexpr int kStoredFormat = 1;

std::string EncodeDevice(const DeviceRecord& record);
absl::StatusOr<DeviceRecord> DecodeDevice(absl::string_view bytes);

std::string EncodeSample(const SampleRecord& record);
absl::StatusOr<SampleRecord> DecodeSample(absl::string_view bytes);

std::string EncodeCandidate(const CandidateRecord& record);
absl::StatusOr<CandidateRecord> DecodeCandidate(absl::string_view bytes);

// What a generation of samples holds.
struct GenerationRecord {
  int64_t samples = 0;
  int64_t size_bytes = 0;
  uint64_t next_sequence = 0;

  friend bool operator==(const GenerationRecord&,
                         const GenerationRecord&) = default;
};
std::string EncodeGeneration(const GenerationRecord& record);
absl::StatusOr<GenerationRecord> DecodeGeneration(absl::string_view bytes);

std::string EncodeTableRecord(const TableRecord& record);
absl::StatusOr<TableRecord> DecodeTableRecord(absl::string_view bytes);

// The payload is verified against the record's digest: DATA_LOSS where they
// differ.
std::string EncodeStoredTable(const TableRecord& record,
                              absl::string_view payload);
absl::StatusOr<StoredPayload> DecodeStoredTable(absl::string_view bytes);

std::string EncodeJob(const JobRecord& record);
absl::StatusOr<JobRecord> DecodeJob(absl::string_view bytes);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORED_RECORDS_H_
