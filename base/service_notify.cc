#include "base/service_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/environment_variable.h"
#include "base/printable_text.h"

namespace wavetune {
namespace {

constexpr size_t kMostStateBytes = 512;

// Source: sd_notify(3), "Notes": a datagram to a socket in the file system, or
// in the abstract name space, which a name with '@' means.
void TellManager(const std::string& assignments) {
  const std::string name = EnvironmentVariable("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (name.size() < 2 || name.size() > sizeof(address.sun_path)) return;
  if (name[0] != '/' && name[0] != '@') return;
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  ::sendto(socket, assignments.data(), assignments.size(),
           MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<const sockaddr*>(&address),
           offsetof(sockaddr_un, sun_path) + name.size());
  ::close(socket);
}

// A line: what follows a line's end would be another assignment.
std::string StateLine(absl::string_view state) {
  std::string line = absl::StrCat(
      "STATUS=", ShortenedText(PrintableText(state), kMostStateBytes));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

void NotifyReady(absl::string_view state) {
  TellManager(absl::StrCat("READY=1\n", StateLine(state)));
}

void NotifyReloading() { TellManager("RELOADING=1"); }

void NotifyStopping() { TellManager("STOPPING=1"); }

void NotifyState(absl::string_view state) { TellManager(StateLine(state)); }

void NotifyAlive() { TellManager("WATCHDOG=1"); }

}  // namespace wavetune
