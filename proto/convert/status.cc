#include "proto/convert/status.h"

#include <string>

#include "absl/strings/string_view.h"

namespace wavetune {

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message()));
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = status.error_message();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::string_view(message.data(), message.size()));
}

}  // namespace wavetune
