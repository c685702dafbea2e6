// Stored usage: UsageRecord <-> the bytes that the daemon keeps on disk. As
// server/store/stored_records.h, apart for its size.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_STORE_STORED_USAGE_H_
#define WAVETUNE_SERVER_STORE_STORED_USAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/wavetune/v1/store.pb.h"
#include "server/usage/usage_record.h"
#include "usage/heavy_hitters.h"

namespace wavetune {

// Errors of decoding: as ParseStored; DATA_LOSS for a weight that is none.
std::string EncodeStoredUsage(const UsageRecord& record);
absl::StatusOr<UsageRecord> DecodeStoredUsage(absl::string_view bytes);

// A part of StoredUsage and StoredJob. Errors: DATA_LOSS for a weight that is
// not finite or not above 0, or an error outside of [0, weight].
v1::StoredUsedProblem UsedProblemToStored(const HeavyHitters::Entry& used);
absl::StatusOr<HeavyHitters::Entry> UsedProblemFromStored(
    const v1::StoredUsedProblem& stored);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_STORED_USAGE_H_
