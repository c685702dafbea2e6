#include "profiler_agent/worker/frame.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler_agent/worker/starved_time.h"

namespace wavetune {
namespace {

// Less is what any process waits for a core.
constexpr std::chrono::milliseconds kLeastStarved(10);

// Waits until `fd` is ready for `events`.
absl::Status Await(int fd, int16_t events, const FrameDeadline& deadline) {
  for (;;) {
    int timeout_ms = -1;
    if (deadline.has_value()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
          *deadline - SystemClock().SteadyNow());
      if (left.count() <= 0) return absl::DeadlineExceededError("no answer");
      timeout_ms = static_cast<int>(std::min<int64_t>(left.count(), 1 << 30));
    }
    pollfd waiting = {.fd = fd, .events = events, .revents = 0};
    const int ready = poll(&waiting, 1, timeout_ms);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) {
      return absl::UnavailableError(
          absl::StrCat("polling the pipe: ", std::strerror(errno)));
    }
  }
}

absl::Status WriteAll(int fd, absl::string_view bytes,
                      const FrameDeadline& deadline) {
  while (!bytes.empty()) {
    RETURN_IF_ERROR(Await(fd, POLLOUT, deadline));
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR && errno != EAGAIN) {
      return absl::UnavailableError(
          absl::StrCat("writing to the pipe: ", std::strerror(errno)));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadAll(int fd, char* bytes, size_t size,
                     const FrameDeadline& deadline) {
  while (size > 0) {
    RETURN_IF_ERROR(Await(fd, POLLIN, deadline));
    const ssize_t got = read(fd, bytes, size);
    if (got == 0) return absl::OutOfRangeError("the pipe was closed");
    if (got > 0) {
      bytes += got;
      size -= static_cast<size_t>(got);
    } else if (errno != EINTR && errno != EAGAIN) {
      return absl::OutOfRangeError(
          absl::StrCat("reading from the pipe: ", std::strerror(errno)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteFrame(int fd, absl::string_view payload,
                        FrameDeadline deadline) {
  if (payload.size() > kMaxFrameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", payload.size(),
                     " bytes is above the limit of ", kMaxFrameBytes));
  }
  std::string frame;
  frame.reserve(payload.size() + 4);
  for (int shift = 0; shift < 32; shift += 8) {
    frame.push_back(static_cast<char>(payload.size() >> shift & 0xff));
  }
  frame.append(payload.data(), payload.size());
  return WriteAll(fd, frame, deadline);
}

absl::StatusOr<std::string> ReadFrame(int fd, FrameDeadline deadline) {
  std::array<unsigned char, 4> header = {};
  RETURN_IF_ERROR(ReadAll(fd, reinterpret_cast<char*>(header.data()),
                          header.size(), deadline));
  const size_t size = size_t{header[0]} | size_t{header[1]} << 8 |
                      size_t{header[2]} << 16 | size_t{header[3]} << 24;
  if (size > kMaxFrameBytes) {
    return absl::DataLossError(absl::StrCat(
        "a frame of ", size, " bytes is above the limit of ", kMaxFrameBytes,
        "; something else than messages was written into the pipe"));
  }
  std::string payload(size, '\0');
  RETURN_IF_ERROR(ReadAll(fd, payload.data(), size, deadline));
  return payload;
}

absl::Status AwaitInput(int fd, Clock::Duration& deadline,
                        StarvedTime& starved) {
  for (;;) {
    const absl::Status ready = Await(fd, POLLIN, deadline);
    if (!absl::IsDeadlineExceeded(ready)) return ready;
    const Clock::Duration more = starved.Take();
    if (more < kLeastStarved) return ready;
    deadline += more;
  }
}

}  // namespace wavetune
