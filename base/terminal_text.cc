#include "base/terminal_text.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"

namespace wavetune {
namespace {

// Length of the valid character that begins with `first`.
size_t SizeOf(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

// Of a valid character.
uint32_t CodePoint(absl::string_view character) {
  const auto byte = [character](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(character[i]));
  };
  uint32_t point = character.size() == 1
                       ? byte(0)
                       : byte(0) & (0xffu >> (character.size() + 1));
  for (size_t i = 1; i < character.size(); ++i) {
    point = point << 6 | (byte(i) & 0x3f);
  }
  return point;
}

// C0, DEL, C1; separators of lines; marks, embeddings, overrides and isolates
// of direction (Unicode 15, UAX 9, section 2).
bool IsObeyed(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x061c ||
         point == 0x200e || point == 0x200f ||
         (point >= 0x2028 && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069);
}

void AppendObeyed(uint32_t point, std::string& line) {
  switch (point) {
    case '\n':
      line += "\\n";
      break;
    case '\r':
      line += "\\r";
      break;
    case '\t':
      line += "\\t";
      break;
    default:
      if (point < 0x20) {
        absl::StrAppend(&line, "\\x", absl::Hex(point, absl::kZeroPad2));
      } else {
        absl::StrAppend(&line, "\\u", absl::Hex(point, absl::kZeroPad4));
      }
  }
}

}  // namespace

std::string LineText(absl::string_view text) {
  const std::string printable = PrintableText(text);
  std::string line;
  line.reserve(printable.size());
  for (absl::string_view rest = printable; !rest.empty();) {
    const absl::string_view character =
        rest.substr(0, SizeOf(static_cast<unsigned char>(rest.front())));
    const uint32_t point = CodePoint(character);
    if (IsObeyed(point)) {
      AppendObeyed(point, line);
    } else {
      absl::StrAppend(&line, character);
    }
    rest.remove_prefix(character.size());
  }
  return line;
}

std::string ParagraphText(absl::string_view text, absl::string_view indent) {
  std::string lines;
  for (;;) {
    const size_t end = text.find('\n');
    absl::StrAppend(&lines, LineText(text.substr(0, end)));
    if (end == absl::string_view::npos) return lines;
    text.remove_prefix(end + 1);
    absl::StrAppend(&lines, "\n", text.empty() ? "" : indent);
  }
}

}  // namespace wavetune
