// The part of HTTP/2 (RFC 9113) and HPACK (RFC 7541) that a gRPC call takes, as
// pure functions on bytes. Who reads headers with it tells its peer to keep no
// dynamic table (Http2Preface does).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLIENT_HTTP2_HTTP2_FRAMES_H_
#define WAVETUNE_CLIENT_HTTP2_HTTP2_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

enum class FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kRstStream = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};

inline constexpr uint8_t kEndStream = 0x1;  // Of DATA and HEADERS.
inline constexpr uint8_t kAck = 0x1;        // Of SETTINGS and PING.
inline constexpr uint8_t kEndHeaders = 0x4;
inline constexpr uint8_t kPadded = 0x8;
inline constexpr uint8_t kPriority = 0x20;

inline constexpr size_t kFrameHeaderBytes = 9;
// What a peer may send in a frame, and we do, where nobody says otherwise.
inline constexpr size_t kMaxFrameBytes = 16384;
// What may be sent before the receiver has said anything.
inline constexpr uint32_t kInitialWindow = 65535;
inline constexpr uint32_t kLargestWindow = (uint32_t{1} << 31) - 1;

struct Http2Frame {
  FrameType type = FrameType::kData;
  uint8_t flags = 0;
  uint32_t stream = 0;
  std::string payload;
};

// Returns a frame's bytes. Cannot fail; `payload` has at most 2^24 - 1 bytes.
std::string EncodeFrame(FrameType type, uint8_t flags, uint32_t stream,
                        absl::string_view payload);

// Takes the first frame from the beginning of `bytes`; absent: it is not whole
// yet. Errors: DATA_LOSS for one that is larger than kMaxFrameBytes.
absl::StatusOr<std::optional<Http2Frame>> TakeFrame(std::string* bytes);

// Returns what a client says first: no dynamic table, no pushes, and as much
// data as the peer likes. Cannot fail.
std::string Http2Preface();

// Returns the payload of a WINDOW_UPDATE, or of an integer of 32 bits. Cannot
// fail.
std::string EncodeUint32(uint32_t value);

// Returns the header block of a gRPC request. `timeout_us` 0: none. Cannot
// fail.
std::string EncodeRequestHeaders(absl::string_view path,
                                 absl::string_view authority,
                                 int64_t timeout_us);

// Returns the fields of a whole header block, by name; what is Huffman-coded
// has an empty value. Errors: DATA_LOSS for what is no header block, or refers
// to a dynamic table.
absl::StatusOr<std::map<std::string, std::string>> DecodeHeaders(
    absl::string_view block);

// Returns what is in a DATA, HEADERS or CONTINUATION frame, without padding and
// priority. Errors: DATA_LOSS.
absl::StatusOr<absl::string_view> ContentOf(const Http2Frame& frame);

// Returns the text of a grpc-message. Cannot fail.
std::string PercentDecoded(absl::string_view text);

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_HTTP2_HTTP2_FRAMES_H_
