#include "model/decide/simd/simd_path.h"

#include <cstdlib>

#include "model/decide/simd/lane_kernel.h"

namespace wavetune {
namespace {

bool CpuRuns(SimdPath path) {
  switch (path) {
    case SimdPath::kScalar:
    case SimdPath::kNeon:  // Part of AArch64; not built elsewhere.
      return true;
#if defined(__x86_64__)
    // What model/CMakeLists.txt compiles the files for. These look at what the
    // operating system saves, too.
    case SimdPath::kAvx2:
      return __builtin_cpu_supports("avx2") != 0;
    case SimdPath::kAvx512:
      return __builtin_cpu_supports("avx512f") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0;
#else
    case SimdPath::kAvx2:
    case SimdPath::kAvx512:
      return false;
#endif
  }
  return false;
}

}  // namespace

std::vector<SimdPath> SupportedSimdPaths() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  std::vector<SimdPath> paths;
  for (const SimdPath path : {SimdPath::kScalar, SimdPath::kNeon,
                              SimdPath::kAvx2, SimdPath::kAvx512}) {
    if (FindLaneKernel(path) != nullptr && CpuRuns(path)) paths.push_back(path);
  }
  return paths;
}

SimdPath SimdPathNamed(const char* name) {
  const std::vector<SimdPath> supported = SupportedSimdPaths();
  if (name != nullptr) {
    for (const SimdPath path : supported) {
      if (ToString(path) == name) return path;
    }
  }
  return supported.back();
}

SimdPath DefaultSimdPath() {
  // getenv: once, before any thread of ours could change the environment.
  static const SimdPath path = SimdPathNamed(
      std::getenv("WAVETUNE_SIMD"));  // NOLINT(concurrency-mt-unsafe)
  return path;
}

absl::string_view ToString(SimdPath path) {
  switch (path) {
    case SimdPath::kScalar:
      return "scalar";
    case SimdPath::kNeon:
      return "neon";
    case SimdPath::kAvx2:
      return "avx2";
    case SimdPath::kAvx512:
      return "avx512";
  }
  return "unknown";
}

}  // namespace wavetune
