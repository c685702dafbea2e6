#include "base/socket_diagnosis.h"

#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/printable_text.h"
#include "base/unix_group.h"

namespace wavetune {
namespace {

using Kind = SocketDiagnosis::Kind;

constexpr size_t kMaxReasonBytes = 512;
constexpr int kReasonTimeoutMs = 50;

std::string UserName(uid_t id) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  ::getpwuid_r(id, &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? absl::StrCat(id) : found->pw_name;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string NoPermission(const std::string& path) {
  struct stat info {};
  std::string what = path;
  if (::stat(path.c_str(), &info) != 0) {
    // Not the socket: the way to it is closed.
    what = FolderOf(path);
    if (::stat(what.c_str(), &info) != 0) {
      return absl::StrCat("this user may not look into ", what,
                          ": ask who runs wavetuned");
    }
  }
  const std::string owner = UserName(info.st_uid);
  const std::string group = GroupName(info.st_gid);
  const std::string user = UserName(::geteuid());
  const std::string text = absl::StrFormat(
      "no permission on %s: it is for user %s and group %s (mode %04o), this "
      "is user %s. ",
      what, owner, group, info.st_mode & 07777, user);
  // Nobody is advised to join root's group, or one that may not connect.
  if (info.st_gid == 0 || (info.st_mode & (S_IWGRP | S_IXGRP)) == 0) {
    return absl::StrCat(text, "Run it as ", owner);
  }
  return absl::StrCat(text, "Have this user added to the group (usermod -aG ",
                      group, " ", user, ") and log in anew, or run it as ",
                      owner);
}

// What the daemon says when it refuses a connection (HTTP/1.1 429); empty where
// it says nothing.
std::string Refusal(int fd) {
  pollfd readable{};
  readable.fd = fd;
  readable.events = POLLIN;
  if (::poll(&readable, 1, kReasonTimeoutMs) != 1) return "";
  std::array<char, 4096> bytes{};
  const ssize_t size = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size <= 0) return "";
  const absl::string_view text(bytes.data(), static_cast<size_t>(size));
  const size_t head_end = text.find("\r\n\r\n");
  if (!absl::StartsWith(text, "HTTP/1.1 429") ||
      head_end == absl::string_view::npos) {
    return "";
  }
  return BoundedText(text.substr(head_end + 4), kMaxReasonBytes);
}

SocketDiagnosis DiagnosePath(const std::string& path) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof(address.sun_path)) return {};
  const int fd =
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int error =
      ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0
          ? 0
          : errno;
  const std::string refusal = error == 0 ? Refusal(fd) : "";
  ::close(fd);
  if (!refusal.empty()) {
    return {Kind::kRefused,
            absl::StrCat("wavetuned refuses the connection: ", refusal)};
  }
  switch (error) {
    case 0:
    case EAGAIN:
      return {Kind::kSilent,
              absl::StrCat("somebody listens on ", path,
                           ", but does not answer: it is busy or stopped")};
    case ENOENT:
    case ENOTDIR:
      return {Kind::kNoSocket, absl::StrCat("there is no socket at ", path)};
    case EACCES:
    case EPERM:
      return {Kind::kNoPermission, NoPermission(path)};
    case ECONNREFUSED:
      return {Kind::kNobody,
              absl::StrCat("nobody listens on ", path,
                           " any more: its wavetuned has ended")};
    default:
      return {};
  }
}

}  // namespace

SocketDiagnosis DiagnoseSocket(absl::string_view target,
                               const std::string& system_dir) {
  if (!absl::ConsumePrefix(&target, "unix:")) return {};
  // "unix:///x" is an absolute path, too.
  while (absl::StartsWith(target, "//")) target.remove_prefix(1);
  const std::string path(target);
  SocketDiagnosis diagnosis = DiagnosePath(path);
  if (diagnosis.kind != Kind::kNoSocket) return diagnosis;
  // Who may not use the system's daemon is sent to a daemon of their own, and
  // should know why.
  const std::string system = absl::StrCat(
      system_dir,
      path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/')));
  if (system == path) return diagnosis;
  const SocketDiagnosis other = DiagnosePath(system);
  if (other.kind != Kind::kNoPermission) return diagnosis;
  return {Kind::kNoPermission,
          absl::StrCat(diagnosis.text, ", and on the system's: ", other.text)};
}

}  // namespace wavetune
