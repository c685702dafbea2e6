// absl::Status <-> grpc::Status, once.
#ifndef WAVETUNE_PROTO_CONVERT_STATUS_H_
#define WAVETUNE_PROTO_CONVERT_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace wavetune {

// Codes have equal numbers in both; messages are kept. Cannot fail.
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace wavetune

#endif  // WAVETUNE_PROTO_CONVERT_STATUS_H_
