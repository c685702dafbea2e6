// A worker on a fake device that misbehaves on demand: the value of the
// parameter BREAK decides, see remote_device_test.cc.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "profiler_agent/measure/fake_device.h"
#include "profiler_agent/worker/worker_main.h"

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

}  // namespace
}  // namespace wavetune

// With an argument the reference misbehaves, too: see MisbehaveInReference.
int main(int argc, char** argv) {
  using namespace wavetune;
  auto script = std::make_shared<FakeDeviceScript>();
  script->facts.backend = "opencl";
  script->on_call = [&script = *script](const Configuration& configuration) {
    Misbehave(configuration, script);
  };
  if (argc > 1) MisbehaveInReference(argv[1], *script);
  return RunWorker([&] { return std::make_unique<FakeBackend>(script); });
}
