// The part of HTTP/2 (RFC 9113) and HPACK (RFC 7541) that a gRPC call takes, as
// pure functions on bytes. Who reads headers with it tells its peer to keep no
// dynamic table (Http2Preface does).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_BASE_HTTP2_FRAMES_H_
#define WAVETUNE_BASE_HTTP2_FRAMES_H_

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
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};

inline constexpr uint8_t kEndStream = 0x1;  // On DATA and HEADERS.
inline constexpr uint8_t kAck = 0x1;        // On SETTINGS and PING.
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
  bool Has(uint8_t flag) const { return (flags & flag) != 0; }

  FrameType type = FrameType::kData;
  uint8_t flags = 0;
  uint32_t stream = 0;
  size_t size = 0;  // The payload's.
  absl::string_view payload = {};
};

// Returns a frame's bytes. Cannot fail; `payload` has at most 2^24 - 1 bytes.
std::string EncodeFrame(FrameType type, uint8_t flags, uint32_t stream,
                        absl::string_view payload);

// Returns a frame without its payload, from kFrameHeaderBytes bytes or more.
// Cannot fail.
Http2Frame DecodeFrameHeader(absl::string_view bytes);

// Takes the first frame from the beginning of `bytes`; absent: it is not whole
// yet. Errors: DATA_LOSS for one that is larger than kMaxFrameBytes.
absl::StatusOr<std::optional<Http2Frame>> TakeFrame(absl::string_view* bytes);

// What a client says first (RFC 9113, 3.4).
inline constexpr absl::string_view kHttp2Opening =
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Returns what a client says first: no dynamic table, no pushes, and as much
// data as the peer likes. Cannot fail.
std::string Http2Preface();

// Returns the payload of a WINDOW_UPDATE, or of an integer of 32 bits. Cannot
// fail.
std::string EncodeUint32(uint32_t value);

// Returns the integer that four bytes or more begin with. Cannot fail.
uint32_t DecodeUint32(absl::string_view bytes);

// Returns the header block of a gRPC request. `timeout` as gRPC writes it;
// empty: none. Cannot fail.
std::string EncodeRequestHeaders(absl::string_view path,
                                 absl::string_view authority,
                                 absl::string_view timeout);

// Returns the header block of a gRPC answer that is a status alone. Cannot
// fail.
std::string EncodeStatusHeaders(int code, absl::string_view message);

// Returns the fields of a whole header block that are no standard ones, which
// gRPC's are not, by name; a Huffman-coded one has an empty value. Errors:
// DATA_LOSS for bytes that are no header block, or refer to a dynamic table.
absl::StatusOr<std::map<std::string, std::string>> DecodeHeaders(
    absl::string_view block);

// Returns the content of a DATA, HEADERS or CONTINUATION frame, without padding
// and priority. Errors: DATA_LOSS.
absl::StatusOr<absl::string_view> ContentOf(const Http2Frame& frame);

// Return the text of a grpc-message, and the reverse. Cannot fail.
std::string PercentEncoded(absl::string_view text);
std::string PercentDecoded(absl::string_view text);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_HTTP2_FRAMES_H_
