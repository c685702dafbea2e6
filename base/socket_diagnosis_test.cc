#include "base/socket_diagnosis.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = SocketDiagnosis::Kind;

class SocketDiagnosisTest : public ::testing::Test {
 protected:
  SocketDiagnosisTest() {
    char pattern[] = "/tmp/wavetune_test_XXXXXX";
    folder_ = ::mkdtemp(pattern);
    path_ = folder_ + "/admin.sock";
  }
  ~SocketDiagnosisTest() override {
    if (fd_ >= 0) ::close(fd_);
    ::chmod(folder_.c_str(), 0700);
    std::filesystem::remove_all(folder_);
  }

  void Listen() {
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    ASSERT_EQ(
        ::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(::listen(fd_, 4), 0);
  }
  SocketDiagnosis Diagnose() const {
    return DiagnoseSocket("unix:" + path_, folder_ + "/system");
  }
  // Root may connect everywhere.
  template <typename Function>
  void AsNobody(Function function) {
    const bool root = ::geteuid() == 0;
    if (root) {
      ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
      ASSERT_EQ(::seteuid(65534), 0);
    }
    function();
    if (root) {
      ASSERT_EQ(::seteuid(0), 0);
    }
  }

  std::string folder_;
  std::string path_;
  int fd_ = -1;
};

TEST_F(SocketDiagnosisTest, NothingIsThere) {
  EXPECT_EQ(Diagnose().kind, Kind::kNoSocket);
  EXPECT_THAT(Diagnose().text, HasSubstr("no socket at " + path_));
}

TEST_F(SocketDiagnosisTest, ItsProcessHasEnded) {
  Listen();
  ::close(fd_);
  fd_ = -1;
  EXPECT_EQ(Diagnose().kind, Kind::kNobody);
}

TEST_F(SocketDiagnosisTest, SaysWhoMayConnectAndWhatToDo) {
  Listen();
  ASSERT_EQ(::chmod(path_.c_str(), 0), 0);
  AsNobody([&] {
    const SocketDiagnosis diagnosis = Diagnose();
    EXPECT_EQ(diagnosis.kind, Kind::kNoPermission);
    EXPECT_THAT(diagnosis.text,
                AllOf(HasSubstr("no permission on " + path_),
                      HasSubstr("group"), HasSubstr("0000"),
                      HasSubstr("Run it as"), Not(HasSubstr("usermod"))));
  });
}

TEST_F(SocketDiagnosisTest, SaysWhichGroupMayConnect) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  Listen();
  ASSERT_EQ(::chmod(path_.c_str(), 0660), 0);
  ASSERT_EQ(::chown(path_.c_str(), 0, 4242), 0);
  AsNobody(
      [&] { EXPECT_THAT(Diagnose().text, HasSubstr("usermod -aG 4242 ")); });
}

TEST_F(SocketDiagnosisTest, SaysWhichFolderIsClosed) {
  const std::string closed = folder_ + "/closed";
  std::filesystem::create_directory(closed);
  path_ = closed + "/admin.sock";
  Listen();
  ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
  AsNobody([&] {
    const SocketDiagnosis diagnosis = Diagnose();
    EXPECT_EQ(diagnosis.kind, Kind::kNoPermission);
    EXPECT_THAT(diagnosis.text, HasSubstr("no permission on " + closed + ":"));
  });
  ASSERT_EQ(::chmod(closed.c_str(), 0700), 0);
}

TEST_F(SocketDiagnosisTest, TheSystemsSocketMayBeClosedWhereTheOwnIsMissing) {
  std::filesystem::create_directory(folder_ + "/system");
  const std::string own = path_;
  path_ = folder_ + "/system/admin.sock";
  Listen();
  ASSERT_EQ(::chmod(path_.c_str(), 0), 0);
  path_ = own;
  AsNobody([&] {
    const SocketDiagnosis diagnosis = Diagnose();
    EXPECT_EQ(diagnosis.kind, Kind::kNoPermission);
    EXPECT_THAT(diagnosis.text,
                AllOf(HasSubstr("no socket at " + own),
                      HasSubstr("no permission on " + folder_ + "/system/")));
  });
}

TEST_F(SocketDiagnosisTest, TellsWhatTheDaemonRefusesWith) {
  Listen();
  std::thread daemon([this] {
    const int peer = ::accept(fd_, nullptr, nullptr);
    const std::string text =
        "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\n\r\ntoo many";
    ::send(peer, text.data(), text.size(), MSG_NOSIGNAL);
    ::close(peer);
  });
  const SocketDiagnosis diagnosis = Diagnose();
  daemon.join();
  EXPECT_EQ(diagnosis.kind, Kind::kRefused);
  EXPECT_THAT(diagnosis.text, HasSubstr(": too many"));
}

TEST_F(SocketDiagnosisTest, SomebodyWhoDoesNotAnswerIsThere) {
  Listen();
  EXPECT_EQ(Diagnose().kind, Kind::kSilent);
}

TEST_F(SocketDiagnosisTest, SaysNothingOfOtherTargets) {
  EXPECT_EQ(DiagnoseSocket("localhost:1234").kind, Kind::kUnknown);
  EXPECT_EQ(DiagnoseSocket("unix:" + std::string(300, 'x')).kind,
            Kind::kUnknown);
}

}  // namespace
}  // namespace wavetune
