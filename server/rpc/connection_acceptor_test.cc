#include "server/rpc/connection_acceptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "server/rpc/tcp_socket.h"
#include "server/test_descriptor_limit.h"
#include "server/test_folder.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// What was handed over, and what was said.
class Served {
 public:
  void Take(AcceptedConnection connection) {
    std::lock_guard lock(mutex_);
    connections_.push_back(std::move(connection));
    changed_.notify_all();
  }
  void Warn(const std::string& line) {
    std::lock_guard lock(mutex_);
    log_ += line + "\n";
    changed_.notify_all();
  }
  bool WaitForCount(size_t count) {
    return Wait([&] { return connections_.size() >= count; });
  }
  bool WaitForLog(const std::string& text) {
    return Wait([&] { return log_.find(text) != std::string::npos; });
  }
  size_t count() {
    std::lock_guard lock(mutex_);
    return connections_.size();
  }
  // The newest; it stays open.
  const AcceptedConnection& last() {
    std::lock_guard lock(mutex_);
    return connections_.back();
  }
  // Ends the newest.
  void EndLast() {
    std::lock_guard lock(mutex_);
    connections_.back() = {};
  }

 private:
  template <typename Condition>
  bool Wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), condition);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<AcceptedConnection> connections_;
  std::string log_;
};

class ConnectionAcceptorTest : public ::testing::Test {
 protected:
  void Start(ConnectionBounds bounds,
             std::chrono::milliseconds silence = std::chrono::minutes(10),
             std::function<void(AcceptedConnection)> serve = nullptr) {
    if (serve == nullptr) {
      serve = [this](AcceptedConnection connection) {
        served_.Take(std::move(connection));
      };
    }
    auto socket = ListeningSocket::Listen(path_, 0600);
    ASSERT_TRUE(socket.ok()) << socket.status();
    auto acceptor = ConnectionAcceptor::Start(
        *std::move(socket),
        ConnectionAcceptor::Options{
            .bounds = bounds,
            .serve = std::move(serve),
            .warn = [this](const std::string&,
                           const std::string& line) { served_.Warn(line); },
            .give_up = [this](const std::string& line) { served_.Warn(line); },
            .silence = silence,
            .look = std::chrono::milliseconds(5)});
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
  }

  FileDescriptor Connect() const {
    FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                        sizeof(address)),
              0)
        << std::strerror(errno);
    return fd;
  }
  static void Say(const FileDescriptor& fd, const std::string& text) {
    EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  FileDescriptor ConnectAndGreet() const {
    FileDescriptor fd = Connect();
    Say(fd, kPreface);
    return fd;
  }
  // All that the other side says until it ends the connection.
  static std::string ReadToTheEnd(const FileDescriptor& fd) {
    std::string all;
    for (;;) {
      pollfd readable{.fd = fd.get(), .events = POLLIN, .revents = 0};
      if (::poll(&readable, 1, 60'000) != 1) return all + " (goes on)";
      std::array<char, 1024> bytes{};
      const ssize_t size = ::recv(fd.get(), bytes.data(), bytes.size(), 0);
      if (size <= 0) return all;
      all.append(bytes.data(), static_cast<size_t>(size));
    }
  }

  const TestFolder folder_;
  const std::string path_ = folder_ / "reader.sock";
  Served served_;
  std::unique_ptr<ConnectionAcceptor> acceptor_;
};

TEST_F(ConnectionAcceptorTest, HandsOverWhoSpeaksHttp2) {
  Start({.in_all = 4, .per_user = 4});
  const int64_t before_us = SystemClock().SteadyNow().count();
  const FileDescriptor fd = Connect();
  Say(fd, std::string(kPreface).substr(0, 10));
  Say(fd, std::string(kPreface).substr(10) + "more");
  ASSERT_TRUE(served_.WaitForCount(1));
  // Nothing of it was taken.
  std::array<char, 64> bytes{};
  const AcceptedConnection& served = served_.last();
  EXPECT_EQ(::recv(served.fd.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(std::strlen(kPreface) + 4));
  EXPECT_EQ(served.peer.user, ::geteuid());
  EXPECT_EQ(served.peer.process, ::getpid());
  EXPECT_GE(served.since.count(), before_us);
  EXPECT_LE(served.since, SystemClock().SteadyNow());
}

TEST_F(ConnectionAcceptorTest, ClosesWhatIsNotHttp2) {
  Start({.in_all = 4, .per_user = 4});
  const FileDescriptor fd = Connect();
  Say(fd, "GET / HTTP/1.1\r\n");
  EXPECT_EQ(ReadToTheEnd(fd), "");
  EXPECT_EQ(served_.count(), 0U);
}

TEST_F(ConnectionAcceptorTest, ClosesWhoStaysSilent) {
  Start({.in_all = 4, .per_user = 4}, std::chrono::milliseconds(20));
  const FileDescriptor fd = Connect();
  Say(fd, "PRI");
  EXPECT_EQ(ReadToTheEnd(fd), "");
}

TEST_F(ConnectionAcceptorTest, SilentConnectionsMakeRoomForOthers) {
  Start({.in_all = 2, .per_user = 2});
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(Connect());
  const FileDescriptor fd = ConnectAndGreet();
  EXPECT_TRUE(served_.WaitForCount(1));
  EXPECT_EQ(ReadToTheEnd(silent.front()), "");
}

TEST_F(ConnectionAcceptorTest, WhoIsRefusedIsToldWhy) {
  Start({.in_all = 4, .per_user = 1});
  const FileDescriptor first = ConnectAndGreet();
  ASSERT_TRUE(served_.WaitForCount(1));
  // The place that is kept for the daemon's user.
  const FileDescriptor kept = ConnectAndGreet();
  ASSERT_TRUE(served_.WaitForCount(2));
  const FileDescriptor second = Connect();
  EXPECT_THAT(ReadToTheEnd(second),
              HasSubstr("the most that one user may have"));
  EXPECT_TRUE(served_.WaitForLog("is refused"));
}

TEST_F(ConnectionAcceptorTest, APlaceThatIsLetGoIsAnothers) {
  Start({.in_all = 1, .per_user = 1});
  // One place is kept for the daemon's user.
  const FileDescriptor kept = ConnectAndGreet();
  ASSERT_TRUE(served_.WaitForCount(1));
  for (size_t count = 2; count < 6; ++count) {
    const FileDescriptor fd = ConnectAndGreet();
    ASSERT_TRUE(served_.WaitForCount(count));
    EXPECT_THAT(ReadToTheEnd(Connect()), HasSubstr("the most that"));
    served_.EndLast();
  }
}

TEST_F(ConnectionAcceptorTest, RunningOutOfDescriptorsDoesNotMakeItDeaf) {
  Start({.in_all = 64, .per_user = 64});
  std::optional<LowDescriptorLimit> few(64);
  FileDescriptor refused(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::vector<FileDescriptor> all;
  for (;;) {
    FileDescriptor one(::dup(refused.get()));
    if (!one.valid()) break;
    all.push_back(std::move(one));
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  EXPECT_EQ(::connect(refused.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
            0);
  EXPECT_TRUE(served_.WaitForLog("Too many open files"));
  EXPECT_THAT(ReadToTheEnd(refused), HasSubstr("no descriptors left"));
  all.clear();
  few.reset();
  const FileDescriptor next = ConnectAndGreet();
  EXPECT_TRUE(served_.WaitForCount(1));
}

TEST_F(ConnectionAcceptorTest, WithoutDescriptorsItDoesNotStart) {
  // None for the epoll, then none for the eventfd.
  for (int free = 0; free < 2; ++free) {
    auto socket = ListeningSocket::Listen(path_, 0600);
    ASSERT_TRUE(socket.ok()) << socket.status();
    const FileDescriptor next(::dup(socket->fd()));
    const absl::Status status = [&] {
      const LowDescriptorLimit few(static_cast<rlim_t>(next.get()) + 1 + free);
      return ConnectionAcceptor::Start(*std::move(socket), {}).status();
    }();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("LimitNOFILE"));
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
}

TEST_F(ConnectionAcceptorTest, ListensAnewWhereItsSocketWasRemoved) {
  Start({.in_all = 4, .per_user = 4});
  std::filesystem::remove(path_);
  ASSERT_TRUE(served_.WaitForLog("listens there anew"));
  const FileDescriptor fd = ConnectAndGreet();
  EXPECT_TRUE(served_.WaitForCount(1));
}

TEST_F(ConnectionAcceptorTest, AHandOverThatHangsIsNoticed) {
  std::promise<void> hangs;
  std::promise<void> end;
  Start({.in_all = 4, .per_user = 4}, std::chrono::minutes(10),
        [&](AcceptedConnection connection) {
          served_.Take(std::move(connection));
          hangs.set_value();
          end.get_future().wait();
        });
  EXPECT_TRUE(acceptor_->Probe().ok());
  const FileDescriptor fd = ConnectAndGreet();
  hangs.get_future().wait();
  absl::Status deaf;
  int looks = 0;
  for (; deaf.ok() && looks < 1000; ++looks) deaf = acceptor_->Probe();
  // The first may have seen a round before the one that hangs.
  EXPECT_GE(looks, DeafnessProbe::kLooks);
  EXPECT_LE(looks, DeafnessProbe::kLooks + 1);
  EXPECT_TRUE(absl::IsUnavailable(deaf)) << deaf;
  EXPECT_THAT(std::string(deaf.message()),
              HasSubstr("nobody can connect to " + path_ +
                        " any more: the thread that accepts hangs"));
  end.set_value();
  acceptor_->Stop();  // Its thread may still be in what refers to these.
}

TEST_F(ConnectionAcceptorTest, StopLeavesWhatWasHandedOver) {
  Start({.in_all = 4, .per_user = 4});
  const FileDescriptor fd = ConnectAndGreet();
  ASSERT_TRUE(served_.WaitForCount(1));
  acceptor_->Stop();
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(::send(served_.last().fd.get(), "x", 1, MSG_NOSIGNAL), 1);
}

// The same over TCP.
class TcpConnectionAcceptorTest : public ConnectionAcceptorTest {
 protected:
  void StartOnTcp(ConnectionBounds bounds) {
    auto socket = ListenOnTcp("127.0.0.1:0");
    ASSERT_TRUE(socket.ok()) << socket.status();
    port_ = socket->path().substr(socket->path().rfind(':') + 1);
    auto acceptor = ConnectionAcceptor::Start(
        *std::move(socket),
        ConnectionAcceptor::Options{
            .bounds = bounds,
            .serve =
                [this](AcceptedConnection connection) {
                  served_.Take(std::move(connection));
                },
            .warn = [this](const std::string&,
                           const std::string& line) { served_.Warn(line); },
            .give_up = [this](const std::string& line) { served_.Warn(line); },
            .kind = TlsConnections(),
            .look = std::chrono::milliseconds(5)});
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
  }
  FileDescriptor ConnectTcp() const {
    FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(port_)));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                        sizeof(address)),
              0)
        << std::strerror(errno);
    return fd;
  }

  std::string port_;
};

TEST_F(TcpConnectionAcceptorTest, HandsOverWhoSpeaksTlsAndNobodyElse) {
  StartOnTcp({.in_all = 8, .per_user = 8});
  const FileDescriptor plain = ConnectTcp();
  Say(plain, kPreface);
  EXPECT_EQ(ReadToTheEnd(plain), "");
  const FileDescriptor tls = ConnectTcp();
  Say(tls, "\x16\x03\x01");
  EXPECT_TRUE(served_.WaitForCount(1));
  EXPECT_EQ(served_.count(), 1u);
  EXPECT_EQ(served_.last().peer.address, "127.0.0.1");
}

TEST_F(TcpConnectionAcceptorTest, AnAddressHasNoMorePlacesThanItsOwn) {
  StartOnTcp({.in_all = 8, .per_user = 2});
  std::vector<FileDescriptor> connected;
  for (int i = 0; i < 2; ++i) {
    connected.push_back(ConnectTcp());
    Say(connected.back(), "\x16\x03\x01");
  }
  ASSERT_TRUE(served_.WaitForCount(2));
  EXPECT_EQ(ReadToTheEnd(ConnectTcp()), "");
  EXPECT_TRUE(served_.WaitForLog(
      "a connection of address 127.0.0.1 on 127.0.0.1:" + port_ +
      " is refused"));
  // Not even for root, who may be at another machine.
  EXPECT_EQ(served_.count(), 2u);
}

}  // namespace
}  // namespace wavetune
