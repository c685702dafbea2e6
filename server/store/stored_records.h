// Stored records: the registry's records <-> the bytes that the daemon keeps on
// disk (proto/wavetune/v1/store.proto).
//
// Every message carries a format version. Decode functions return DATA_LOSS for
// bytes that are not such a message and FAILED_PRECONDITION for a format newer
// than this program's; both name what is wrong. Encode functions cannot fail.
// A record that went through both is unchanged.
//
// Names say "Stored": model/table/table_codec.h has a DecodeTable of its own,
// for the payload.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_STORE_STORED_RECORDS_H_
#define WAVETUNE_SERVER_STORE_STORED_RECORDS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/store/records.h"
#include "server/store/table_store.h"

namespace wavetune {

// For all stored messages; StoredTable's format 1 is not StoredJob's.
inline constexpr int kStoredFormat = 1;

std::string EncodeStoredDevice(const DeviceRecord& record);
absl::StatusOr<DeviceRecord> DecodeStoredDevice(absl::string_view bytes);

std::string EncodeStoredSample(const SampleRecord& record);
absl::StatusOr<SampleRecord> DecodeStoredSample(absl::string_view bytes);

std::string EncodeStoredCandidate(const CandidateRecord& record);
absl::StatusOr<CandidateRecord> DecodeStoredCandidate(absl::string_view bytes);

// What a generation of samples holds.
struct GenerationRecord {
  int64_t samples = 0;
  int64_t size_bytes = 0;
  uint64_t next_sequence = 0;

  friend bool operator==(const GenerationRecord&,
                         const GenerationRecord&) = default;
};
std::string EncodeStoredGeneration(const GenerationRecord& record);
absl::StatusOr<GenerationRecord> DecodeStoredGeneration(
    absl::string_view bytes);

std::string EncodeStoredTableRecord(const TableRecord& record);
absl::StatusOr<TableRecord> DecodeStoredTableRecord(absl::string_view bytes);

std::string EncodeStoredPin(const PinRecord& record);
absl::StatusOr<PinRecord> DecodeStoredPin(absl::string_view bytes);

std::string EncodeStoredRejected(const RejectedTable& table);
absl::StatusOr<RejectedTable> DecodeStoredRejected(absl::string_view bytes);

// The payload is verified against the record's digest: DATA_LOSS where they
// differ.
std::string EncodeStoredTable(const TableRecord& record,
                              absl::string_view payload);
absl::StatusOr<StoredPayload> DecodeStoredTable(absl::string_view bytes);

std::string EncodeStoredJob(const JobRecord& record);
absl::StatusOr<JobRecord> DecodeStoredJob(absl::string_view bytes);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_STORED_RECORDS_H_
