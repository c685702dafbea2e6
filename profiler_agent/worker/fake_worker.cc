// A worker on a fake device that misbehaves on demand: the value of the
// parameter BREAK decides, see remote_device_test.cc.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "profiler_agent/measure/fake_device.h"
#include "profiler_agent/worker/frame.h"
#include "profiler_agent/worker/kernel_source.h"
#include "profiler_agent/worker/worker_main.h"
#include "profiler_agent/worker/worker_service.h"

namespace wavetune {
namespace {

// FakeDevice calls this with every configuration.
void Misbehave(const Configuration& configuration, FakeDeviceScript& script) {
  // The print must not get between the messages.
  std::puts("a driver prints to standard output");
  std::fflush(stdout);
  static int calls = 0;
  ++calls;
  if (configuration[0] == 16 && configuration[1] == 32) {
    // Loses the device always, or in any process but a fresh one.
    if (configuration[2] == 1 || calls > 1) {
      script.prepare_errors[configuration] = absl::UnavailableError("lost");
      script.measure_errors[configuration] = absl::AbortedError("fault");
    }
    return;
  }
  if (configuration[0] == 64 && configuration[2] == 0) {
    // Killed from outside, or out of memory.
    if (configuration[1] == 32) std::raise(SIGKILL);
    std::fputs("LLVM ERROR: out of memory\n", stderr);
    std::abort();
  }
  if (configuration[2] == 0) return;
  if (configuration[0] == 16) {
    std::fputs("about to crash\n", stderr);
    // Not to a sanitizer's handler, which writes a report first.
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  }
  if (configuration[1] == 8) {
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  std::exit(7);
}

// "crashes" or "hangs", and with "late-" before it only after candidates have
// run, as the worker says.
void MisbehaveInReference(absl::string_view how, FakeDeviceScript& script) {
  if (absl::ConsumePrefix(&how, "late-")) {
    script.reference_use = ReferenceUse::kAfterCandidates;
  }
  script.on_reference = [crashes = how == "crashes"] {
    if (crashes) std::raise(SIGSEGV);
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  };
}

// A worker that says it keeps kernels, and has forgotten each.
int RunForgetfulWorker(Backend& backend) {
  const auto send = [](const v1::WorkerResponse& response) {
    return WriteFrame(STDOUT_FILENO, response.SerializeAsString());
  };
  WorkerService service(backend, [send](const v1::WorkerResponse& response) {
    send(response).IgnoreError();
  });
  for (;;) {
    const absl::StatusOr<std::string> frame = ReadFrame(STDIN_FILENO);
    v1::WorkerRequest request;
    if (!frame.ok() || !request.ParseFromString(*frame)) return 0;
    if (NamesKernel(request.load().kernel())) {
      request.mutable_load()->mutable_kernel()->set_fingerprint("forgotten");
    }
    if (!send(service.Handle(request)).ok()) return 1;
  }
}

}  // namespace
}  // namespace wavetune

// With an argument the reference misbehaves, too (see MisbehaveInReference), or
// the worker "forgets", or each second burst is "throttled".
int main(int argc, char** argv) {
  using namespace wavetune;
  if (argc > 2 && absl::string_view(argv[argc - 2]) == "--nice") {
    BeNice(std::atoi(argv[argc - 1]));
    argc -= 2;
  }
  auto script = std::make_shared<FakeDeviceScript>();
  script->facts.backend = "opencl";
  script->on_call = [&script = *script](const Configuration& configuration) {
    Misbehave(configuration, script);
  };
  if (argc > 1 && absl::string_view(argv[1]) == "forgets") {
    script->on_call = [](const Configuration&) {};
    FakeBackend backend(script);
    return RunForgetfulWorker(backend);
  }
  if (argc > 1 && absl::string_view(argv[1]) == "throttled") {
    script->on_times = [](int burst, LaunchTimes& times) {
      times.throttled = burst % 2 == 0;
      times.throttle_reasons = times.throttled ? 0x40 : 0;
      times.sm_clock_mhz = times.throttled ? 1000 + burst : 1980;
    };
  } else if (argc > 1) {
    MisbehaveInReference(argv[1], *script);
  }
  return RunWorker([&] { return std::make_unique<FakeBackend>(script); });
}
