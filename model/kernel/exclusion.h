// Why a candidate is excluded, as far as it matters to more than people.
//
// A reason is text, from the agent through the store to `jobs show`. Its first
// words are the contract; what follows them is for people.
#ifndef WAVETUNE_MODEL_KERNEL_EXCLUSION_H_
#define WAVETUNE_MODEL_KERNEL_EXCLUSION_H_

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "model/kernel/sample.h"

namespace wavetune {

// The reason of a candidate whose results differ from the reference's begins
// so.
inline constexpr absl::string_view kWrongResult = "wrong result: ";

// Returns whether the candidate was shown to compute wrong results. Cannot
// fail.
inline bool IsWrong(const Candidate& candidate) {
  return absl::StartsWith(candidate.excluded_reason, kWrongResult);
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_EXCLUSION_H_
