// SimdPath: which instructions a decision uses.
//
//   auto table = CompiledTable::Create(payload, SimdPath::kScalar);
//
// Why several: one binary runs on every CPU of its architecture and uses the
// widest registers that this one has. All paths give the same bits: each lane
// does what kScalar does, in the same order
// (tests/component/decision_differential_test.cc).
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_MODEL_DECIDE_SIMD_SIMD_PATH_H_
#define WAVETUNE_MODEL_DECIDE_SIMD_SIMD_PATH_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace wavetune {

enum class SimdPath : uint8_t { kScalar, kNeon, kAvx2, kAvx512 };

// Returns what this CPU runs, the slowest first; kScalar always. Cannot fail.
std::vector<SimdPath> SupportedSimdPaths();

// Returns the path with that name where this CPU runs it, else the fastest that
// it runs. nullptr: no name. Cannot fail.
SimdPath SimdPathNamed(const char* name);

// Returns the path that the environment variable WAVETUNE_SIMD names (scalar,
// neon, avx2, avx512), as SimdPathNamed does. Reads CPU and environment on the
// first call only. Cannot fail.
SimdPath DefaultSimdPath();

// Returns "scalar", "neon", "avx2" or "avx512". Cannot fail.
absl::string_view ToString(SimdPath path);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_SIMD_SIMD_PATH_H_
