#include "server/rpc/frame_relay.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/printable_text.h"
#include "server/rpc/frame_gate.h"

namespace wavetune {
namespace {

// What is moved at once, one way: so much may wait for a peer or the server.
constexpr size_t kPieceBytes = size_t{32} << 10;
// Of a connection, before the next one has its turn.
constexpr int kPiecesATurn = 2;
// Of each socket to the server and back: the kernel's memory is the process's.
constexpr int kSocketBytes = 64 << 10;
constexpr std::chrono::milliseconds kRelayTick{500};
// How soon a peer that is overdrawn is looked at again.
constexpr std::chrono::milliseconds kDebtTick{20};
constexpr std::chrono::milliseconds kLastMoment{1000};
// Tags of what is watched: a connection's number, twice, and one for the
// server's end.
constexpr uint64_t kWakeTag = 0;
constexpr uint64_t PeerTag(uint64_t id) { return 2 * id; }
constexpr uint64_t ServerTag(uint64_t id) { return 2 * id + 1; }
constexpr size_t kMostUserBytes = 256;

ssize_t Receive(int fd, char* bytes, size_t size) {
  for (;;) {
    const ssize_t got = ::recv(fd, bytes, size, MSG_DONTWAIT);
    if (got >= 0) return got;
    if (errno == EINTR) continue;
    return errno == EAGAIN ? TlsSession::kAgain : TlsSession::kEnd;
  }
}

ssize_t Send(int fd, const char* bytes, size_t size) {
  for (;;) {
    const ssize_t sent = ::send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) return sent;
    if (sent < 0 && errno == EINTR) continue;
    return sent < 0 && errno == EAGAIN ? TlsSession::kAgain : TlsSession::kEnd;
  }
}

// What waits to be sent; gives its memory back when all is.
class Outbox {
 public:
  bool empty() const { return sent_ == bytes_.size(); }
  std::string* bytes() { return &bytes_; }  // To append to.
  void Clear() {
    std::string().swap(bytes_);
    sent_ = 0;
  }

  // Sends what `send(bytes, size)` takes. False: the other side has gone.
  template <typename Sender>
  bool Flush(const Sender& send, bool* moved) {
    while (!empty()) {
      const ssize_t sent = send(bytes_.data() + sent_, bytes_.size() - sent_);
      if (sent == TlsSession::kAgain) return true;
      if (sent <= 0) return false;
      sent_ += static_cast<size_t>(sent);
      *moved = true;
    }
    Clear();
    return true;
  }

 private:
  std::string bytes_;
  size_t sent_ = 0;
};

}  // namespace

struct FrameRelay::Connection {
  ssize_t Read(char* bytes, size_t size) const {
    return tls ? tls->Read(bytes, size)
               : Receive(accepted.fd.get(), bytes, size);
  }
  ssize_t Write(const char* bytes, size_t size) const {
    return tls ? tls->Write(bytes, size) : Send(accepted.fd.get(), bytes, size);
  }

  uint64_t id = 0;
  AcceptedConnection accepted;
  FileDescriptor server_fd;         // Our end; not before a handshake is done.
  std::unique_ptr<TlsSession> tls;  // Goes before the descriptor.
  PeerShare* share = nullptr;
  std::unique_ptr<FrameGate> gate;  // As server_fd.
  Outbox to_peer;
  Outbox to_server;
  bool server_ended = false;
  bool peer_left = false;
  uint64_t awaited_ping = 0;  // As the gate's; since asked_at.
  Time asked_at{0};
  Time until = Time::max();  // When it is ended, come what may.
};

FrameRelay::FrameRelay(Options options)
    : options_(std::move(options)),
      tls_(options_.access),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      scratch_(kPieceBytes, '\0') {}

absl::StatusOr<std::unique_ptr<FrameRelay>> FrameRelay::Start(Options options) {
  auto relay = std::unique_ptr<FrameRelay>(new FrameRelay(std::move(options)));
  if (!relay->epoll_.valid() || !relay->wake_.valid() ||
      !relay->Watch(relay->wake_.get(), kWakeTag)) {
    const int error = errno;
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot watch connections: ", std::strerror(error),
                     OutOfDescriptors(error) ? kMoreDescriptors : ""));
  }
  relay->thread_ = std::thread([self = relay.get()] { self->Run(); });
  // For people who look at a process that hangs. Cannot fail.
  ::pthread_setname_np(relay->thread_.native_handle(), "relay");
  return relay;
}

FrameRelay::~FrameRelay() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void FrameRelay::Add(AcceptedConnection accepted) {
  auto connection = std::make_unique<Connection>();
  connection->accepted = std::move(accepted);
  {
    std::lock_guard lock(mutex_);
    added_.push_back(std::move(connection));
  }
  ::eventfd_write(wake_.get(), 1);
}

absl::Status FrameRelay::Probe() {
  const uint64_t rounds = rounds_.load();
  const absl::Status hangs =
      probe_.Look({.rounds = rounds, .tries = rounds, .waiting = false});
  if (hangs.ok()) return hangs;
  return absl::UnavailableError(
      absl::StrCat("connections on ", options_.place,
                   " are not served any more: the thread that relays them "
                   "hangs"));
}

bool FrameRelay::Watch(int fd, uint64_t tag) {
  epoll_event event{};
  // Edges alone: whatever may be done then is tried.
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = tag;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void FrameRelay::Run() {
  // OpenSSL writes as it likes.
  sigset_t signals{};
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Time next_look = SystemClock().SteadyNow() + kRelayTick;
  Time next_debt_look = next_look;
  Time stop = Time::max();
  for (;;) {
    rounds_.fetch_add(1);
    const auto wait = !again_.empty()     ? std::chrono::milliseconds(0)
                      : !waiting_.empty() ? kDebtTick
                                          : kRelayTick;
    std::array<epoll_event, 64> events{};
    const int count = ::epoll_wait(epoll_.get(), events.data(),
                                   static_cast<int>(events.size()),
                                   static_cast<int>(wait.count()));
    const Time now = SystemClock().SteadyNow();
    std::set<uint64_t> turn = std::exchange(again_, {});
    if (now >= next_debt_look) {
      next_debt_look = now + kDebtTick;
      turn.merge(std::exchange(waiting_, {}));
    }
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      if (event.data.u64 == kWakeTag) continue;
      turn.insert(event.data.u64 / 2);
      Hear(event.data.u64, event.events, now);
    }
    TakeAdded(now);
    // Of connections that pay a debt together each has its turn.
    const auto next = turn.upper_bound(last_heard_);
    std::for_each(next, turn.end(), [&](uint64_t id) { Pump(id, now); });
    std::for_each(turn.begin(), next, [&](uint64_t id) { Pump(id, now); });
    if (now >= next_look) {
      next_look = now + kRelayTick;
      LookAtTimes(now);
    }
    std::lock_guard lock(mutex_);
    if (!stopping_) continue;
    stop = std::min<Time>(stop, now + kLastMoment);
    if (now >= stop || (connections_.empty() && added_.empty())) break;
  }
  while (!connections_.empty()) End(connections_.begin()->first);
}

void FrameRelay::TakeAdded(Time now) {
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
  std::vector<std::unique_ptr<Connection>> added;
  {
    std::lock_guard lock(mutex_);
    added.swap(added_);
  }
  for (auto& connection : added) Open(std::move(connection), now);
}

void FrameRelay::Open(std::unique_ptr<Connection> connection, Time now) {
  Connection* const opened = connection.get();
  opened->id = next_id_++;
  opened->share = ShareOf(opened->accepted.peer.user);
  connections_[opened->id] = std::move(connection);
  if (options_.access != nullptr) {
    auto session = tls_.Begin(opened->accepted.fd.get());
    if (!session.ok()) {
      Warn(*opened, std::string(session.status().message()));
      End(opened->id);
      return;
    }
    opened->tls = *std::move(session);
    opened->until = now + options_.handshake;
  } else if (!Connect(opened)) {
    return;
  }
  if (!Watch(opened->accepted.fd.get(), PeerTag(opened->id))) {
    Warn(*opened, absl::StrCat("cannot be watched: ", std::strerror(errno)));
    End(opened->id);
    return;
  }
  Pump(opened->id, now);
}

bool FrameRelay::Connect(Connection* connection) {
  std::array<int, 2> pair = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   pair.data()) != 0) {
    const int error = errno;
    Warn(*connection,
         absl::StrCat("cannot be served: ", std::strerror(error),
                      OutOfDescriptors(error) ? kMoreDescriptors : ""));
    End(connection->id);
    return false;
  }
  for (const int fd : pair) {
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSocketBytes,
                 sizeof(kSocketBytes));
  }
  connection->server_fd = FileDescriptor(pair[0]);
  FileDescriptor theirs(pair[1]);
  if (!Watch(pair[0], ServerTag(connection->id))) {
    Warn(*connection,
         absl::StrCat("cannot be watched: ", std::strerror(errno)));
    End(connection->id);
    return false;
  }
  FrameGate::Options gate = {.share = connection->share,
                             .sends_many = options_.sends_many};
  std::string user = absl::StrCat(connection->accepted.peer.user);
  if (connection->tls != nullptr) {
    const CertificateNames& names = connection->tls->names();
    user = absl::StrCat("tls:", BoundedText(names.Name(), kMostUserBytes));
    gate.judge = [access = options_.access, &names](absl::string_view path) {
      return access->policy()->WhyNot(names, path);
    };
  }
  connection->gate = std::make_unique<FrameGate>(std::move(gate));
  connection->until = Time::max();
  if (options_.peers != nullptr) {
    options_.peers->Set(theirs.get(),
                        {user, connection->accepted.since.count()});
  }
  std::lock_guard lock(serve_mutex_);
  if (!serving_) {
    End(connection->id);
    return false;
  }
  options_.serve(theirs.Release());
  return true;
}

void FrameRelay::StopServing() {
  std::lock_guard lock(serve_mutex_);
  serving_ = false;
}

void FrameRelay::Pump(uint64_t id, Time now) {
  const auto it = connections_.find(id);
  if (it == connections_.end()) return;
  Connection* const connection = it->second.get();
  for (int piece = 0; piece < kPiecesATurn; ++piece) {
    bool moved = false;
    if (!PumpOnce(connection, now, &moved)) {
      End(id);
      return;
    }
    if (!moved) return;
  }
  again_.insert(id);
}

bool FrameRelay::PumpOnce(Connection* connection, Time now, bool* moved) {
  if (connection->gate == nullptr) {
    if (!ShakeHands(connection)) return false;
    if (connection->gate == nullptr) return true;
  }
  const auto to_peer = [&](const char* bytes, size_t size) {
    return connection->Write(bytes, size);
  };
  if (!connection->to_peer.Flush(to_peer, moved)) return false;
  const auto to_server = [&](const char* bytes, size_t size) {
    return Send(connection->server_fd.get(), bytes, size);
  };
  // A server that takes no more has said, or will say, why.
  if (!connection->server_ended &&
      !connection->to_server.Flush(to_server, moved)) {
    connection->to_server.Clear();
  }
  if (!connection->to_peer.empty()) return true;
  if (connection->server_ended) return false;
  if (!FromServer(connection, moved)) return false;
  if (!connection->to_peer.Flush(to_peer, moved)) return false;
  if (!connection->to_peer.empty() || !connection->to_server.empty() ||
      connection->server_ended) {
    return true;
  }
  if (!FromPeer(connection, now, moved)) return false;
  if (!connection->to_server.Flush(to_server, moved)) return true;
  return connection->to_peer.Flush(to_peer, moved);
}

bool FrameRelay::ShakeHands(Connection* connection) {
  switch (connection->tls->Handshake()) {
    case TlsSession::Step::kMore:
      return true;
    case TlsSession::Step::kFailed:
      Warn(*connection, absl::StrCat("fails in its handshake: ",
                                     connection->tls->problem()));
      return false;
    case TlsSession::Step::kDone:
      return Connect(connection);
  }
  return false;
}

bool FrameRelay::FromServer(Connection* connection, bool* moved) {
  const ssize_t got =
      Receive(connection->server_fd.get(), scratch_.data(), scratch_.size());
  if (got == TlsSession::kAgain) return true;
  *moved = true;
  if (got > 0) {
    connection->gate->FromServer(
        absl::string_view(scratch_.data(), static_cast<size_t>(got)),
        connection->to_peer.bytes());
    return true;
  }
  connection->server_ended = true;
  return true;
}

void FrameRelay::Hear(uint64_t tag, uint32_t events, Time now) {
  const auto it = connections_.find(tag / 2);
  if (it == connections_.end()) return;
  Connection* const connection = it->second.get();
  if (tag == PeerTag(connection->id)) {
    connection->peer_left = connection->peer_left ||
                            (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  } else if ((events & EPOLLHUP) != 0) {
    // Also where the server's last words are not read yet, as the peer takes
    // none before.
    connection->until =
        std::min<Time>(connection->until, now + options_.farewell);
  }
}

bool FrameRelay::MayAnswer(Connection* connection, Time now) const {
  const uint64_t ping = connection->gate->awaited_ping();
  if (std::exchange(connection->awaited_ping, ping) != ping) {
    connection->asked_at = now;
  }
  return ping == 0 || now - connection->asked_at < options_.pong;
}

bool FrameRelay::FromPeer(Connection* connection, Time now, bool* moved) {
  if (!MayAnswer(connection, now)) return false;
  if (connection->share->Overdrawn(now)) {
    // What a peer wrote before it left is not worth its place until then.
    if (connection->peer_left) return false;
    waiting_.insert(connection->id);
    return true;
  }
  absl::string_view bytes;
  if (!connection->gate->full()) {
    const ssize_t got = connection->Read(scratch_.data(), scratch_.size());
    if (got == TlsSession::kAgain) return true;
    if (got <= 0) return false;
    bytes = absl::string_view(scratch_.data(), static_cast<size_t>(got));
  }
  last_heard_ = connection->id;
  const absl::Status taken = connection->gate->FromPeer(
      bytes, connection->to_server.bytes(), connection->to_peer.bytes());
  // A gate that stays full waits for the server.
  *moved = *moved || !bytes.empty() || !connection->to_peer.empty();
  if (taken.ok()) return true;
  Warn(*connection, absl::StrCat("is closed: ", taken.message()));
  connection->to_peer.bytes()->append(connection->gate->Goodbye(taken));
  bool told = false;
  connection->to_peer.Flush(
      [&](const char* data, size_t size) {
        return connection->Write(data, size);
      },
      &told);
  return false;
}

void FrameRelay::End(uint64_t id) {
  connections_.erase(id);
  again_.erase(id);
  waiting_.erase(id);
}

void FrameRelay::LookAtTimes(Time now) {
  std::vector<uint64_t> over;
  for (const auto& [id, connection] : connections_) {
    const bool answers =
        connection->gate == nullptr || MayAnswer(connection.get(), now);
    if (answers && now < connection->until) continue;
    if (connection->gate == nullptr) {
      Warn(*connection, "did not end its handshake in time");
    }
    over.push_back(id);
  }
  for (const uint64_t id : over) End(id);
  std::set<uid_t> here;
  for (const auto& [id, connection] : connections_) {
    here.insert(connection->accepted.peer.user);
  }
  std::erase_if(shares_, [&](const auto& share) {
    return !here.contains(share.first) && share.second->Settled(now);
  });
}

void FrameRelay::Warn(const Connection& connection, const std::string& what) {
  options_.warn(
      absl::StrCat("connection ", connection.accepted.peer.user),
      absl::StrCat("a connection of ", connection.accepted.peer.Text(), " on ",
                   options_.place, " ", what));
}

PeerShare* FrameRelay::ShareOf(uid_t user) {
  auto& share = shares_[user];
  if (share == nullptr) share = std::make_unique<PeerShare>();
  return share.get();
}

}  // namespace wavetune
