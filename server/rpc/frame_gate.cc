#include "server/rpc/frame_gate.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

constexpr absl::string_view kPreface(NGHTTP2_CLIENT_MAGIC,
                                     NGHTTP2_CLIENT_MAGIC_LEN);
constexpr size_t kFrameHeaderBytes = 9;
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

std::string Uint32Bytes(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

uint32_t Uint32At(absl::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<uint8_t>(bytes[i]);
  }
  return value;
}

size_t LengthOf(absl::string_view header) {
  return Uint32At(header) >> 8;  // It has three bytes.
}

uint32_t StreamOf(absl::string_view header) {
  return Uint32At(header.substr(5)) & 0x7fffffff;
}

void AppendFrame(uint8_t type, uint8_t flags, uint32_t stream,
                 absl::string_view payload, std::string* out) {
  const std::string length = Uint32Bytes(static_cast<uint32_t>(payload.size()));
  const std::array<char, 2> kind = {static_cast<char>(type),
                                    static_cast<char>(flags)};
  absl::StrAppend(out, absl::string_view(length).substr(1),
                  absl::string_view(kind.data(), kind.size()),
                  Uint32Bytes(stream), payload);
}

// HPACK (RFC 7541) of what is said here: static entries and literals alone.
void AppendInteger(uint8_t first, uint32_t prefix_bits, size_t value,
                   std::string* out) {
  const size_t most = (size_t{1} << prefix_bits) - 1;
  if (value < most) {
    out->push_back(static_cast<char>(first | value));
    return;
  }
  out->push_back(static_cast<char>(first | most));
  for (value -= most; value >= 128; value >>= 7) {
    out->push_back(static_cast<char>(0x80 | (value & 0x7f)));
  }
  out->push_back(static_cast<char>(value));
}

void AppendText(absl::string_view text, std::string* out) {
  AppendInteger(0, 7, text.size(), out);
  absl::StrAppend(out, text);
}

// A literal that no table keeps; its name is that of a static entry.
void AppendLiteral(size_t name, absl::string_view value, std::string* out) {
  AppendInteger(0, 4, name, out);
  AppendText(value, out);
}

void AppendLiteral(absl::string_view name, absl::string_view value,
                   std::string* out) {
  out->push_back(0);
  AppendText(name, out);
  AppendText(value, out);
}

// Static entries (RFC 7541, appendix A).
constexpr char kMethodPost = '\x83';
constexpr char kSchemeHttp = '\x86';
constexpr char kStatus200 = '\x88';
constexpr size_t kAuthorityName = 1;
constexpr size_t kPathName = 4;
constexpr size_t kContentTypeName = 31;

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

// As gRPC has a text in grpc-message.
std::string PercentEncoded(absl::string_view text) {
  constexpr absl::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      encoded.push_back(c);
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return encoded;
}

// Takes padding, and priority of HEADERS, off a payload. False: it has none
// that is whole.
bool Unpad(uint8_t type, uint8_t flags, absl::string_view* payload) {
  size_t padding = 0;
  if ((flags & NGHTTP2_FLAG_PADDED) != 0) {
    if (payload->empty()) return false;
    padding = static_cast<uint8_t>(payload->front());
    payload->remove_prefix(1);
  }
  if (type == NGHTTP2_HEADERS && (flags & NGHTTP2_FLAG_PRIORITY) != 0) {
    if (payload->size() < 5) return false;
    payload->remove_prefix(5);
  }
  if (padding > payload->size()) return false;
  payload->remove_suffix(padding);
  return true;
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
    const uint32_t id = Uint32At(settings) >> 16;
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
                    Uint32Bytes(static_cast<uint32_t>(value)));
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
    if (bytes->size() < kPreface.size()) return absl::OkStatus();
    if (!absl::ConsumePrefix(bytes, kPreface)) return Wrong("no preface");
    greeted_ = true;
    absl::StrAppend(to_server_, kPreface);
  }
  full_ = false;
  while (bytes->size() >= kFrameHeaderBytes) {
    full_ = told_.size() >= kMostToldBytes;
    if (full_) break;
    const absl::string_view header = bytes->substr(0, kFrameHeaderBytes);
    const size_t length = LengthOf(header);
    if (length > kMostFrameBytes) return Wrong("a frame above 16,384 bytes");
    if (bytes->size() < kFrameHeaderBytes + length) break;
    const Frame frame = {static_cast<uint8_t>(header[3]),
                         static_cast<uint8_t>(header[4]), StreamOf(header),
                         bytes->substr(kFrameHeaderBytes, length)};
    bytes->remove_prefix(kFrameHeaderBytes + length);
    RETURN_IF_ERROR(Take(frame));
  }
  return absl::OkStatus();
}

absl::Status FrameGate::Take(const Frame& frame) {
  if (block_stream_ != 0 &&
      (frame.type != NGHTTP2_CONTINUATION || frame.stream != block_stream_)) {
    return Wrong("another frame within a block of headers");
  }
  switch (frame.type) {
    case NGHTTP2_DATA:
      return TakeData(frame);
    case NGHTTP2_HEADERS:
      return TakeHeaders(frame);
    case NGHTTP2_CONTINUATION:
      if (block_stream_ == 0) return Wrong("CONTINUATION of nothing");
      Owe(PeerShare::kFrameCost);
      return TakeBlock(frame, frame.payload);
    case NGHTTP2_RST_STREAM:
      return TakeReset(frame);
    case NGHTTP2_SETTINGS:
      return TakeSettings(frame);
    case NGHTTP2_PING:
      return TakePing(frame);
    case NGHTTP2_WINDOW_UPDATE:
      return TakeWindow(frame);
    case NGHTTP2_GOAWAY:
      if (frame.stream != 0 || frame.payload.size() < 8) return Wrong("GOAWAY");
      Owe(PeerShare::kFrameCost);
      // Without the text that may follow.
      ToServer(NGHTTP2_GOAWAY, 0, 0, frame.payload.substr(0, 8));
      return absl::OkStatus();
    case NGHTTP2_PUSH_PROMISE:
      return Wrong("PUSH_PROMISE of a client");
    default:  // PRIORITY, and those that are to be ignored (4.1).
      Owe(PeerShare::kFrameCost);
      return absl::OkStatus();
  }
}

absl::Status FrameGate::TakeHeaders(const Frame& frame) {
  absl::string_view fragment = frame.payload;
  if (frame.stream % 2 == 0 ||
      !Unpad(NGHTTP2_HEADERS, frame.flags, &fragment)) {
    return Wrong("HEADERS");
  }
  block_stream_ = frame.stream;
  block_ends_stream_ = (frame.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  block_bytes_ = 0;
  head_ = Head();
  return TakeBlock(frame, fragment);
}

absl::Status FrameGate::TakeBlock(const Frame& frame,
                                  absl::string_view fragment) {
  const bool last = (frame.flags & NGHTTP2_FLAG_END_HEADERS) != 0;
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
  ToServer(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, "");
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
  std::string block = {kMethodPost, kSchemeHttp};
  AppendLiteral(kPathName, head_.path, &block);
  AppendLiteral(kAuthorityName, "localhost", &block);
  AppendLiteral(kContentTypeName, "application/grpc", &block);
  AppendLiteral("te", "trailers", &block);
  if (!head_.timeout.empty()) {
    AppendLiteral("grpc-timeout", head_.timeout, &block);
  }
  calls_.push_back(
      {.stream = stream,
       .peer_ended = peer_ended,
       .sends_many = !options_.sends_many || options_.sends_many(head_.path),
       .prefix_left = kPrefixBytes});
  ToServer(NGHTTP2_HEADERS,
           static_cast<uint8_t>(NGHTTP2_FLAG_END_HEADERS |
                                (peer_ended ? NGHTTP2_FLAG_END_STREAM : 0)),
           stream, block);
}

absl::Status FrameGate::TakeData(const Frame& frame) {
  absl::string_view data = frame.payload;
  if (IsIdle(frame.stream) || !Unpad(NGHTTP2_DATA, frame.flags, &data)) {
    return Wrong("DATA");
  }
  const auto call = Find(frame.stream);
  if (call == calls_.end()) {  // Has ended here; the peer may not know yet.
    Owe(PeerShare::kFrameCost);
    GiveWindow(0, frame.payload.size());
    return absl::OkStatus();
  }
  if (call->peer_ended) return Wrong("DATA after its end");
  call->peer_ended = (frame.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  const size_t padding = frame.payload.size() - data.size();
  GiveWindow(0, padding);
  GiveWindow(frame.stream, padding);
  if (data.empty()) Owe(PeerShare::kFrameCost);
  RETURN_IF_ERROR(FollowMessages(&*call, data));
  if (data.empty() && !call->peer_ended) return absl::OkStatus();
  ToServer(NGHTTP2_DATA, call->peer_ended ? NGHTTP2_FLAG_END_STREAM : 0,
           frame.stream, data);
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

absl::Status FrameGate::TakeReset(const Frame& frame) {
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
  ToServer(NGHTTP2_RST_STREAM, 0, frame.stream, frame.payload);
  return absl::OkStatus();
}

absl::Status FrameGate::TakeSettings(const Frame& frame) {
  Owe(PeerShare::kFrameCost);
  const bool ack = (frame.flags & NGHTTP2_FLAG_ACK) != 0;
  absl::string_view settings = frame.payload;
  if (frame.stream != 0 || settings.size() % kSettingBytes != 0 ||
      (ack && !settings.empty())) {
    return Wrong("SETTINGS");
  }
  if (ack) {
    if (open_settings_ == 0) return absl::OkStatus();
    --open_settings_;
    ToServer(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, "");
    return absl::OkStatus();
  }
  std::string kept;
  for (; !settings.empty(); settings.remove_prefix(kSettingBytes)) {
    const uint32_t id = Uint32At(settings) >> 16;
    const uint32_t value = Uint32At(settings.substr(2));
    const bool legal = id == NGHTTP2_SETTINGS_ENABLE_PUSH ? value <= 1
                       : id == NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE
                           ? value <= NGHTTP2_MAX_WINDOW_SIZE
                       : id == NGHTTP2_SETTINGS_MAX_FRAME_SIZE
                           ? value >= kMostFrameBytes && value < (1u << 24)
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
  ToServer(NGHTTP2_SETTINGS, 0, 0, kept);
  return absl::OkStatus();
}

absl::Status FrameGate::TakePing(const Frame& frame) {
  Owe(PeerShare::kFrameCost);
  if (frame.stream != 0 || frame.payload.size() != 8) return Wrong("PING");
  const bool ack = (frame.flags & NGHTTP2_FLAG_ACK) != 0;
  if (ack && open_pings_ == 0) return absl::OkStatus();
  if (ack) --open_pings_;
  ToServer(NGHTTP2_PING, ack ? NGHTTP2_FLAG_ACK : 0, 0, frame.payload);
  return absl::OkStatus();
}

absl::Status FrameGate::TakeWindow(const Frame& frame) {
  Owe(PeerShare::kFrameCost);
  if ((frame.stream != 0 && IsIdle(frame.stream)) ||
      frame.payload.size() != 4 || (Uint32At(frame.payload) << 1) == 0) {
    return Wrong("WINDOW_UPDATE");
  }
  if (frame.stream != 0 && Find(frame.stream) == calls_.end()) {
    return absl::OkStatus();
  }
  ToServer(NGHTTP2_WINDOW_UPDATE, 0, frame.stream, frame.payload);
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
  const absl::string_view header = server_header_;
  const auto type = static_cast<uint8_t>(header[3]);
  const auto flags = static_cast<uint8_t>(header[4]);
  server_in_frame_ = true;
  server_left_ = LengthOf(header);
  const bool ends_headers = (flags & NGHTTP2_FLAG_END_HEADERS) != 0;
  const bool ends_stream = (flags & NGHTTP2_FLAG_END_STREAM) != 0;
  switch (type) {
    case NGHTTP2_HEADERS:
      server_in_block_ = !ends_headers;
      break;
    case NGHTTP2_CONTINUATION:
      server_in_block_ = !ends_headers;
      return;
    case NGHTTP2_PING:
      if ((flags & NGHTTP2_FLAG_ACK) == 0) ++open_pings_;
      return;
    case NGHTTP2_DATA:
    case NGHTTP2_RST_STREAM:
      break;
    default:
      return;
  }
  options_.share->PayBack(kAnswerPays);
  // A server that has answered resets what the peer has not ended.
  if (type != NGHTTP2_RST_STREAM && !ends_stream) return;
  if (const auto call = Find(StreamOf(header)); call != calls_.end()) {
    End(call);
  }
}

bool FrameGate::InServerSettings() const {
  return server_header_[3] == NGHTTP2_SETTINGS &&
         (server_header_[4] & NGHTTP2_FLAG_ACK) == 0;
}

void FrameGate::EndServerFrame(std::string* to_peer) {
  if (InServerSettings()) {
    ++open_settings_;
    AppendFrame(NGHTTP2_SETTINGS, 0, 0,
                Rewritten(std::exchange(server_settings_, "")), to_peer);
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
  std::string bytes;
  // A connection begins with SETTINGS.
  if (!server_greeted_) AppendFrame(NGHTTP2_SETTINGS, 0, 0, "", &bytes);
  AppendFrame(NGHTTP2_GOAWAY, 0, 0,
              absl::StrCat(Uint32Bytes(last_stream_), Uint32Bytes(code),
                           absl::string_view(error.message().data(),
                                             error.message().size())),
              &bytes);
  return bytes;
}

void FrameGate::Tell(uint8_t type, uint8_t flags, uint32_t stream,
                     absl::string_view payload) {
  AppendFrame(type, flags, stream, payload, &told_);
}

void FrameGate::ToServer(uint8_t type, uint8_t flags, uint32_t stream,
                         absl::string_view payload) {
  AppendFrame(type, flags, stream, payload, to_server_);
}

void FrameGate::Answer(int code, absl::string_view text, bool peer_ended) {
  Owe(PeerShare::kFrameCost);
  std::string block = {kStatus200};
  AppendLiteral(kContentTypeName, "application/grpc", &block);
  AppendLiteral("grpc-status", absl::StrCat(code), &block);
  AppendLiteral("grpc-message", PercentEncoded(text), &block);
  Tell(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM,
       last_stream_, block);
  if (peer_ended) return;
  Tell(NGHTTP2_RST_STREAM, 0, last_stream_, Uint32Bytes(NGHTTP2_NO_ERROR));
}

void FrameGate::Refuse(uint32_t error_code) {
  Owe(PeerShare::kFrameCost);
  Tell(NGHTTP2_RST_STREAM, 0, last_stream_, Uint32Bytes(error_code));
}

void FrameGate::GiveWindow(uint32_t stream, size_t bytes) {
  if (bytes == 0) return;
  Tell(NGHTTP2_WINDOW_UPDATE, 0, stream,
       Uint32Bytes(static_cast<uint32_t>(bytes)));
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
