#include "formats/status.h"

#include <string>

#include "absl/strings/string_view.h"
#include "base/printable_text.h"

namespace wavetune {
namespace {

// What a byte takes in a header: others than these are sent as %NN.
size_t HeaderBytes(char c) { return c >= ' ' && c <= '~' && c != '%' ? 1 : 3; }

std::string StatusText(absl::string_view message) {
  std::string text = BoundedText(message, kMaxStatusHeaderBytes);
  size_t header_bytes = 0;
  size_t fits = 0;
  for (; fits < text.size(); ++fits) {
    header_bytes += HeaderBytes(text[fits]);
    if (header_bytes > kMaxStatusHeaderBytes) break;
  }
  if (fits == text.size()) return text;
  return BoundedText(message, fits);
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      StatusText(status.message()));
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string& message = status.error_message();
  return absl::Status(
      static_cast<absl::StatusCode>(status.error_code()),
      PrintableText(absl::string_view(message.data(), message.size())));
}

}  // namespace wavetune
