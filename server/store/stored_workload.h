// Stored workloads: WorkloadRecord <-> the bytes that the daemon keeps on disk.
// As server/store/stored_records.h.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_STORE_STORED_WORKLOAD_H_
#define WAVETUNE_SERVER_STORE_STORED_WORKLOAD_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/store/workload_store.h"

namespace wavetune {

// Errors of decoding: as ParseStored.
std::string EncodeStoredWorkload(const WorkloadRecord& record);
absl::StatusOr<WorkloadRecord> DecodeStoredWorkload(absl::string_view bytes);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_STORED_WORKLOAD_H_
