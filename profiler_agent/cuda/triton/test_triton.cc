#include "profiler_agent/cuda/triton/test_triton.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "profiler_agent/worker/test_kernels.h"

namespace wavetune {

std::string TestTritonPython() {
  static const auto* const python = new std::string([] {
    std::string said;
    if (const char* const given = getenv("WAVETUNE_TEST_TRITON_PYTHON")) {
      return std::string(given);
    }
    FILE* const script =
        popen(WAVETUNE_SOURCE_DIR "/tests/triton_environment.py", "r");
    if (script == nullptr) return said;
    std::array<char, 4096> bytes;
    while (const size_t count = fread(bytes.data(), 1, bytes.size(), script)) {
      said.append(bytes.data(), count);
    }
    if (pclose(script) != 0) said.clear();
    return std::string(absl::StripAsciiWhitespace(said));
  }());
  return *python;
}

LoadedKernel TritonGelu(const std::map<std::string, std::string>& files) {
  LoadedKernel kernel = TestKernel(kTritonGelu);
  for (const auto& [name, content] : files) kernel.files[name] = content;
  return kernel;
}

}  // namespace wavetune
