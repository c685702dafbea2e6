#include "profiler_agent/worker/stderr_tail.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "profiler_agent/agent_log.h"

namespace wavetune {
namespace {

constexpr size_t kMaxLineBytes = 500;

}  // namespace

StderrTail::StderrTail(int fd, std::string name)
    : fd_(fd),
      child_ended_(eventfd(0, EFD_CLOEXEC)),
      name_(std::move(name)),
      reader_([this] { Read(); }) {}

StderrTail::~StderrTail() {
  JoinReader();
  close(child_ended_);
  close(fd_);
}

std::string StderrTail::LastLine() {
  JoinReader();
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_line_;
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
  AgentLog(AgentLogLevel::kInfo, absl::StrCat(name_, ": ", line));
  const std::lock_guard<std::mutex> lock(mutex_);
  last_line_ = line;
}

}  // namespace wavetune
