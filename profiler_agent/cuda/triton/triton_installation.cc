#include "profiler_agent/cuda/triton/triton_installation.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "profiler_agent/cuda/triton/triton_process.h"
#include "profiler_agent/cuda/triton/triton_scripts.h"
#include "profiler_agent/worker/frame.h"
#include "profiler_agent/worker/piped_process.h"

namespace wavetune {
namespace {

using Json = nlohmann::ordered_json;

// A cold disk, and a busy machine.
constexpr auto kProbeTimeout = std::chrono::seconds(20);

// The first whose ASTSource takes the attributes that we give.
constexpr int kOldestMajor = 3;
constexpr int kOldestMinor = 6;

// ptxas-blackwell compiles from here on, where Triton has it.
constexpr int kFirstOfBlackwell = 100;

absl::StatusOr<TritonInstallation> AskForTriton(const std::string& python) {
  const std::vector<std::string> environment = TritonEnvironment();
  ASSIGN_OR_RETURN(
      const std::unique_ptr<PipedProcess> process,
      PipedProcess::Start({python, "-c", std::string(triton_scripts::kProbe)},
                          "python", &environment));
  const absl::StatusOr<std::string> frame =
      ReadFrame(process->output(), SystemClock().SteadyNow() + kProbeTimeout);
  if (absl::IsOutOfRange(frame.status())) return process->Died();
  if (!frame.ok()) return frame.status();
  const Json said = Json::parse(*frame, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object()) return absl::DataLossError("its answer is no JSON");
  return TritonInstallation{
      .python = said.value("python", python),
      .version = said.value("version", ""),
      .ptxas = said.value("ptxas", ""),
      .ptxas_blackwell = said.value("ptxas_blackwell", "")};
}

// Whether the agent works with a version.
bool IsUsableTriton(const std::string& version) {
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  int major = 0;
  int minor = 0;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &major) ||
      !absl::SimpleAtoi(parts[1], &minor)) {
    return false;
  }
  return std::pair(major, minor) >= std::pair(kOldestMajor, kOldestMinor);
}

}  // namespace

TritonInstallation FindTriton(const std::string& python) {
  absl::StatusOr<TritonInstallation> found = AskForTriton(python);
  if (!found.ok()) {
    return {.python = python,
            .note = absl::StrCat(python, " cannot be asked for Triton: ",
                                 found.status().message())};
  }
  if (found->version.empty() || IsUsableTriton(found->version)) return *found;
  found->note = absl::StrCat(
      found->python, " has Triton ", std::exchange(found->version, ""),
      ", which is too old: ", found->python,
      " -m pip install 'triton>=", kOldestMajor, ".", kOldestMinor, "'");
  return *found;
}

void AddTriton(const TritonInstallation& installation, DeviceFacts& facts) {
  facts.python = installation.python;
  facts.triton = TritonCompilerName(installation, ComputeCapability(facts));
}

std::string TritonCompilerName(const TritonInstallation& installation,
                               int capability) {
  if (installation.version.empty()) return "";
  return absl::StrCat("Triton ", installation.version, ", ptxas ",
                      capability >= kFirstOfBlackwell
                          ? installation.ptxas_blackwell
                          : installation.ptxas);
}

}  // namespace wavetune
