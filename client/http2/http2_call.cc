#include "client/http2/http2_call.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

constexpr uint32_t kStream = 1;  // The only one of a connection.
// When the peer's window is filled up again: long before it is empty.
constexpr size_t kWindowStep = size_t{1} << 28;
constexpr size_t kMessagePrefix = 5;  // Compressed or not; the length.
constexpr int64_t kPauseMs = 2;       // Between two attempts to connect.
constexpr size_t kChunkBytes = size_t{64} << 10;
// gRPC's codes have the numbers of absl::StatusCode.
constexpr int kLastCode = static_cast<int>(absl::StatusCode::kUnauthenticated);

int64_t SteadyNowUs() { return SystemClock().SteadyNow().count(); }

}  // namespace

Http2Call::Http2Call(std::string endpoint)
    : endpoint_(std::move(endpoint)), cancel_(::eventfd(0, EFD_CLOEXEC)) {}

Http2Call::~Http2Call() {
  if (socket_ >= 0) ::close(socket_);
  if (cancel_ >= 0) ::close(cancel_);
}

void Http2Call::Cancel() {
  const uint64_t one = 1;
  (void)!::write(cancel_, &one, sizeof(one));
}

absl::Status Http2Call::Unreachable(absl::string_view what) const {
  return absl::UnavailableError(absl::StrCat("cannot reach ", endpoint_, ": ",
                                             what, ": ", std::strerror(errno)));
}

absl::Status Http2Call::Await(short events) {  // NOLINT: poll's type.
  const bool pauses = events == 0;
  for (;;) {
    int64_t wait_ms = pauses ? kPauseMs : -1;
    if (deadline_us_) {
      const int64_t left_us = *deadline_us_ - SteadyNowUs();
      if (left_us <= 0) {
        return absl::DeadlineExceededError(
            absl::StrCat(endpoint_, " did not answer in time"));
      }
      if (!pauses) wait_ms = left_us / 1000 + 1;
    }
    std::array<pollfd, 2> polled = {
        {{.fd = cancel_, .events = POLLIN}, {.fd = socket_, .events = events}}};
    const int ready =
        ::poll(polled.data(), pauses ? 1 : 2, static_cast<int>(wait_ms));
    if (ready < 0 && errno != EINTR) return Unreachable("poll");
    if (ready > 0 && polled[0].revents != 0)
      return absl::CancelledError("cancelled");
    if (ready > 0 || (ready == 0 && pauses)) return absl::OkStatus();
  }
}

absl::Status Http2Call::Connect() {
  if (cancel_ < 0) return Unreachable("eventfd");
  absl::string_view path = endpoint_;
  if (!absl::ConsumePrefix(&path, "unix:")) {
    // As a daemon that is not there: a cache or a file may still serve.
    return absl::UnavailableError(absl::StrCat(
        "a process that was forked while its parent used gRPC reaches a daemon "
        "by its unix socket alone, not ",
        endpoint_,
        ": give it unix:/path, or start it anew (\"spawn\" in place of "
        "\"fork\")"));
  }
  absl::ConsumePrefix(&path, "//");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the socket's path ", path, " is too long"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) return Unreachable("socket");
  while (::connect(socket_, reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)) != 0) {
    // EAGAIN: many connect at once; the daemon takes one after the other.
    if (errno != EAGAIN && errno != EINTR) return Unreachable("connect");
    RETURN_IF_ERROR(Await(0));
  }
  return absl::OkStatus();
}

absl::Status Http2Call::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      RETURN_IF_ERROR(Await(POLLOUT));
    } else if (errno != EINTR) {
      return Unreachable("send");
    }
  }
  return absl::OkStatus();
}

absl::Status Http2Call::SendRequest(const std::string& path,
                                    const std::string& request,
                                    int64_t timeout_us) {
  if (request.size() + kMessagePrefix > kInitialWindow) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a request of ", request.size(),
                     " bytes is too large for a forked process"));
  }
  std::string body(1, '\0');  // Not compressed.
  absl::StrAppend(&body, EncodeUint32(static_cast<uint32_t>(request.size())),
                  request);
  // Of at most eight digits: milliseconds last for a day.
  const std::string timeout =
      timeout_us > 0 ? absl::StrCat(timeout_us / 1000 + 1, "m") : "";
  std::string bytes = absl::StrCat(
      Http2Preface(),
      EncodeFrame(FrameType::kHeaders, kEndHeaders, kStream,
                  EncodeRequestHeaders(path, "localhost", timeout)));
  absl::string_view rest = body;
  while (!rest.empty()) {
    const absl::string_view part = rest.substr(0, kMaxFrameBytes);
    rest.remove_prefix(part.size());
    absl::StrAppend(&bytes,
                    EncodeFrame(FrameType::kData, rest.empty() ? kEndStream : 0,
                                kStream, part));
  }
  return Send(bytes);
}

absl::Status Http2Call::Receive() {
  std::string chunk(kChunkBytes, '\0');
  for (;;) {
    const ssize_t count = ::recv(socket_, chunk.data(), chunk.size(), 0);
    if (count > 0) {
      received_.append(chunk, 0, static_cast<size_t>(count));
      return absl::OkStatus();
    }
    if (count == 0) {
      return absl::UnavailableError(
          absl::StrCat(endpoint_, " closed the connection"));
    }
    if (errno == EAGAIN) {
      RETURN_IF_ERROR(Await(POLLIN));
    } else if (errno != EINTR) {
      return Unreachable("receive");
    }
  }
}

absl::Status Http2Call::Run(const std::string& path, const std::string& request,
                            int64_t timeout_us, const OnMessage& on_message) {
  if (timeout_us > 0) deadline_us_ = SteadyNowUs() + timeout_us;
  RETURN_IF_ERROR(Connect());
  RETURN_IF_ERROR(SendRequest(path, request, timeout_us));
  while (!ended_ && wanted_) {
    RETURN_IF_ERROR(Receive());
    RETURN_IF_ERROR(TakeFrames(on_message));
  }
  return wanted_ ? Outcome() : absl::CancelledError("not wanted any longer");
}

absl::Status Http2Call::TakeFrames(const OnMessage& on_message) {
  absl::string_view rest = received_;
  while (!ended_ && wanted_) {
    ASSIGN_OR_RETURN(const std::optional<Http2Frame> frame, TakeFrame(&rest));
    if (!frame) break;
    RETURN_IF_ERROR(Take(*frame, on_message));
  }
  received_.erase(0, received_.size() - rest.size());
  return absl::OkStatus();
}

absl::Status Http2Call::Take(const Http2Frame& frame,
                             const OnMessage& on_message) {
  const bool ack = frame.Has(kAck);
  switch (frame.type) {
    case FrameType::kData:
      return TakeData(frame, on_message);
    case FrameType::kHeaders:
    case FrameType::kContinuation:
      return TakeHeaders(frame);
    case FrameType::kSettings:
      return ack ? absl::OkStatus()
                 : Send(EncodeFrame(FrameType::kSettings, kAck, 0, ""));
    case FrameType::kPing:
      return ack ? absl::OkStatus()
                 : Send(EncodeFrame(FrameType::kPing, kAck, 0, frame.payload));
    case FrameType::kRstStream:
      return absl::UnavailableError(absl::StrCat(endpoint_, " ended the call"));
    case FrameType::kGoAway:
      // What was begun before may go on: the last stream that it takes.
      if (frame.payload.size() >= 4 &&
          frame.payload.substr(0, 4) != absl::string_view("\0\0\0\0", 4)) {
        return absl::OkStatus();
      }
      return absl::UnavailableError(absl::StrCat(endpoint_, " takes no calls"));
    default:
      return absl::OkStatus();  // RFC 9113, 4.1: ignore unknown ones.
  }
}

absl::Status Http2Call::TakeHeaders(const Http2Frame& frame) {
  ASSIGN_OR_RETURN(const absl::string_view part, ContentOf(frame));
  absl::StrAppend(&block_, part);
  if (block_.size() > kMaxMessageBytes)
    return absl::DataLossError("the daemon's headers have no end");
  if (frame.type == FrameType::kHeaders)
    ended_ = ended_ || frame.Has(kEndStream);
  if (!frame.Has(kEndHeaders)) {
    ended_ = false;  // Before its headers are whole.
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(auto fields, DecodeHeaders(block_));
  block_.clear();
  for (auto& [name, value] : fields) fields_[name] = std::move(value);
  // Trailers may come in several frames: these carry the status.
  ended_ = ended_ || fields_.count("grpc-status") != 0;
  return absl::OkStatus();
}

absl::Status Http2Call::GiveWindow(size_t bytes) {
  taken_ += bytes;
  if (taken_ < kWindowStep) return absl::OkStatus();
  const std::string more = EncodeUint32(static_cast<uint32_t>(taken_));
  taken_ = 0;
  return Send(
      absl::StrCat(EncodeFrame(FrameType::kWindowUpdate, 0, 0, more),
                   EncodeFrame(FrameType::kWindowUpdate, 0, kStream, more)));
}

absl::Status Http2Call::TakeData(const Http2Frame& frame,
                                 const OnMessage& on_message) {
  ASSIGN_OR_RETURN(const absl::string_view data, ContentOf(frame));
  absl::StrAppend(&body_, data);
  RETURN_IF_ERROR(GiveWindow(frame.payload.size()));
  size_t begin = 0;
  while (wanted_ && body_.size() - begin >= kMessagePrefix) {
    size_t size = 0;
    for (size_t i = 1; i < kMessagePrefix; ++i)
      size = size << 8 | static_cast<uint8_t>(body_[begin + i]);
    if (body_[begin] != 0 || size > kMaxMessageBytes) {
      return absl::DataLossError(
          "the daemon's answer is compressed, or larger than any table");
    }
    if (body_.size() - begin < kMessagePrefix + size) break;
    wanted_ = on_message(
        absl::string_view(body_).substr(begin + kMessagePrefix, size));
    begin += kMessagePrefix + size;
  }
  body_.erase(0, begin);
  ended_ = ended_ || frame.Has(kEndStream);
  return absl::OkStatus();
}

absl::Status Http2Call::Outcome() const {
  const auto status = fields_.find("grpc-status");
  int code = 0;
  if (status == fields_.end() || !absl::SimpleAtoi(status->second, &code) ||
      code < 0 || code > kLastCode) {
    return absl::UnavailableError(
        absl::StrCat(endpoint_, " ended the call without a status"));
  }
  const auto message = fields_.find("grpc-message");
  return absl::Status(
      static_cast<absl::StatusCode>(code),
      message == fields_.end() ? "" : PercentDecoded(message->second));
}

}  // namespace wavetune
