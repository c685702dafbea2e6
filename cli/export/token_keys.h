// Token counts that a file of an engine needs, for its reader to choose at
// every count what was decided there.
//
// Engines take the entry whose count is nearest, of two the one that stands
// first. So a run of counts with one choice is given by its first and its last:
// what lies between is nearest to one of them, whatever stands outside.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_EXPORT_TOKEN_KEYS_H_
#define WAVETUNE_CLI_EXPORT_TOKEN_KEYS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "wavetune/configuration.h"

namespace wavetune::cli {

// Up to here every count has an entry, so that a person who reads the file, or
// an engine that looks for exact counts, finds those of decoding.
inline constexpr int64_t kEveryTokenCount = 64;

// Returns the counts, ascending: 1 to kEveryTokenCount, then both sides of
// every change, and the last. choices[i] is what is decided at i + 1 tokens.
// Cannot fail. Cost: linear.
std::vector<int64_t> KeyTokens(absl::Span<const Configuration> choices);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_TOKEN_KEYS_H_
