#include "base/lifeline.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

namespace wavetune {

void EndWithStdin() {
  std::thread([] {
    std::array<char, 64> ignored;
    for (;;) {
      const ssize_t count =
          ::read(STDIN_FILENO, ignored.data(), ignored.size());
      if (count == 0 || (count < 0 && errno != EINTR)) break;
    }
    ::kill(::getpid(), SIGTERM);
  }).detach();
}

}  // namespace wavetune
