#include "server/rpc/connection_acceptor.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"

namespace wavetune {
namespace {

constexpr int kAcceptedAtOnce = 64;
// Where accepting fails for lack of memory or descriptors of the system.
constexpr std::chrono::milliseconds kPause{100};
constexpr std::chrono::milliseconds kTick{1000};
// For reading why a connection was refused.
constexpr std::chrono::milliseconds kRefusalTime{1000};
constexpr size_t kMostRefusedAtOnce = 32;

FileDescriptor OpenReserve() {
  return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

// What to do where epoll or an eventfd fails.
absl::string_view WhatToRaise(int error) {
  if (OutOfDescriptors(error)) return kMoreDescriptors;
  if (error == ENOSPC) return ". Raise fs.epoll.max_user_watches";
  return "";
}

enum class Speaks { kRight, kNotYet, kSomethingElse };

// Whether a connection begins as it should.
Speaks WhatIsSpoken(int fd, absl::string_view opening) {
  std::array<char, 64> bytes{};
  const ssize_t size =
      ::recv(fd, bytes.data(), opening.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Speaks::kNotYet;
  if (size <= 0) return Speaks::kSomethingElse;
  const absl::string_view said(bytes.data(), static_cast<size_t>(size));
  if (said == opening) return Speaks::kRight;
  return absl::StartsWith(opening, said) ? Speaks::kNotYet
                                         : Speaks::kSomethingElse;
}

// What has ended of a connection: asked anew, as an event may be of one before
// that had its number.
int EndsOf(int fd) {
  pollfd look{.fd = fd, .events = POLLRDHUP, .revents = 0};
  return ::poll(&look, 1, 0) == 1 ? look.revents : 0;
}

}  // namespace

struct ConnectionAcceptor::Counts {
  std::mutex mutex;
  ConnectionCounts of;  // Guarded by mutex.

  Counts(ConnectionBounds bounds, uid_t owner) : of(bounds, owner) {}
  void Release(const ConnectionPeer& peer) {
    std::lock_guard lock(mutex);
    of.Release(peer);
  }
};

ConnectionAcceptor::ConnectionAcceptor(ListeningSocket socket, Options options)
    : options_(std::move(options)),
      socket_(std::move(socket)),
      counts_(std::make_shared<Counts>(options_.bounds, options_.kind.owner)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      reserve_(OpenReserve()),
      path_(socket_.path()),
      listening_(socket_.fd()) {}

absl::StatusOr<std::unique_ptr<ConnectionAcceptor>> ConnectionAcceptor::Start(
    ListeningSocket socket, Options options) {
  auto acceptor = std::unique_ptr<ConnectionAcceptor>(
      new ConnectionAcceptor(std::move(socket), std::move(options)));
  if (!acceptor->epoll_.valid() || !acceptor->wake_.valid() ||
      !acceptor->Watch(acceptor->wake_.get(), EPOLLIN) ||
      !acceptor->Watch(acceptor->socket_.fd(), EPOLLIN)) {
    const int error = errno;
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot watch ", acceptor->socket_.path(), ": ",
                     std::strerror(error), WhatToRaise(error)));
  }
  acceptor->thread_ = std::thread([self = acceptor.get()] { self->Run(); });
  // For people who look at a process that hangs. Cannot fail.
  ::pthread_setname_np(acceptor->thread_.native_handle(), "acceptor");
  return acceptor;
}

ConnectionAcceptor::~ConnectionAcceptor() { Stop(); }

void ConnectionAcceptor::Stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  // Cannot fail: the counter is far from full.
  [[maybe_unused]] const ssize_t written =
      ::write(wake_.get(), &one, sizeof(one));
  thread_.join();
  for (const auto& [fd, connection] : connections_) ::close(fd);
  connections_.clear();
  socket_ = ListeningSocket();
}

absl::Status ConnectionAcceptor::Probe() {
  // Where the socket is just opened anew this may be another descriptor: one
  // look of many.
  pollfd listening{.fd = listening_.load(), .events = POLLIN, .revents = 0};
  const absl::Status deaf =
      probe_.Look({.rounds = rounds_.load(),
                   .tries = tries_.load(),
                   .waiting = ::poll(&listening, 1, 0) == 1});
  if (deaf.ok()) return deaf;
  return absl::UnavailableError(absl::StrCat("nobody can connect to ", path_,
                                             " any more: ", deaf.message()));
}

bool ConnectionAcceptor::Watch(int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void ConnectionAcceptor::Run() {
  Time next_look = SystemClock().SteadyNow() + options_.look;
  const auto tick = std::min({kTick, options_.silence, options_.look});
  for (;;) {
    rounds_.fetch_add(1);
    std::array<epoll_event, 64> events{};
    const int count = ::epoll_wait(epoll_.get(), events.data(),
                                   static_cast<int>(events.size()),
                                   static_cast<int>(tick.count()));
    if (count < 0 && errno != EINTR) {
      options_.give_up(
          absl::StrCat("nobody can connect to ", socket_.path(),
                       " any more: epoll_wait: ", std::strerror(errno)));
      return;
    }
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      if (event.data.fd == wake_.get()) return;
      if (event.data.fd == socket_.fd()) {
        AcceptSome();
      } else {
        OnEvent(event.data.fd);
      }
    }
    const Time now = SystemClock().SteadyNow();
    DropOverdue(now);
    if (now < next_look) continue;
    next_look = now + options_.look;
    if (!LookAtSocket()) return;
  }
}

void ConnectionAcceptor::AcceptSome() {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    if (!AcceptOne()) return;
  }
}

bool ConnectionAcceptor::AcceptOne() {
  tries_.fetch_add(1);
  FileDescriptor fd(
      ::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.valid()) {
    Add(std::move(fd));
    return true;
  }
  const int error = errno;
  if (error == EAGAIN) return false;
  if (error == EINTR || error == ECONNABORTED) return true;
  Warn("accept", absl::StrCat("cannot take a connection on ", socket_.path(),
                              ": ", std::strerror(error),
                              OutOfDescriptors(error) ? kMoreDescriptors : ""));
  if (error == EMFILE && reserve_.valid()) {
    // Without this the connection would wait, and the loop would spin.
    reserve_.Close();
    Refuse(FileDescriptor(::accept4(socket_.fd(), nullptr, nullptr,
                                    SOCK_CLOEXEC | SOCK_NONBLOCK)),
           "the daemon has no descriptors left");
    reserve_ = OpenReserve();
    return true;
  }
  if (!reserve_.valid()) reserve_ = OpenReserve();
  SystemClock().Sleep(kPause);
  return false;
}

absl::Status ConnectionAcceptor::Admit(const ConnectionPeer& peer) {
  std::lock_guard lock(counts_->mutex);
  return counts_->of.Admit(peer);
}

void ConnectionAcceptor::Add(FileDescriptor fd) {
  const std::optional<ConnectionPeer> peer = options_.kind.peer_of(fd.get());
  if (!peer) return;  // It has gone already.
  absl::Status admitted = Admit(*peer);
  if (!admitted.ok() && DropOldestSilent(peer->user)) admitted = Admit(*peer);
  if (!admitted.ok()) {
    Warn(absl::StrCat("bound ", peer->user),
         absl::StrCat("a connection of ", peer->Text(), " on ", socket_.path(),
                      " is refused: ", admitted.message()));
    Refuse(std::move(fd),
           {admitted.message().data(), admitted.message().size()});
    return;
  }
  // Edge-triggered: half a preface is looked at again when more comes.
  if (!Watch(fd.get(), EPOLLIN | EPOLLRDHUP | EPOLLET)) {
    counts_->Release(*peer);
    return;
  }
  const bool speaks =
      WhatIsSpoken(fd.get(), options_.kind.opening) == Speaks::kRight;
  const auto added = connections_.insert_or_assign(
      fd.Release(),
      Connection{.peer = *peer, .since = SystemClock().SteadyNow()});
  if (speaks) HandOver(added.first);
}

void ConnectionAcceptor::Refuse(FileDescriptor fd, absl::string_view reason) {
  const std::string text = options_.kind.refusal(reason);
  // Who does not hear the reason is refused all the same.
  [[maybe_unused]] const ssize_t sent =
      ::send(fd.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(fd.get(), SHUT_WR);
  // Closed now, what the other side is about to write would fail before it
  // reads why.
  if (refused_ >= kMostRefusedAtOnce || !Watch(fd.get(), EPOLLRDHUP)) return;
  ++refused_;
  connections_[fd.Release()] = {.state = Connection::State::kRefused,
                                .since = SystemClock().SteadyNow()};
}

void ConnectionAcceptor::OnEvent(int fd) {
  const auto it = connections_.find(fd);
  if (it == connections_.end()) return;  // Dropped in this round.
  const bool refused = it->second.state == Connection::State::kRefused;
  if ((EndsOf(fd) & (POLLHUP | POLLERR | (refused ? POLLRDHUP : 0))) != 0) {
    Drop(it);
    return;
  }
  if (refused) return;
  switch (WhatIsSpoken(fd, options_.kind.opening)) {
    case Speaks::kRight:
      HandOver(it);
      return;
    case Speaks::kSomethingElse:
      Drop(it);
      return;
    case Speaks::kNotYet:
      return;
  }
}

void ConnectionAcceptor::HandOver(Connections::iterator silent) {
  const int fd = silent->first;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  const ConnectionPeer peer = silent->second.peer;
  const Time since = silent->second.since;
  connections_.erase(silent);
  options_.serve(
      {.fd = FileDescriptor(fd),
       .peer = peer,
       .since = since,
       .place = std::shared_ptr<void>(nullptr, [counts = counts_, peer](void*) {
         counts->Release(peer);
       })});
}

void ConnectionAcceptor::Drop(Connections::iterator connection) {
  ::close(connection->first);
  if (connection->second.state == Connection::State::kRefused) {
    --refused_;
  } else {
    counts_->Release(connection->second.peer);
  }
  connections_.erase(connection);
}

bool ConnectionAcceptor::DropOldestSilent(uid_t user) {
  auto oldest = connections_.end();
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    if (it->second.state != Connection::State::kSilent ||
        it->second.peer.user != user) {
      continue;
    }
    if (oldest == connections_.end() ||
        it->second.since < oldest->second.since) {
      oldest = it;
    }
  }
  if (oldest == connections_.end()) return false;
  // Who has spoken meanwhile keeps the place.
  if (WhatIsSpoken(oldest->first, options_.kind.opening) == Speaks::kRight) {
    HandOver(oldest);
    return DropOldestSilent(user);
  }
  Drop(oldest);
  return true;
}

void ConnectionAcceptor::DropOverdue(Time now) {
  for (auto it = connections_.begin(); it != connections_.end();) {
    const auto next = std::next(it);
    const Connection& connection = it->second;
    const bool overdue = (connection.state == Connection::State::kSilent &&
                          now - connection.since > options_.silence) ||
                         (connection.state == Connection::State::kRefused &&
                          now - connection.since > kRefusalTime);
    if (overdue) Drop(it);
    it = next;
  }
}

bool ConnectionAcceptor::LookAtSocket() {
  if (socket_.InPlace()) return true;
  if (const absl::Status again = socket_.ListenAgain(); !again.ok()) {
    // The next look tries again.
    Warn("socket", absl::StrCat("nobody can connect any more: ", socket_.path(),
                                " is not the daemon's socket any more, and ",
                                again.message()));
    return true;
  }
  listening_.store(socket_.fd());
  // It is in place now: no look would find anything wrong.
  if (!Watch(socket_.fd(), EPOLLIN)) {
    const int error = errno;
    options_.give_up(absl::StrCat(
        "nobody can connect any more: ", socket_.path(),
        " was removed, and cannot be watched anew: ", std::strerror(error),
        WhatToRaise(error)));
    return false;
  }
  Warn("socket", absl::StrCat(socket_.path(),
                              " was removed; the daemon listens there anew"));
  return true;
}

void ConnectionAcceptor::Warn(absl::string_view kind, const std::string& text) {
  options_.warn(absl::StrCat(path_, " ", kind), text);
}

}  // namespace wavetune
