#include "formats/manifest_text/places.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

// Returns the end of an escape that begins at `begin` with a backslash.
size_t EndOfEscape(absl::string_view text, size_t begin) {
  size_t end = std::min(begin + 2, text.size());
  const auto digits = [&](size_t most, bool hexadecimal) {
    for (size_t i = 0; i < most && end < text.size(); ++i, ++end) {
      const auto c = static_cast<unsigned char>(text[end]);
      if (!(hexadecimal ? absl::ascii_isxdigit(c) : absl::ascii_isdigit(c))) {
        return;
      }
    }
  };
  const char kind = begin + 1 < text.size() ? text[begin + 1] : '\0';
  if (kind == 'x' || kind == 'X') digits(2, true);
  if (absl::ascii_isdigit(static_cast<unsigned char>(kind))) digits(2, false);
  return end;
}

// Returns the place after white space and comments.
size_t SkipBetween(absl::string_view text, size_t at) {
  while (at < text.size()) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (absl::ascii_isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

// Returns where in `manifest` byte number `wanted` stands of the text whose
// adjacent string literals begin at `at`.
size_t ByteOfText(absl::string_view manifest, size_t at, size_t wanted) {
  while (at < manifest.size() &&
         (manifest[at] == '"' || manifest[at] == '\'')) {
    const char quote = manifest[at++];
    while (at < manifest.size() && manifest[at] != quote) {
      if (wanted-- == 0) return at;
      at = manifest[at] == '\\' ? EndOfEscape(manifest, at) : at + 1;
    }
    const size_t next =
        SkipBetween(manifest, std::min(at + 1, manifest.size()));
    const bool more = next < manifest.size() &&
                      (manifest[next] == '"' || manifest[next] == '\'');
    if (!more) return at;  // The end of the text.
    at = next;
  }
  return at;
}

}  // namespace

std::string LineAndColumn(absl::string_view text, size_t at) {
  at = std::min(at, text.size());
  const absl::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t begin = before.rfind('\n');
  const size_t column = at - (begin == absl::string_view::npos ? 0 : begin + 1);
  return absl::StrCat("line ", line, ", column ", column + 1);
}

std::string ManifestPlaces::Of(const v1::ManifestText& text, size_t at) const {
  const size_t byte = static_cast<size_t>(std::max(0, text.skip())) + at;
  if (manifest_.empty() || text.at() < 1) {
    return absl::StrCat("column ", byte + 1, " of its text");
  }
  return LineAndColumn(
      manifest_,
      ByteOfText(manifest_, static_cast<size_t>(text.at()) - 1, byte));
}

}  // namespace wavetune
