// What a peer says to the daemon: of any bytes gRPC sees only frames of a
// short list, in order, and the same however the bytes come in pieces.
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "server/rpc/frame_gate.h"
#include "tests/fuzz/require.h"

namespace wavetune {
namespace {

const std::string kServerSettings("\0\0\0\4\0\0\0\0\0", 9);

struct Passed {
  std::string to_server;
  std::string to_peer;
};

// What goes through in pieces of `size`, until the connection is to be ended.
Passed Pass(absl::string_view said, size_t size) {
  PeerShare share;
  FrameGate gate({.share = &share, .judge = [](absl::string_view path) {
                    return std::string(
                        absl::StrContains(path, "Admin") ? "denied" : "");
                  }});
  Passed passed;
  gate.FromServer(kServerSettings, &passed.to_peer);
  absl::Status status;
  while (status.ok() && (!said.empty() || gate.full())) {
    const absl::string_view piece =
        gate.full() ? absl::string_view() : said.substr(0, size);
    said.remove_prefix(piece.size());
    status = gate.FromPeer(piece, &passed.to_server, &passed.to_peer);
    Require(gate.calls() <= FrameGate::kMostCalls, "too many calls at once");
  }
  Require(status.ok() || !status.message().empty(), "no reason is given");
  return passed;
}

// One of what gRPC is written.
void LookAt(uint8_t type, uint32_t stream, absl::string_view payload,
            std::set<uint32_t>* begun) {
  switch (type) {
    case NGHTTP2_HEADERS:
      Require(begun->empty() || stream > *begun->rbegin(), "order of streams");
      Require(absl::StartsWith(payload, "\x83\x86\x04") && payload.size() < 512,
              "a block of another form");
      begun->insert(stream);
      break;
    case NGHTTP2_DATA:
    case NGHTTP2_RST_STREAM:
      Require(begun->count(stream) == 1, "a stream that was not begun");
      break;
    case NGHTTP2_WINDOW_UPDATE:
      Require(stream == 0 || begun->count(stream) == 1, "a window of nothing");
      break;
    default:
      Require((type == NGHTTP2_SETTINGS || type == NGHTTP2_PING ||
               type == NGHTTP2_GOAWAY) &&
                  stream == 0,
              "a frame that is on no list");
  }
}

void LookAtFrames(absl::string_view bytes) {
  if (bytes.empty()) return;
  Require(absl::StartsWith(bytes, NGHTTP2_CLIENT_MAGIC), "no preface");
  bytes.remove_prefix(NGHTTP2_CLIENT_MAGIC_LEN);
  std::set<uint32_t> begun;
  while (!bytes.empty()) {
    Require(bytes.size() >= 9, "half a frame");
    const auto byte = [&bytes](size_t i) {
      return static_cast<uint32_t>(static_cast<uint8_t>(bytes[i]));
    };
    const size_t length = byte(0) << 16 | byte(1) << 8 | byte(2);
    Require(length <= kMaxFrameBytes && bytes.size() >= 9 + length,
            "a frame's length");
    LookAt(static_cast<uint8_t>(byte(3)),
           byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8),
           bytes.substr(9, length), &begun);
    bytes.remove_prefix(9 + length);
  }
}

}  // namespace
}  // namespace wavetune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string said =
      NGHTTP2_CLIENT_MAGIC +
      std::string(reinterpret_cast<const char*>(data), size);
  const wavetune::Passed whole = wavetune::Pass(said, said.size());
  wavetune::LookAtFrames(whole.to_server);
  const wavetune::Passed pieces = wavetune::Pass(said, 3);
  wavetune::Require(whole.to_server == pieces.to_server,
                    "the same whatever the pieces");
  return 0;
}
