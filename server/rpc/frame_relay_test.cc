#include "server/rpc/frame_relay.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/peer_share.h"
#include "server/rpc/peer_users.h"
#include "server/rpc/tls_access.h"
#include "server/test_folder.h"
#include "tests/lib/test_authority.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

const std::string kPing(
    "\0\0\x8\6\0\0\0\0\0"
    "12345678",
    17);
const std::string kSettings("\0\0\0\4\0\0\0\0\0", 9);

class FrameRelayTest : public ::testing::Test {
 protected:
  FrameRelay::Options Options() {
    return {.place = "here",
            .serve = [this](int fd) { served_.set_value(fd); },
            .peers = &peers_,
            .warn =
                [this](const std::string&, const std::string& line) {
                  std::lock_guard lock(mutex_);
                  log_ += line + "\n";
                },
            .farewell = std::chrono::milliseconds(50)};
  }
  void SetUp() override {
    auto relay = FrameRelay::Start(Options());
    ASSERT_TRUE(relay.ok()) << relay.status();
    relay_ = *std::move(relay);
    Connect();
  }
  // A peer, and what the server of it is.
  void Connect() {
    Add();
    server_ = FileDescriptor(served_.get_future().get());
    served_ = {};
  }
  void Add() {
    std::array<int, 2> pair = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()),
              0);
    peer_ = FileDescriptor(pair[0]);
    ASSERT_EQ(::fcntl(pair[1], F_SETFL, O_NONBLOCK), 0);
    place_ = std::make_shared<int>(1);
    relay_->Add({.fd = FileDescriptor(pair[1]),
                 .peer = {.user = 1000, .process = 1, .address = ""},
                 .since = std::chrono::microseconds(7),
                 .place = place_});
  }
  static void Say(const FileDescriptor& fd, const std::string& bytes) {
    EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // What comes until there are so many bytes, or the end.
  static std::string Read(const FileDescriptor& fd, size_t size) {
    std::string all;
    while (all.size() < size) {
      pollfd readable{.fd = fd.get(), .events = POLLIN, .revents = 0};
      if (::poll(&readable, 1, 60'000) != 1) return all + " (nothing comes)";
      std::array<char, 4096> bytes{};
      const ssize_t got = ::recv(fd.get(), bytes.data(),
                                 std::min(bytes.size(), size - all.size()), 0);
      if (got <= 0) return all + " (the end)";
      all.append(bytes.data(), static_cast<size_t>(got));
    }
    return all;
  }
  bool PlaceIsFree() const {
    for (int look = 0; look < 6000; ++look) {
      if (place_.use_count() == 1) return true;
      SystemClock().Sleep(std::chrono::milliseconds(10));
    }
    return false;
  }
  std::string log() {
    std::lock_guard lock(mutex_);
    return log_;
  }

  PeerUsers peers_;
  std::promise<int> served_;
  std::mutex mutex_;
  std::string log_;                    // Guarded by mutex_.
  std::unique_ptr<FrameRelay> relay_;  // Waits for both ends to be closed.
  std::shared_ptr<int> place_;
  FileDescriptor peer_;
  FileDescriptor server_;
};

TEST_F(FrameRelayTest, PassesOnBothWaysAndSaysWhoseItIs) {
  Say(peer_, NGHTTP2_CLIENT_MAGIC + kPing);
  EXPECT_EQ(Read(server_, 41), NGHTTP2_CLIENT_MAGIC + kPing);
  Say(server_, kSettings + kPing);
  EXPECT_THAT(Read(peer_, 9 + 12 + 17), HasSubstr(kPing));
  const auto known = peers_.Find(absl::StrCat("fd:", server_.get()));
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->user, "1000");
  EXPECT_EQ(known->since_us, 7);
}

TEST_F(FrameRelayTest, AHandshakeThatFailsOrDoesNotEndIsSaid) {
  const testing::TestAuthority authority("an authority");
  const auto identity = authority.Issue({"DNS:localhost"});
  const TestFolder folder;
  const auto write = [&](const char* name, const std::string& text) {
    folder.Write(name, text);
    ASSERT_EQ(::chmod((folder / name).c_str(), 0600), 0);
  };
  write("cert", identity.cert);
  write("key", identity.key);
  write("ca", authority.cert());
  write("policy", R"({"name": "p", "allow_rules": [
      {"name": "r", "source": {"principals": ["spiffe://wavetune/reader"]}}]})");
  const auto access = TlsAccess::Open({.tls = {.cert = folder / "cert",
                                               .key = folder / "key",
                                               .ca = folder / "ca"},
                                       .policy = folder / "policy"},
                                      [](LogLevel, const std::string&) {});
  ASSERT_TRUE(access.ok()) << access.status();
  FrameRelay::Options options = Options();
  options.access = access->get();
  options.handshake = std::chrono::milliseconds(100);
  server_.Close();
  relay_ = FrameRelay::Start(std::move(options)).value();
  Add();
  Say(peer_, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(PlaceIsFree());
  EXPECT_THAT(log(), HasSubstr("a connection of user 1000 on here fails in its "
                               "handshake: "));
  Add();
  EXPECT_TRUE(PlaceIsFree());
  EXPECT_THAT(log(), HasSubstr("did not end its handshake in time"));
}

TEST_F(FrameRelayTest, ThePeersEndIsTheServers) {
  peer_.Close();
  EXPECT_EQ(Read(server_, 1), " (the end)");
  EXPECT_TRUE(PlaceIsFree());
}

TEST_F(FrameRelayTest, WhoAnswersAPingTooLateIsGoneAndNotHeard) {
  FrameRelay::Options options = Options();
  options.pong = std::chrono::milliseconds(100);
  server_.Close();
  relay_ = FrameRelay::Start(std::move(options)).value();
  std::string pong = kPing;
  pong[4] = 1;
  for (const bool answers : {false, true}) {
    Connect();
    Say(peer_, NGHTTP2_CLIENT_MAGIC);
    EXPECT_EQ(Read(server_, 24), NGHTTP2_CLIENT_MAGIC);
    Say(server_, kSettings + kPing);
    EXPECT_THAT(Read(peer_, 9 + 12 + 17), HasSubstr(kPing));
    if (answers) {
      SystemClock().Sleep(std::chrono::milliseconds(100));
      // May be gone by now.
      ::send(peer_.get(), pong.data(), pong.size(), MSG_NOSIGNAL);
    }
    EXPECT_EQ(Read(server_, 17), " (the end)");
    EXPECT_TRUE(PlaceIsFree());
  }
}

TEST_F(FrameRelayTest, TheServersLastWordsAreHeard) {
  Say(server_, kSettings + kPing);
  server_.Close();
  EXPECT_THAT(Read(peer_, 1000), HasSubstr(kPing + " (the end)"));
  EXPECT_TRUE(PlaceIsFree());
}

TEST_F(FrameRelayTest, WhoDoesNotHearTheLastWordsLosesThem) {
  Say(server_, kSettings);
  // More than all buffers between take.
  std::thread server([this] {
    for (;;) {
      if (::send(server_.get(), kPing.data(), kPing.size(), MSG_NOSIGNAL) < 0 &&
          errno == EAGAIN) {
        // Full for the third of a second that its reader takes nothing.
        pollfd room{.fd = server_.get(), .events = POLLOUT, .revents = 0};
        if (::poll(&room, 1, 300) == 0) break;
      }
    }
    server_.Close();
  });
  server.join();
  EXPECT_TRUE(PlaceIsFree());
}

TEST_F(FrameRelayTest, NothingIsReadFromWhoDoesNotRead) {
  ASSERT_EQ(::fcntl(peer_.get(), F_SETFL, O_NONBLOCK), 0);
  Say(peer_, NGHTTP2_CLIENT_MAGIC);
  EXPECT_EQ(Read(server_, 24), NGHTTP2_CLIENT_MAGIC);
  Say(server_, kSettings);
  // A server that answers each of its pings.
  std::thread server([this] {
    std::string pong = kPing;
    pong[4] = 1;
    while (Read(server_, 17) == kPing) {
      if (::send(server_.get(), pong.data(), pong.size(), MSG_NOSIGNAL) < 0) {
        pollfd room{.fd = server_.get(), .events = POLLOUT, .revents = 0};
        ::poll(&room, 1, 100);
      }
    }
  });
  // Full, and stays so: what waits is bounded by what sockets take.
  size_t sent = 0;
  for (int full = 0; full < 20;) {
    if (::send(peer_.get(), kPing.data(), kPing.size(), MSG_NOSIGNAL) > 0) {
      full = 0;
      sent += kPing.size();
      ASSERT_LT(sent, 8u << 20);
    } else {
      ++full;
      SystemClock().Sleep(std::chrono::milliseconds(10));
    }
  }
  peer_.Close();
  server.join();
}

// A peer that owes more than it may, on a connection whose server reads.
class FrameRelayDebtTest : public FrameRelayTest {
 protected:
  void SetUp() override {
    FrameRelayTest::SetUp();
    Say(server_, kSettings);
    reader_ = std::thread([this, server = server_.get()] {
      std::string bytes(size_t{64} << 10, '\0');
      for (;;) {
        const ssize_t got = ::recv(server, bytes.data(), bytes.size(), 0);
        if (got > 0) {
          passed_ += static_cast<size_t>(got);
          continue;
        }
        if (got == 0 || errno != EAGAIN) return;
        pollfd readable{.fd = server, .events = POLLIN, .revents = 0};
        ::poll(&readable, 1, -1);
      }
    });
    ASSERT_EQ(::fcntl(peer_.get(), F_SETFL, O_NONBLOCK), 0);
    Say(peer_, NGHTTP2_CLIENT_MAGIC);
    const size_t owed =
        static_cast<size_t>(PeerShare::kMostDebt) * kPing.size();
    // Until it is not read from any more.
    pollfd room{.fd = peer_.get(), .events = POLLOUT, .revents = 0};
    while (passed_ < owed || ::poll(&room, 1, 20) == 1) Flood();
  }
  void TearDown() override {
    peer_.Close();
    flooded_.Close();
    reader_.join();
  }
  // Says what fits.
  void Flood() {
    const int fd = flooded_.valid() ? flooded_.get() : peer_.get();
    std::string pings;
    for (int i = 0; i < 1000; ++i) pings += kPing;
    pings.erase(0, sent_ % kPing.size());
    const ssize_t sent = ::send(fd, pings.data(), pings.size(), MSG_NOSIGNAL);
    if (sent > 0) sent_ += static_cast<size_t>(sent);
  }

  std::atomic<size_t> passed_ = 0;
  size_t sent_ = 0;
  FileDescriptor flooded_;
  std::thread reader_;
};

TEST_F(FrameRelayDebtTest, WhoLeavesInDebtKeepsNoPlace) {
  peer_.Close();
  EXPECT_TRUE(PlaceIsFree());
  reader_.join();
  reader_ = std::thread([] {});
  EXPECT_LT(passed_.load(), sent_);
}

TEST_F(FrameRelayDebtTest, EachConnectionHasItsTurn) {
  flooded_ = std::move(peer_);
  const FileDescriptor flooded_server = std::move(server_);
  Connect();
  std::atomic<bool> heard = false;
  std::thread flood([&] {
    while (!heard) Flood();
  });
  Say(peer_, NGHTTP2_CLIENT_MAGIC + kPing);
  EXPECT_EQ(Read(server_, 41), NGHTTP2_CLIENT_MAGIC + kPing);
  heard = true;
  flood.join();
  flooded_.Close();
  reader_.join();
  reader_ = std::thread([] {});
}

TEST_F(FrameRelayTest, WhoBreaksTheRulesIsToldAndLogged) {
  Say(peer_,
      std::string(NGHTTP2_CLIENT_MAGIC) + std::string("\0\0\0\5\0\0\0\0\1", 9));
  EXPECT_THAT(Read(peer_, 1000), HasSubstr("PUSH_PROMISE of a client"));
  EXPECT_EQ(Read(server_, 100), " (the end)");
  EXPECT_TRUE(PlaceIsFree());
  EXPECT_THAT(log(), HasSubstr("a connection of user 1000 on here is closed: "
                               "it broke HTTP/2 (RFC 9113): PUSH_PROMISE"));
}

TEST_F(FrameRelayTest, ServesNobodyOnceItWasStopped) {
  relay_->StopServing();
  std::array<int, 2> pair = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()),
            0);
  const FileDescriptor peer(pair[0]);
  relay_->Add({.fd = FileDescriptor(pair[1])});
  EXPECT_EQ(Read(peer, 1), " (the end)");
  EXPECT_TRUE(relay_->Probe().ok());
}

}  // namespace
}  // namespace wavetune
