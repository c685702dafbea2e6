#include "profiler_agent/worker/worker_main.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/foreign_text.h"
#include "profiler_agent/worker/frame.h"
#include "profiler_agent/worker/worker_service.h"
#include "proto/wavetune/v1/worker.pb.h"

namespace wavetune {
namespace {

// Ends the process when the agent's end of standard input closes, whatever the
// main thread is doing. Why not PR_SET_PDEATHSIG: it fires when the *thread*
// that forked ends, and the agent spawns workers from threads that come and go.
void DieWithTheAgent() {
  std::thread([] {
    // No events asked for: poll reports only that the other end was closed.
    pollfd input = {.fd = STDIN_FILENO, .events = 0, .revents = 0};
    while (poll(&input, 1, -1) < 1) {
    }
    _exit(0);
  }).detach();
}

// Where memory runs out the kernel shall end this process, not the agent: a
// worker is started again, and what it did is tried again. Lowering one's
// chances needs a privilege, raising them does not.
void GoFirstWhenMemoryRunsOut() {
  std::ofstream("/proc/self/oom_score_adj") << 500;
}

// Returns a private copy of standard output; the number 1 becomes standard
// error, so that a print of a driver cannot get between the messages.
int ProtectStandardOutput() {
  std::fflush(stdout);
  const int messages = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return messages;
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "worker: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace

void BeNice(int steps) {
  if (steps <= 0) return;
  // -1 is a priority, too.
  [[maybe_unused]] const int now = nice(steps);
}

int RunWorker(const std::function<std::unique_ptr<Backend>()>& create_backend) {
  std::signal(SIGPIPE, SIG_IGN);
  GoFirstWhenMemoryRunsOut();
  const int output = ProtectStandardOutput();
  const std::unique_ptr<Backend> backend = create_backend();
  DieWithTheAgent();
  const auto send = [output](const v1::WorkerResponse& response) {
    return WriteFrame(output, response.SerializeAsString());
  };
  // Where the agent is gone the answer fails, too.
  WorkerService service(*backend, [send](const v1::WorkerResponse& response) {
    send(response).IgnoreError();
  });
  for (;;) {
    const absl::StatusOr<std::string> frame = ReadFrame(STDIN_FILENO);
    if (absl::IsOutOfRange(frame.status())) return 0;
    if (!frame.ok()) return Fail(frame.status());
    v1::WorkerRequest request;
    if (!request.ParseFromString(*frame)) {
      return Fail(absl::DataLossError("what came was no WorkerRequest"));
    }
    const absl::Status sent = send(WithoutForeignText(service.Handle(request)));
    if (!sent.ok()) return Fail(sent);
  }
}

}  // namespace wavetune
