// Preparation of the text of a model's config.json before anybody reads it as
// JSON, and before it is sent.
//
//   request.set_config(CompactConfig(file));
//
// Why no JSON library: clients send such texts and need none otherwise.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_CONFIG_TEXT_H_
#define WAVETUNE_FORMATS_CONFIG_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace wavetune {

// Largest config.json that is taken from a user, and the largest that may be
// left of it to send, store and read. Lists of all modules of a quantised
// mixture of experts have some megabytes.
inline constexpr size_t kMaxConfigFileBytes = size_t{16} << 20;
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;

// Returns `text` with null for NaN, Infinity and -Infinity, which Python's json
// writes and JSON does not have. Lines stay as they are. Cannot fail.
std::string WithoutPythonLiterals(absl::string_view text);

// Returns `text` without what no layer follows from: blanks, names of labels
// and of code, and of experts that are quantised alike all but one of a layer.
// Literals of Python are null. Text that is no JSON object, or nested deeper
// than 64 levels, is returned as it is: its reader says what is wrong. Cannot
// fail.
std::string CompactConfig(absl::string_view text);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_CONFIG_TEXT_H_
