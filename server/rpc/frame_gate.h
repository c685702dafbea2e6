// FrameGate: what gRPC gets to see of a peer's HTTP/2.
//
// Why: gRPC leaves bounds to the peer (128 calls count only once SETTINGS are
// acknowledged), and one header can abort the process. Debian's gRPC is mended
// seldom, and a list of its faults is never whole. So no byte of a peer reaches
// it. The peer's frames are read here, header blocks by libnghttp2, and gRPC is
// written others that mean the same:
//
//   - a call begins with one block of literals, of a fixed list of headers,
//     each checked; no reference, no table, no other name;
//   - only frames that are legal where they come are passed on, without
//     padding, priorities and unknown types; acknowledgements only of what was
//     sent;
//   - at most kMostCalls calls run at once, whatever was acknowledged, and so
//     many of all connections of a peer (PeerShare);
//   - a message comes in few frames, and is not compressed: neither a thousand
//     slices of a byte, nor a megabyte that becomes a gigabyte;
//   - a call has as many messages as its method takes: gRPC keeps what nobody
//     is going to read;
//   - who may not call a method is answered here.
//
// Numbers of streams, windows, pings and the answers are gRPC's and the peer's
// own: they pass as they are. gRPC is trusted; its frames are only followed.
//
//   FrameGate gate({.share = &share});
//   RETURN_IF_ERROR(gate.FromPeer(read, &to_server, &to_peer));
//   gate.FromServer(answered, &to_peer);
//
// Thread safety: for one thread. Includes no gRPC.
#ifndef WAVETUNE_SERVER_RPC_FRAME_GATE_H_
#define WAVETUNE_SERVER_RPC_FRAME_GATE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/http2_frames.h"
#include "server/rpc/peer_share.h"

struct nghttp2_hd_inflater;

namespace wavetune {

class FrameGate {
 public:
  // Calls at once on one connection.
  static constexpr size_t kMostCalls = 128;
  // For the headers of a call, decoded, with 32 bytes for each (RFC 9113,
  // 6.5.2).
  static constexpr size_t kMostHeaderBytes = size_t{16} << 10;

  struct Options {
    PeerShare* share = nullptr;  // Outlives the gate.
    // Returns why the peer may not call a method, by its path; empty where it
    // may. Absent: it may call all.
    std::function<std::string(absl::string_view path)> judge;
    // Returns whether a call of a method sends more than one message. Absent:
    // all do.
    std::function<bool(absl::string_view path)> sends_many;
  };

  explicit FrameGate(Options options);
  ~FrameGate();  // Calls that run are counted as given up.
  FrameGate(const FrameGate&) = delete;
  FrameGate& operator=(const FrameGate&) = delete;

  // Takes what the peer has sent; appends what gRPC is to read, and what the
  // peer is to be told. Errors: INVALID_ARGUMENT for bytes that are no HTTP/2,
  // or RESOURCE_EXHAUSTED for those that pass a bound: the connection is to be
  // ended. Both say what was wrong. Memory: `bytes` and a frame at most.
  absl::Status FromPeer(absl::string_view bytes, std::string* to_server,
                        std::string* to_peer);

  // Whether frames of the peer are held that FromPeer("") goes on with, once
  // what it is to be told has been sent.
  bool full() const { return full_; }

  // Takes what gRPC has written; appends what the peer is to be told. Cannot
  // fail.
  void FromServer(absl::string_view bytes, std::string* to_peer);

  // Returns what a peer is told last after an error: a GOAWAY, or nothing where
  // an answer is half written. Cannot fail.
  std::string Goodbye(const absl::Status& error) const;

  // The number of the server's ping that the peer is to answer next; 0 where
  // none waits.
  uint64_t awaited_ping() const {
    return answered_pings_ == asked_pings_ ? 0 : answered_pings_ + 1;
  }

  // Calls that run.
  size_t calls() const { return calls_.size(); }

 private:
  // The message that is being sent within a call.
  struct Call {
    uint32_t stream = 0;
    bool peer_ended = false;
    bool sends_many = true;
    bool sent_one = false;     // Or has begun to.
    uint32_t frames = 0;       // That the message came in so far.
    uint32_t prefix_left = 0;  // In the five bytes before it.
    uint32_t length = 0;
    uint32_t left = 0;  // In the message.
  };
  // What a header block has said.
  struct Head {
    std::string method, path, content_type, timeout, encoding;
    bool has_scheme = false;
    bool regular = false;    // A header that is no pseudo-header was there.
    bool malformed = false;  // RFC 9113, 8.1.1.
    size_t bytes = 0;
  };
  struct FreeInflater {
    void operator()(nghttp2_hd_inflater* inflater) const;
  };

  // Takes whole frames from the beginning.
  absl::Status TakeFrames(absl::string_view* bytes);
  absl::Status Take(const Http2Frame& frame);
  absl::Status TakeHeaders(const Http2Frame& frame);
  absl::Status TakeBlock(const Http2Frame& frame, absl::string_view fragment);
  absl::Status EndBlock();
  void TakeHeader(absl::string_view name, absl::string_view value);
  absl::Status TakeData(const Http2Frame& frame);
  absl::Status FollowMessages(Call* call, absl::string_view data);
  absl::Status TakeReset(const Http2Frame& frame);
  absl::Status TakeSettings(const Http2Frame& frame);
  absl::Status TakePing(const Http2Frame& frame);
  absl::Status TakeWindow(const Http2Frame& frame);
  void BeginCall(bool peer_ended);

  // A frame of the server whose header is whole.
  void BeginServerFrame();
  void EndServerFrame(std::string* to_peer);
  bool InServerSettings() const;
  void SayWhatWasTold(std::string* to_peer);

  // Say something in gRPC's place.
  void ToPeer(FrameType type, uint8_t flags, uint32_t stream,
              absl::string_view payload);
  void Answer(int code, absl::string_view text, bool peer_ended);
  void Refuse(uint32_t error_code);
  // Gives a part of the peer's windows back that gRPC does not see.
  void GiveWindow(uint32_t stream, size_t bytes);
  void ToServer(FrameType type, uint8_t flags, uint32_t stream,
                absl::string_view payload);

  std::vector<Call>::iterator Find(uint32_t stream);
  void End(std::vector<Call>::iterator call);
  bool IsIdle(uint32_t stream) const;
  void Owe(double cost);

  const Options options_;
  const std::unique_ptr<nghttp2_hd_inflater, FreeInflater> inflater_;

  // From the peer.
  bool greeted_ = false;
  std::string held_;  // Less than a frame, unless full_.
  bool full_ = false;
  uint32_t last_stream_ = 0;
  std::vector<Call> calls_;    // By stream.
  uint32_t block_stream_ = 0;  // 0: no header block is open.
  bool block_ends_stream_ = false;
  size_t block_bytes_ = 0;  // As encoded.
  Head head_;
  // Valid while a function of the interface runs.
  std::string* to_server_ = nullptr;

  // From the server.
  std::string server_header_;  // Its frame's.
  size_t server_left_ = 0;     // In the frame's payload.
  bool server_in_frame_ = false;
  bool server_in_block_ = false;
  bool server_greeted_ = false;
  std::string server_settings_;  // Its payload, as far as it came.
  size_t open_settings_ = 0;     // That the peer has not acknowledged.
  uint64_t asked_pings_ = 0;
  uint64_t answered_pings_ = 0;
  std::string told_;  // Waits until the server's frame, or block, is whole.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_FRAME_GATE_H_
