// absl::Status <-> grpc::Status, once.
#ifndef WAVETUNE_FORMATS_STATUS_H_
#define WAVETUNE_FORMATS_STATUS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace wavetune {

// gRPC sends a status as a header, percent-encoded, and refuses more than
// 8 KiB of headers with a message that says nothing of the error.
inline constexpr size_t kMaxStatusHeaderBytes = size_t{6} << 10;

// Codes have equal numbers in both. Messages become printable (bytes that are
// not UTF-8 are escaped) and are cut where they would take more than
// kMaxStatusHeaderBytes. Cannot fail.
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_STATUS_H_
