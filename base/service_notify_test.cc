#include "base/service_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// A socket as a service manager has: a file, or a name that '@' begins.
class ServiceNotifyTest : public ::testing::TestWithParam<const char*> {
 protected:
  ServiceNotifyTest()
      : path_(absl::StrCat(GetParam(), "wavetune-notify-", ::getpid())),
        socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (path_[0] == '@') address.sun_path[0] = '\0';
    ::unlink(path_.c_str());
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                     offsetof(sockaddr_un, sun_path) + path_.size()),
              0)
        << std::strerror(errno);
    ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  }
  ~ServiceNotifyTest() override {
    ::unsetenv("NOTIFY_SOCKET");
    ::close(socket_);
    ::unlink(path_.c_str());
  }

  // What the manager was told next; empty where nothing was.
  std::string Told() {
    std::array<char, 4096> bytes;
    const ssize_t count =
        ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return count < 0 ? "" : std::string(bytes.data(), count);
  }

 private:
  const std::string path_;
  const int socket_;
};

TEST_P(ServiceNotifyTest, TellsTheManagerWhatHappens) {
  NotifyReady("serves 3 tables");
  EXPECT_EQ(Told(), "READY=1\nSTATUS=serves 3 tables");
  NotifyAlive();
  EXPECT_EQ(Told(), "WATCHDOG=1");
  NotifyReloading();
  EXPECT_EQ(Told(), "RELOADING=1");
  NotifyState("the disk is full");
  EXPECT_EQ(Told(), "STATUS=the disk is full");
  NotifyStopping();
  EXPECT_EQ(Told(), "STOPPING=1");
  EXPECT_EQ(Told(), "");
}

TEST_P(ServiceNotifyTest, AStateIsOneShortLineAndNoAssignment) {
  NotifyState("x\nMAINPID=1");
  EXPECT_EQ(Told(), "STATUS=x MAINPID=1");
  NotifyState(std::string(100000, 'x'));
  EXPECT_THAT(Told(), SizeIs(::testing::Lt(600u)));
}

TEST_P(ServiceNotifyTest, WithoutAManagerNothingHappens) {
  ::unsetenv("NOTIFY_SOCKET");
  NotifyReady("serves");
  NotifyAlive();
  EXPECT_EQ(Told(), "");
}

TEST_P(ServiceNotifyTest, AManagerThatIsGoneIsNoError) {
  const std::string too_long = "/" + std::string(1000, 'x');
  for (const char* gone : {"/tmp/wavetune-no-such-socket", "@wavetune-nobody",
                           "relative", "/", too_long.c_str()}) {
    ::setenv("NOTIFY_SOCKET", gone, 1);
    NotifyReady("serves");
    NotifyStopping();
    EXPECT_EQ(Told(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Sockets, ServiceNotifyTest,
                         ::testing::Values("/tmp/", "@"), [](const auto& kind) {
                           return kind.index == 0 ? "File" : "Name";
                         });

}  // namespace
}  // namespace wavetune
