#include "profiler_agent/worker/stderr_tail.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "profiler_agent/measure/environment_error.h"

namespace wavetune {
namespace {

constexpr size_t kMaxLineBytes = 500;
// A compiler that could start no linker says so some lines before it ends.
constexpr size_t kKeptLines = 5;

}  // namespace

absl::StatusOr<std::unique_ptr<StderrTail>> StderrTail::Start(
    int fd, std::string name) {
  std::unique_ptr<StderrTail> tail(new StderrTail(std::move(name)));
  tail->fd_ = fd;
  try {
    tail->reader_ = std::thread([tail = tail.get()] { tail->Read(); });
  } catch (const std::system_error& error) {  // The limit on processes.
    tail->fd_ = -1;
    return absl::UnavailableError(
        absl::StrCat("no thread can be started for the worker (", error.what(),
                     "): ", ExhaustedAdvice(Resource::kProcesses)));
  }
  return tail;
}

StderrTail::StderrTail(std::string name)
    : child_ended_(eventfd(0, EFD_CLOEXEC)), name_(std::move(name)) {}

StderrTail::~StderrTail() {
  JoinReader();
  close(child_ended_);
  if (fd_ >= 0) close(fd_);
}

std::string StderrTail::LastLine() {
  JoinReader();
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_lines_.empty() ? "" : last_lines_.back();
}

std::optional<Resource> StderrTail::LastExhausted() {
  JoinReader();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const std::string& line : last_lines_) {
    if (const auto resource = ResourceNamedIn(line)) return resource;
  }
  return std::nullopt;
}

void StderrTail::JoinReader() {
  if (!reader_.joinable()) return;
  eventfd_write(child_ended_, 1);
  reader_.join();
}

void StderrTail::Read() {
  std::string line;
  std::array<char, 4096> bytes;
  for (;;) {
    std::array<pollfd, 2> ready = {{{.fd = fd_, .events = POLLIN},
                                    {.fd = child_ended_, .events = POLLIN}}};
    if (poll(ready.data(), ready.size(), -1) < 0) continue;  // EINTR.
    // A dead child's words are all there; the stream itself stays open while
    // somebody whom the child started holds it.
    if (ready[0].revents == 0) break;
    const ssize_t got = read(fd_, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    for (size_t i = 0; i < static_cast<size_t>(got); ++i) {
      if (bytes[i] == '\n') {
        TakeLine(line);
        line.clear();
      } else if (line.size() < kMaxLineBytes) {
        line.push_back(bytes[i]);
      }
    }
  }
  TakeLine(line);
}

void StderrTail::TakeLine(const std::string& line) {
  if (absl::StripAsciiWhitespace(line).empty()) return;
  RelayLog("worker", name_, line);
  const std::lock_guard<std::mutex> lock(mutex_);
  last_lines_.push_back(line);
  if (last_lines_.size() > kKeptLines) last_lines_.pop_front();
}

}  // namespace wavetune
