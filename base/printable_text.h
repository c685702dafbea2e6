// Text that came from elsewhere, made fit to be shown and sent: valid UTF-8,
// and no longer than its place.
//
//   PrintableText("caf\xe9")            // "caf\\xe9"
//   BoundedText(compiler_output, 4096)  // "kernel.cl:3: ... (9134 bytes more)"
//
// Protobuf sends strings that are not UTF-8 and then refuses to read them, so
// that one such byte loses a whole message. Every border escapes foreign bytes:
// file names, manifests, compiler output, arguments.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_BASE_PRINTABLE_TEXT_H_
#define WAVETUNE_BASE_PRINTABLE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace wavetune {

// Returns the length in bytes of the valid UTF-8 that `text` begins with
// (Unicode 15, table 3-7: neither overlong forms nor surrogates). Cannot fail.
size_t Utf8Prefix(absl::string_view text);

// Returns whether all of `text` is valid UTF-8.
bool IsUtf8(absl::string_view text);

// Returns `text` with each byte that is not part of valid UTF-8 as \xNN. A
// valid part stays as it is, a backslash too. Cannot fail.
std::string PrintableText(absl::string_view text);

// As PrintableText, cut between two characters so that at most `max_bytes` of
// it stay; what follows is counted: " ... (N bytes more)". Cost: O(max_bytes)
// and the copied bytes, whatever the length of `text`.
std::string BoundedText(absl::string_view text, size_t max_bytes);

// Returns the beginning of `text` of at most `max_bytes`, cut between two
// characters of UTF-8.
absl::string_view CutBetweenCharacters(absl::string_view text,
                                       size_t max_bytes);

// Returns `text`, or its beginning of at most `max_bytes`, cut likewise, and
// "..." where it is longer.
std::string ShortenedText(absl::string_view text, size_t max_bytes);

// Returns "1,234,567".
std::string WithCommas(uint64_t number);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_PRINTABLE_TEXT_H_
