// RequestBounds: limits the cost of a request before it is parsed.
//
// Why: two bytes on the wire can become a hundred in memory (an empty
// submessage), so that a size alone bounds little. The cost is counted on the
// bytes, in one pass, and counting ends where it is too high.
//
// Thread safety: a pure function. Includes no gRPC.
#ifndef WAVETUNE_SERVER_RPC_REQUEST_BOUNDS_H_
#define WAVETUNE_SERVER_RPC_REQUEST_BOUNDS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/zero_copy_stream.h"

namespace wavetune {

inline constexpr size_t kKiB = 1024, kMiB = kKiB * kKiB;

struct RequestBounds {
  size_t wire_bytes = 0;
  // Memory of the parsed message, estimated from above.
  size_t parsed_bytes = 0;
};

// Checks that `input` holds a message of `type` of `size` bytes within the
// bounds. Errors: RESOURCE_EXHAUSTED naming the message and the bound;
// INVALID_ARGUMENT for bytes that are no such message. OK does not promise that
// it can be parsed. Cost: O(size) time, no memory.
absl::Status CheckRequest(const google::protobuf::Descriptor& type, size_t size,
                          google::protobuf::io::ZeroCopyInputStream* input,
                          const RequestBounds& bounds);

// Returns what a message of `type` of these bytes costs in memory, at most
// `most`. Errors: as CheckRequest.
absl::StatusOr<size_t> ParsedBytes(const google::protobuf::Descriptor& type,
                                   absl::string_view bytes, size_t most);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_REQUEST_BOUNDS_H_
