#include "server/rpc/frame_gate.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

constexpr size_t kSettingBytes = 6;
// As encoded: a block of literals is no longer than decoded.
constexpr size_t kMostBlockBytes = 2 * FrameGate::kMostHeaderBytes;
// Of "/package.Service/Method"; ours have some 50.
constexpr size_t kMostPathBytes = 256;
// What may wait to be said, before the next frame is looked at.
constexpr size_t kMostToldBytes = size_t{16} << 10;
constexpr size_t kPrefixBytes = 5;  // Compressed or not, and the length.
// A message's frames: some that are small, as where a window ends, and then one
// for so many bytes: gRPC keeps a slice of 32 bytes for each.
constexpr uint32_t kSmallFrames = 64;
constexpr uint32_t kBytesOfFrame = 256;
// What an answer of the server pays back: the windows that its reader opens.
constexpr double kAnswerPays = 2;
// Codes of gRPC that are answered here.
constexpr int kPermissionDenied = 7;
constexpr int kResourceExhausted = 8;
constexpr int kUnimplemented = 12;

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("it broke HTTP/2 (RFC 9113): ", what));
}

absl::Status TooMuch(absl::string_view what) {
  return absl::ResourceExhaustedError(absl::StrCat("it sent ", what));
}

// "/package.Service/Method".
bool IsPath(absl::string_view path) {
  return path.size() <= kMostPathBytes && absl::StartsWith(path, "/") &&
         std::all_of(path.begin(), path.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '/' || c == '.' || c == '_';
         });
}

// "application/grpc", or with more about the format of messages.
bool IsGrpc(absl::string_view content_type) {
  return absl::ConsumePrefix(&content_type, "application/grpc") &&
         (content_type.empty() || content_type.front() == '+' ||
          content_type.front() == ';');
}

// gRPC's own (PROTOCOL-HTTP2.md): at most eight digits and a unit.
bool IsTimeout(absl::string_view text) {
  return text.size() >= 2 && text.size() <= 9 &&
         absl::StrContains("HMSmun", text.substr(text.size() - 1)) &&
         std::all_of(text.begin(), text.end() - 1,
                     [](unsigned char c) { return absl::ascii_isdigit(c); });
}

nghttp2_hd_inflater* NewInflater() {
  nghttp2_hd_inflater* inflater = nullptr;
  // Fails for lack of memory alone.
  nghttp2_hd_inflate_new(&inflater);
  return inflater;
}

// Sets `*field`, once.
void SetOnce(absl::string_view value, std::string* field, bool* malformed) {
  *malformed = *malformed || !field->empty() || value.empty();
  *field = std::string(value);
}

// What the server says about itself, less what would let the peer send more
// than passes here.
std::string Rewritten(absl::string_view settings) {
  std::string kept;
  for (; settings.size() >= kSettingBytes;
       settings.remove_prefix(kSettingBytes)) {
    const uint32_t id = DecodeUint32(settings) >> 16;
    if (id == NGHTTP2_SETTINGS_HEADER_TABLE_SIZE ||
        id == NGHTTP2_SETTINGS_MAX_FRAME_SIZE ||
        id == NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS ||
        id == NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE) {
      continue;
    }
    absl::StrAppend(&kept, settings.substr(0, kSettingBytes));
  }
  const auto add = [&kept](uint8_t id, size_t value) {
    absl::StrAppend(&kept, std::string({'\0', static_cast<char>(id)}),
                    EncodeUint32(static_cast<uint32_t>(value)));
  };
  add(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, FrameGate::kMostCalls);
  add(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, FrameGate::kMostHeaderBytes);
  return kept;
}

}  // namespace

void FrameGate::FreeInflater::operator()(nghttp2_hd_inflater* inflater) const {
  nghttp2_hd_inflate_del(inflater);
}

FrameGate::FrameGate(Options options)
    : options_(std::move(options)), inflater_(NewInflater()) {}

FrameGate::~FrameGate() {
  while (!calls_.empty()) {
    Owe(PeerShare::kResetCost);
    End(calls_.end() - 1);
  }
}

absl::Status FrameGate::FromPeer(absl::string_view bytes,
                                 std::string* to_server, std::string* to_peer) {
  to_server_ = to_server;
  absl::string_view rest = bytes;
  if (!held_.empty()) {
    absl::StrAppend(&held_, bytes);
    rest = held_;
  }
  const absl::Status status = TakeFrames(&rest);
  to_server_ = nullptr;
  if (held_.empty() || rest.size() < held_.size()) {
    std::string(rest).swap(held_);  // Its memory, too.
  }
  SayWhatWasTold(to_peer);
  return status;
}

absl::Status FrameGate::TakeFrames(absl::string_view* bytes) {
  if (!greeted_) {
    if (bytes->size() < kHttp2Opening.size()) return absl::OkStatus();
    if (!absl::ConsumePrefix(bytes, kHttp2Opening)) return Wrong("no preface");
    greeted_ = true;
    absl::StrAppend(to_server_, kHttp2Opening);
  }
  for (;;) {
    full_ = told_.size() >= kMostToldBytes;
    if (full_) return absl::OkStatus();
    const auto frame = TakeFrame(bytes);
    if (!frame.ok()) return Wrong("a frame above 16,384 bytes");
    if (!*frame) return absl::OkStatus();
    RETURN_IF_ERROR(Take(**frame));
  }
}

absl::Status FrameGate::Take(const Http2Frame& frame) {
  if (block_stream_ != 0 && (frame.type != FrameType::kContinuation ||
                             frame.stream != block_stream_)) {
    return Wrong("another frame within a block of headers");
  }
  switch (frame.type) {
    case FrameType::kData:
      return TakeData(frame);
    case FrameType::kHeaders:
      return TakeHeaders(frame);
    case FrameType::kContinuation:
      if (block_stream_ == 0) return Wrong("CONTINUATION of nothing");
      Owe(PeerShare::kFrameCost);
      return TakeBlock(frame, frame.payload);
    case FrameType::kRstStream:
      return TakeReset(frame);
    case FrameType::kSettings:
      return TakeSettings(frame);
    case FrameType::kPing:
      return TakePing(frame);
    case FrameType::kWindowUpdate:
      return TakeWindow(frame);
    case FrameType::kGoAway:
      if (frame.stream != 0 || frame.payload.size() < 8) return Wrong("GOAWAY");
      Owe(PeerShare::kFrameCost);
      // Without the text that may follow.
      ToServer(FrameType::kGoAway, 0, 0, frame.payload.substr(0, 8));
      return absl::OkStatus();
    case FrameType::kPushPromise:
      return Wrong("PUSH_PROMISE of a client");
    default:  // PRIORITY, and those that are to be ignored (4.1).
      Owe(PeerShare::kFrameCost);
      return absl::OkStatus();
  }
}

absl::Status FrameGate::TakeHeaders(const Http2Frame& frame) {
  const auto fragment = ContentOf(frame);
  if (frame.stream % 2 == 0 || !fragment.ok()) return Wrong("HEADERS");
  block_stream_ = frame.stream;
  block_ends_stream_ = frame.Has(kEndStream);
  block_bytes_ = 0;
  head_ = Head();
  return TakeBlock(frame, *fragment);
}

absl::Status FrameGate::TakeBlock(const Http2Frame& frame,
                                  absl::string_view fragment) {
  const bool last = frame.Has(kEndHeaders);
  block_bytes_ += fragment.size();
  if (block_bytes_ > kMostBlockBytes) return TooMuch("headers without end");
  for (;;) {
    nghttp2_nv header{};
    int flags = 0;
    const ssize_t used = nghttp2_hd_inflate_hd2(
        inflater_.get(), &header, &flags,
        reinterpret_cast<const uint8_t*>(fragment.data()), fragment.size(),
        last ? 1 : 0);
    if (used < 0) return Wrong("a block of headers that cannot be decoded");
    fragment.remove_prefix(static_cast<size_t>(used));
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      TakeHeader(
          {reinterpret_cast<const char*>(header.name), header.namelen},
          {reinterpret_cast<const char*>(header.value), header.valuelen});
      if (head_.bytes > kMostHeaderBytes) {
        return TooMuch("more than 16 KiB of headers with one call");
      }
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0 || used > 0) continue;
    return last ? Wrong("a block of headers that is cut") : absl::OkStatus();
  }
  nghttp2_hd_inflate_end_headers(inflater_.get());
  return EndBlock();
}

void FrameGate::TakeHeader(absl::string_view name, absl::string_view value) {
  head_.bytes += name.size() + value.size() + 32;
  bool* const malformed = &head_.malformed;
  if (absl::StartsWith(name, ":")) {
    *malformed = *malformed || head_.regular;
    if (name == ":method") {
      SetOnce(value, &head_.method, malformed);
    } else if (name == ":path") {
      SetOnce(value, &head_.path, malformed);
    } else if (name == ":scheme") {
      *malformed = *malformed || head_.has_scheme ||
                   (value != "http" && value != "https");
      head_.has_scheme = true;
    } else if (name != ":authority") {
      *malformed = true;
    }
    return;
  }
  head_.regular = true;
  // All others end here: no service of ours has any.
  if (name == "content-type") {
    SetOnce(value, &head_.content_type, malformed);
  } else if (name == "grpc-timeout") {
    SetOnce(value, &head_.timeout, malformed);
  } else if (name == "grpc-encoding") {
    SetOnce(value, &head_.encoding, malformed);
  } else if (name == "te") {
    *malformed = *malformed || value != "trailers";
  }
}

absl::Status FrameGate::EndBlock() {
  const uint32_t stream = block_stream_;
  block_stream_ = 0;
  if (stream > last_stream_) {
    last_stream_ = stream;
    BeginCall(block_ends_stream_);
    return absl::OkStatus();
  }
  const auto call = Find(stream);
  if (call == calls_.end()) {  // Of one that has ended here.
    Owe(PeerShare::kFrameCost);
    return absl::OkStatus();
  }
  // Trailers: of them only that nothing follows.
  if (!block_ends_stream_ || call->peer_ended) {
    return Wrong("a second HEADERS of a stream");
  }
  call->peer_ended = true;
  ToServer(FrameType::kData, kEndStream, stream, "");
  return absl::OkStatus();
}

void FrameGate::BeginCall(bool peer_ended) {
  const uint32_t stream = last_stream_;
  if (head_.malformed || head_.method != "POST" || !head_.has_scheme ||
      !absl::StartsWith(head_.path, "/") || !IsGrpc(head_.content_type) ||
      (!head_.timeout.empty() && !IsTimeout(head_.timeout))) {
    Refuse(NGHTTP2_PROTOCOL_ERROR);
    return;
  }
  if (calls_.size() >= kMostCalls) {
    Refuse(NGHTTP2_REFUSED_STREAM);
    return;
  }
  if (options_.judge) {
    const std::string why = options_.judge(head_.path);
    if (!why.empty()) return Answer(kPermissionDenied, why, peer_ended);
  }
  if (!IsPath(head_.path)) {
    return Answer(kUnimplemented, "there is no such method", peer_ended);
  }
  if (!head_.encoding.empty() && head_.encoding != "identity") {
    return Answer(kUnimplemented,
                  "messages are taken as they are: do not "
                  "compress them (grpc-encoding)",
                  peer_ended);
  }
  if (!options_.share->BeginCall()) {
    return Answer(
        kResourceExhausted,
        absl::StrCat("this user or address has ", PeerShare::kMostCalls,
                     " calls open on this daemon: end some, then try again"),
        peer_ended);
  }
  calls_.push_back(
      {.stream = stream,
       .peer_ended = peer_ended,
       .sends_many = !options_.sends_many || options_.sends_many(head_.path),
       .prefix_left = kPrefixBytes});
  ToServer(FrameType::kHeaders,
           static_cast<uint8_t>(kEndHeaders | (peer_ended ? kEndStream : 0)),
           stream,
           EncodeRequestHeaders(head_.path, "localhost", head_.timeout));
}

absl::Status FrameGate::TakeData(const Http2Frame& frame) {
  const auto content = ContentOf(frame);
  if (IsIdle(frame.stream) || !content.ok()) return Wrong("DATA");
  const auto call = Find(frame.stream);
  if (call == calls_.end()) {  // Has ended here; the peer may not know yet.
    Owe(PeerShare::kFrameCost);
    GiveWindow(0, frame.payload.size());
    return absl::OkStatus();
  }
  if (call->peer_ended) return Wrong("DATA after its end");
  call->peer_ended = frame.Has(kEndStream);
  const absl::string_view data = *content;
  const size_t padding = frame.payload.size() - data.size();
  GiveWindow(0, padding);
  GiveWindow(frame.stream, padding);
  if (data.empty()) Owe(PeerShare::kFrameCost);
  RETURN_IF_ERROR(FollowMessages(&*call, data));
  if (data.empty() && !call->peer_ended) return absl::OkStatus();
  ToServer(FrameType::kData, call->peer_ended ? kEndStream : 0, frame.stream,
           data);
  return absl::OkStatus();
}

absl::Status FrameGate::FollowMessages(Call* call, absl::string_view data) {
  ++call->frames;
  while (!data.empty()) {
    if (call->prefix_left > 0) {
      const auto byte = static_cast<uint8_t>(data.front());
      data.remove_prefix(1);
      if (call->prefix_left == kPrefixBytes) {
        if (byte != 0) return TooMuch("a compressed message");
        if (call->sent_one && !call->sends_many) {
          return TooMuch("a second message with a call that takes one");
        }
        call->sent_one = true;
        call->length = 0;
      } else {
        call->length = call->length << 8 | byte;
      }
      if (--call->prefix_left > 0) continue;
      call->left = call->length;
    } else {
      const auto part =
          static_cast<uint32_t>(std::min<size_t>(data.size(), call->left));
      data.remove_prefix(part);
      call->left -= part;
    }
    if (call->prefix_left == 0 && call->left == 0) {
      call->prefix_left = kPrefixBytes;
      call->frames = data.empty() ? 0 : 1;
    }
  }
  const uint32_t taken = call->length - call->left;
  if (call->frames > kSmallFrames + taken / kBytesOfFrame) {
    return TooMuch("a message in a great many small frames");
  }
  return absl::OkStatus();
}

absl::Status FrameGate::TakeReset(const Http2Frame& frame) {
  if (IsIdle(frame.stream) || frame.payload.size() != 4) {
    return Wrong("RST_STREAM");
  }
  const auto call = Find(frame.stream);
  if (call == calls_.end()) {
    Owe(PeerShare::kFrameCost);
    return absl::OkStatus();
  }
  Owe(PeerShare::kResetCost);
  End(call);
  ToServer(FrameType::kRstStream, 0, frame.stream, frame.payload);
  return absl::OkStatus();
}

absl::Status FrameGate::TakeSettings(const Http2Frame& frame) {
  Owe(PeerShare::kFrameCost);
  const bool ack = frame.Has(kAck);
  absl::string_view settings = frame.payload;
  if (frame.stream != 0 || settings.size() % kSettingBytes != 0 ||
      (ack && !settings.empty())) {
    return Wrong("SETTINGS");
  }
  if (ack) {
    if (open_settings_ == 0) return absl::OkStatus();
    --open_settings_;
    ToServer(FrameType::kSettings, kAck, 0, "");
    return absl::OkStatus();
  }
  std::string kept;
  for (; !settings.empty(); settings.remove_prefix(kSettingBytes)) {
    const uint32_t id = DecodeUint32(settings) >> 16;
    const uint32_t value = DecodeUint32(settings.substr(2));
    const bool legal = id == NGHTTP2_SETTINGS_ENABLE_PUSH ? value <= 1
                       : id == NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE
                           ? value <= kLargestWindow
                       : id == NGHTTP2_SETTINGS_MAX_FRAME_SIZE
                           ? value >= kMaxFrameBytes && value < (1u << 24)
                           : true;
    if (!legal) return Wrong("a value of SETTINGS");
    // What concerns what the server sends: no unknown ones, which gRPC has.
    if (id != NGHTTP2_SETTINGS_HEADER_TABLE_SIZE &&
        id != NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE &&
        id != NGHTTP2_SETTINGS_MAX_FRAME_SIZE &&
        id != NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE) {
      continue;
    }
    absl::StrAppend(&kept, settings.substr(0, kSettingBytes));
  }
  ToServer(FrameType::kSettings, 0, 0, kept);
  return absl::OkStatus();
}

absl::Status FrameGate::TakePing(const Http2Frame& frame) {
  Owe(PeerShare::kFrameCost);
  if (frame.stream != 0 || frame.payload.size() != 8) return Wrong("PING");
  const bool ack = frame.Has(kAck);
  if (ack && awaited_ping() == 0) return absl::OkStatus();
  if (ack) ++answered_pings_;
  ToServer(FrameType::kPing, ack ? kAck : 0, 0, frame.payload);
  return absl::OkStatus();
}

absl::Status FrameGate::TakeWindow(const Http2Frame& frame) {
  Owe(PeerShare::kFrameCost);
  if ((frame.stream != 0 && IsIdle(frame.stream)) ||
      frame.payload.size() != 4 || (DecodeUint32(frame.payload) << 1) == 0) {
    return Wrong("WINDOW_UPDATE");
  }
  if (frame.stream != 0 && Find(frame.stream) == calls_.end()) {
    return absl::OkStatus();
  }
  ToServer(FrameType::kWindowUpdate, 0, frame.stream, frame.payload);
  return absl::OkStatus();
}

void FrameGate::FromServer(absl::string_view bytes, std::string* to_peer) {
  while (!bytes.empty()) {
    if (!server_in_frame_) {
      const size_t part =
          std::min(bytes.size(), kFrameHeaderBytes - server_header_.size());
      absl::StrAppend(&server_header_, bytes.substr(0, part));
      bytes.remove_prefix(part);
      if (server_header_.size() < kFrameHeaderBytes) return;
      BeginServerFrame();
      if (!InServerSettings()) absl::StrAppend(to_peer, server_header_);
    }
    const size_t part = std::min(bytes.size(), server_left_);
    // Passed on when they are whole.
    std::string* const to = InServerSettings() ? &server_settings_ : to_peer;
    absl::StrAppend(to, bytes.substr(0, part));
    bytes.remove_prefix(part);
    server_left_ -= part;
    if (server_left_ == 0) EndServerFrame(to_peer);
  }
}

void FrameGate::BeginServerFrame() {
  const Http2Frame frame = DecodeFrameHeader(server_header_);
  server_in_frame_ = true;
  server_left_ = frame.size;
  switch (frame.type) {
    case FrameType::kHeaders:
      server_in_block_ = !frame.Has(kEndHeaders);
      break;
    case FrameType::kContinuation:
      server_in_block_ = !frame.Has(kEndHeaders);
      return;
    case FrameType::kPing:
      if (!frame.Has(kAck)) ++asked_pings_;
      return;
    case FrameType::kData:
    case FrameType::kRstStream:
      break;
    default:
      return;
  }
  options_.share->PayBack(kAnswerPays);
  // A server that has answered resets what the peer has not ended.
  if (frame.type != FrameType::kRstStream && !frame.Has(kEndStream)) return;
  if (const auto call = Find(frame.stream); call != calls_.end()) {
    End(call);
  }
}

bool FrameGate::InServerSettings() const {
  const Http2Frame frame = DecodeFrameHeader(server_header_);
  return frame.type == FrameType::kSettings && !frame.Has(kAck);
}

void FrameGate::EndServerFrame(std::string* to_peer) {
  if (InServerSettings()) {
    ++open_settings_;
    absl::StrAppend(
        to_peer, EncodeFrame(FrameType::kSettings, 0, 0,
                             Rewritten(std::exchange(server_settings_, ""))));
    server_greeted_ = true;
  }
  server_header_.clear();
  server_in_frame_ = false;
  SayWhatWasTold(to_peer);
}

void FrameGate::SayWhatWasTold(std::string* to_peer) {
  if (!server_greeted_ || server_in_frame_ || server_in_block_) return;
  absl::StrAppend(to_peer, told_);
  std::string().swap(told_);
}

std::string FrameGate::Goodbye(const absl::Status& error) const {
  if (server_in_frame_ || server_in_block_) return "";
  const uint32_t code = absl::IsResourceExhausted(error)
                            ? NGHTTP2_ENHANCE_YOUR_CALM
                            : NGHTTP2_PROTOCOL_ERROR;
  // A connection begins with SETTINGS.
  return absl::StrCat(
      server_greeted_ ? "" : EncodeFrame(FrameType::kSettings, 0, 0, ""),
      EncodeFrame(FrameType::kGoAway, 0, 0,
                  absl::StrCat(EncodeUint32(last_stream_), EncodeUint32(code),
                               absl::string_view(error.message().data(),
                                                 error.message().size()))));
}

void FrameGate::ToPeer(FrameType type, uint8_t flags, uint32_t stream,
                       absl::string_view payload) {
  absl::StrAppend(&told_, EncodeFrame(type, flags, stream, payload));
}

void FrameGate::ToServer(FrameType type, uint8_t flags, uint32_t stream,
                         absl::string_view payload) {
  absl::StrAppend(to_server_, EncodeFrame(type, flags, stream, payload));
}

void FrameGate::Answer(int code, absl::string_view text, bool peer_ended) {
  Owe(PeerShare::kFrameCost);
  ToPeer(FrameType::kHeaders, kEndHeaders | kEndStream, last_stream_,
         EncodeStatusHeaders(code, text));
  if (peer_ended) return;
  ToPeer(FrameType::kRstStream, 0, last_stream_,
         EncodeUint32(NGHTTP2_NO_ERROR));
}

void FrameGate::Refuse(uint32_t error_code) {
  Owe(PeerShare::kFrameCost);
  ToPeer(FrameType::kRstStream, 0, last_stream_, EncodeUint32(error_code));
}

void FrameGate::GiveWindow(uint32_t stream, size_t bytes) {
  if (bytes == 0) return;
  ToPeer(FrameType::kWindowUpdate, 0, stream,
         EncodeUint32(static_cast<uint32_t>(bytes)));
}

std::vector<FrameGate::Call>::iterator FrameGate::Find(uint32_t stream) {
  const auto at = std::lower_bound(
      calls_.begin(), calls_.end(), stream,
      [](const Call& call, uint32_t number) { return call.stream < number; });
  return at != calls_.end() && at->stream == stream ? at : calls_.end();
}

void FrameGate::End(std::vector<Call>::iterator call) {
  calls_.erase(call);
  options_.share->EndCall();
}

bool FrameGate::IsIdle(uint32_t stream) const {
  return stream % 2 == 0 || stream > last_stream_;
}

void FrameGate::Owe(double cost) { options_.share->Owe(cost); }

}  // namespace wavetune
