#include "profiler_agent/cuda/cuda_architecture.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace wavetune {
namespace {

constexpr int kFirstWithOwnForm = 90;

}  // namespace

CudaArchitecture CudaArchitectureOf(int capability) {
  return {.capability = capability,
          .target = absl::StrCat(CudaArchitectureName(capability),
                                 capability >= kFirstWithOwnForm ? "a" : "")};
}

std::string CudaArchitectureName(int capability) {
  return absl::StrCat("sm_", capability);
}

absl::StatusOr<CudaArchitecture> ParseCudaArchitecture(absl::string_view text) {
  absl::string_view digits = text;
  const bool named = absl::ConsumePrefix(&digits, "sm_");
  if (!absl::ConsumeSuffix(&digits, "a")) absl::ConsumeSuffix(&digits, "f");
  int capability = 0;
  if (!named || !absl::SimpleAtoi(digits, &capability) || capability < 10 ||
      capability > 9999) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text,
                     "' is no GPU architecture; give one like sm_80, sm_90a "
                     "or sm_120a"));
  }
  return CudaArchitecture{.capability = capability,
                          .target = std::string(text)};
}

int64_t MaxSharedMemoryOf(int capability) {
  constexpr int64_t kKib = 1024;
  switch (capability) {
    case 75:
      return 64 * kKib;
    case 80:
    case 87:
      return 163 * kKib;
    case 86:
    case 89:
    case 120:
    case 121:
      return 99 * kKib;
    default:
      return 227 * kKib;
  }
}

absl::Status CheckArchitecture(const CudaArchitecture& architecture,
                               const std::vector<int>& supported,
                               absl::string_view compiler) {
  if (std::find(supported.begin(), supported.end(), architecture.capability) !=
      supported.end()) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat(compiler, " does not compile for ", architecture.target,
                   " (it knows: sm_", absl::StrJoin(supported, ", sm_"),
                   "); install a CUDA toolkit that does"));
}

}  // namespace wavetune
