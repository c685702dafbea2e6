#include "base/printable_text.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

// A byte escaped: \xNN.
constexpr size_t kEscapedBytes = 4;

// Returns the length of the character that `text` begins with; 0 where it
// begins with none.
size_t CharacterSize(absl::string_view text) {
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const unsigned char first = byte(0);
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  // Bounds of the second byte: those that leave out overlong forms, surrogates
  // and what is beyond U+10FFFF.
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
  size_t size = 0;
  if (first >= 0xc2 && first <= 0xdf) {
    size = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    size = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    size = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  } else {
    return 0;
  }
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < size; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return size;
}

void AppendEscaped(unsigned char byte, std::string& out) {
  constexpr absl::string_view kDigits = "0123456789abcdef";
  const std::array<char, kEscapedBytes> escaped = {
      '\\', 'x', kDigits[byte >> 4], kDigits[byte & 0xf]};
  out.append(escaped.data(), escaped.size());
}

}  // namespace

size_t Utf8Prefix(absl::string_view text) {
  size_t size = 0;
  while (const size_t character = CharacterSize(text.substr(size))) {
    size += character;
  }
  return size;
}

bool IsUtf8(absl::string_view text) { return Utf8Prefix(text) == text.size(); }

std::string PrintableText(absl::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    const size_t valid = Utf8Prefix(text);
    printable.append(text.data(), valid);
    text.remove_prefix(valid);
    if (text.empty()) break;
    AppendEscaped(static_cast<unsigned char>(text.front()), printable);
    text.remove_prefix(1);
  }
  return printable;
}

std::string BoundedText(absl::string_view text, size_t max_bytes) {
  std::string bounded;
  while (!text.empty()) {
    const size_t character = CharacterSize(text);
    const size_t needed = character > 0 ? character : kEscapedBytes;
    if (bounded.size() + needed > max_bytes) break;
    if (character > 0) {
      bounded.append(text.data(), character);
    } else {
      AppendEscaped(static_cast<unsigned char>(text.front()), bounded);
    }
    text.remove_prefix(std::max<size_t>(1, character));
  }
  if (!text.empty()) {
    absl::StrAppend(&bounded, " ... (", text.size(), " bytes more)");
  }
  return bounded;
}

absl::string_view CutBetweenCharacters(absl::string_view text,
                                       size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t size = max_bytes;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) {
    --size;
  }
  return text.substr(0, size);
}

std::string ShortenedText(absl::string_view text, size_t max_bytes) {
  const absl::string_view begin = CutBetweenCharacters(text, max_bytes);
  return absl::StrCat(begin, begin.size() < text.size() ? "..." : "");
}

std::string WithCommas(uint64_t number) {
  std::string digits = absl::StrCat(number);
  for (size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

}  // namespace wavetune
