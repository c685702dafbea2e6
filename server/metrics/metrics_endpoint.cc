#include "server/metrics/metrics_endpoint.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "prometheus/text_serializer.h"
#include "server/metrics/daemon_metrics.h"
#include "server/rpc/tcp_socket.h"

namespace wavetune {
namespace {

constexpr char kOption[] = "--metrics-address";
// Where accepting fails for lack of memory or descriptors of the system.
constexpr std::chrono::milliseconds kAcceptPause{100};

std::string HttpAnswer(absl::string_view status, absl::string_view type,
                       absl::string_view more, absl::string_view body,
                       bool with_body) {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type,
                      "\r\nContent-Length: ", body.size(),
                      "\r\nConnection: close\r\n", more, "\r\n",
                      with_body ? body : "");
}

std::string HttpProblem(absl::string_view status, absl::string_view more = "") {
  return HttpAnswer(status, "text/plain", more,
                    "GET /metrics is what is answered here\n", true);
}

// Whether a request's head is whole.
bool IsWhole(absl::string_view request) {
  return absl::StrContains(request, "\r\n\r\n") ||
         absl::StrContains(request, "\n\n");
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(
    const std::string& address, MetricsSources sources) {
  ASSIGN_OR_RETURN(ListeningSocket socket, ListenOnTcp(address, kOption));
  const auto metrics = std::make_shared<DaemonMetrics>(std::move(sources));
  std::unique_ptr<MetricsEndpoint> endpoint(
      new MetricsEndpoint(std::move(socket), [metrics] {
        std::ostringstream text;
        prometheus::TextSerializer().Serialize(text, metrics->Collect());
        return text.str();
      }));
  if (!endpoint->wake_.valid()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kOption, ": ", std::strerror(errno), kMoreDescriptors));
  }
  endpoint->thread_ = std::thread([self = endpoint.get()] { self->Run(); });
  // For people who look at a process that hangs. Cannot fail.
  ::pthread_setname_np(endpoint->thread_.native_handle(), "metrics");
  return endpoint;
}

MetricsEndpoint::MetricsEndpoint(ListeningSocket socket, Collect collect)
    : socket_(std::move(socket)),
      collect_(std::move(collect)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

MetricsEndpoint::~MetricsEndpoint() {
  if (!thread_.joinable()) return;
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

int MetricsEndpoint::port() const {
  const std::string& name = socket_.path();
  int port = 0;
  return absl::SimpleAtoi(name.substr(name.rfind(':') + 1), &port) ? port : 0;
}

void MetricsEndpoint::Run() {
  std::vector<pollfd> polled;
  for (;;) {
    polled = {{.fd = wake_.get(), .events = POLLIN, .revents = 0},
              {.fd = socket_.fd(), .events = POLLIN, .revents = 0}};
    for (const Connection& connection : connections_) {
      const bool writes = !connection.answer.empty() && !connection.answered;
      polled.push_back(
          {.fd = connection.fd.get(),
           .events = static_cast<int16_t>(writes ? POLLOUT : POLLIN),
           .revents = 0});
    }
    const auto wait =
        std::chrono::milliseconds(connections_.empty() ? -1 : 250);
    ::poll(polled.data(), polled.size(), static_cast<int>(wait.count()));
    if (polled[0].revents != 0) return;
    const Clock::Duration now = SystemClock().SteadyNow();
    size_t at = 2;
    for (auto it = connections_.begin(); it != connections_.end(); ++at) {
      const bool ready = polled[at].revents != 0;
      const bool goes_on =
          now < it->until &&
          (!ready ||
           (polled[at].events == POLLOUT ? Write(&*it) : Read(&*it, now)));
      it = goes_on ? std::next(it) : connections_.erase(it);
    }
    if (polled[1].revents != 0) Accept(now);
  }
}

void MetricsEndpoint::Accept(Clock::Duration now) {
  FileDescriptor fd(
      ::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    SystemClock().Sleep(kAcceptPause);
    return;
  }
  if (connections_.size() >= kMostConnections) connections_.pop_front();
  connections_.push_back({.fd = std::move(fd), .until = now + kPatience});
}

bool MetricsEndpoint::Read(Connection* connection, Clock::Duration now) {
  std::array<char, 4096> bytes{};
  const ssize_t got =
      ::recv(connection->fd.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  if (connection->answered) return true;  // It has not read its answer yet.
  connection->request.append(bytes.data(), static_cast<size_t>(got));
  if (IsWhole(connection->request)) {
    connection->answer = AnswerTo(connection->request);
  } else if (connection->request.size() > kMostRequestBytes) {
    connection->answer = HttpProblem("431 Request Header Fields Too Large");
  } else {
    return true;
  }
  connection->until = now + kPatience;
  return Write(connection);
}

bool MetricsEndpoint::Write(Connection* connection) {
  while (connection->sent < connection->answer.size()) {
    const ssize_t sent = ::send(connection->fd.get(),
                                connection->answer.data() + connection->sent,
                                connection->answer.size() - connection->sent,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    connection->sent += static_cast<size_t>(sent);
  }
  connection->answered = true;
  // Closed now, what the peer still says would take the answer from it.
  return ::shutdown(connection->fd.get(), SHUT_WR) == 0;
}

std::string MetricsEndpoint::AnswerTo(absl::string_view request) const {
  const absl::string_view line =
      request.substr(0, request.find_first_of("\r\n"));
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || !absl::StartsWith(words[2], "HTTP/1.")) {
    return HttpProblem("400 Bad Request");
  }
  const bool head = words[0] == "HEAD";
  if (!head && words[0] != "GET") {
    return HttpProblem("405 Method Not Allowed", "Allow: GET, HEAD\r\n");
  }
  if (words[1].substr(0, words[1].find('?')) != "/metrics") {
    return HttpProblem("404 Not Found");
  }
  return HttpAnswer("200 OK", "text/plain; version=0.0.4; charset=utf-8", "",
                    collect_(), !head);
}

}  // namespace wavetune
