// What a fault says of a word that is not known: the known one that was meant.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_BASE_SUGGESTION_H_
#define WAVETUNE_BASE_SUGGESTION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace wavetune {

// Returns "; did you mean x?" with the word of `known` that is nearest by
// letters changed, left out, added or exchanged, up to a third of them, in
// either case. "; known are: a, b" where none is near; nothing where none is
// known. Cannot fail.
std::string Suggestion(absl::string_view word,
                       const std::vector<std::string>& known);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_SUGGESTION_H_
