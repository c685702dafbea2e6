#include "model/text/lexer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "base/printable_text.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

bool IsSpace(char c) {
  return absl::ascii_isspace(static_cast<unsigned char>(c));
}

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

bool IsNameStart(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_';
}

bool IsInName(char c) { return IsNameStart(c) || IsDigit(c); }

// What people write from other languages, and what is written here.
constexpr std::array<std::pair<absl::string_view, absl::string_view>, 12>
    kForeign = {{{"&&", "and"},
                 {"||", "or"},
                 {"**", "a product"},
                 {"//", "floor_div(a, b)"},
                 {"\xe2\x89\xa4", "<="},
                 {"\xe2\x89\xa5", ">="},
                 {"\xe2\x89\xa0", "!="},
                 {"\xc3\x97", "*"},
                 {"\xc2\xb7", "*"},
                 {"\xe2\x88\x92", "-"},
                 {"\xe2\x88\xa7", "and"},
                 {"\xe2\x88\xa8", "or"}}};

constexpr std::array<absl::string_view, 5> kTwoBytes = {
    "<=", ">=", "==", "!=", ".."};
constexpr absl::string_view kOneByte = "+-*/%()[]{},<>=:;";

}  // namespace

Lexer::Lexer(absl::string_view text) : text_(text) { Advance(); }

Token Lexer::Take() {
  Token taken = next_;
  if (ok()) Advance();
  return taken;
}

bool Lexer::TakeIf(absl::string_view wanted) {
  if (!next_.Is(wanted)) return false;
  Take();
  return true;
}

bool Lexer::Expect(absl::string_view wanted) {
  return TakeIf(wanted) || FailHere(absl::StrCat("'", wanted, "'"));
}

bool Lexer::FailHere(absl::string_view wanted) {
  if (next_.kind == Token::Kind::kEnd) {
    return Fail(next_.at, "the text ends here; write ", wanted);
  }
  return Fail(next_.at, "'", next_.text, "' stands where ", wanted, " belongs");
}

void Lexer::Advance() {
  while (position_ < text_.size() && IsSpace(text_[position_])) ++position_;
  const size_t begin = position_;
  next_ = Token{.at = begin};
  if (begin == text_.size()) return;
  if (IsDigit(text_[begin])) return ReadNumber(begin);
  if (!IsNameStart(text_[begin])) return ReadSymbol(begin);
  while (position_ < text_.size() && IsInName(text_[position_])) ++position_;
  next_.kind = Token::Kind::kName;
  next_.text = text_.substr(begin, position_ - begin);
}

void Lexer::ReadNumber(size_t begin) {
  const auto skip_digits = [this] {
    while (position_ < text_.size() && IsDigit(text_[position_])) ++position_;
  };
  skip_digits();
  const bool real = position_ + 1 < text_.size() && text_[position_] == '.' &&
                    IsDigit(text_[position_ + 1]);
  if (real) {
    ++position_;
    skip_digits();
  }
  next_.text = text_.substr(begin, position_ - begin);
  if (position_ < text_.size() && IsNameStart(text_[position_])) {
    Fail(position_,
         "a name begins with a letter; write a space or an operator "
         "after ",
         next_.text);
  } else if (real) {
    next_.kind = Token::Kind::kReal;
  } else if (next_.text.size() > 1 && next_.text[0] == '0') {
    Fail(begin, "'", next_.text, "' begins with 0; numbers are decimal");
  } else if (!absl::SimpleAtoi(next_.text, &next_.number) ||
             next_.number > kExpressionLimit) {
    Fail(begin, "the number is above 2^51; values beyond that count as 2^51");
  } else {
    next_.kind = Token::Kind::kNumber;
  }
}

void Lexer::ReadSymbol(size_t begin) {
  const absl::string_view rest = text_.substr(begin);
  for (const auto& [foreign, ours] : kForeign) {
    if (rest.substr(0, foreign.size()) == foreign) {
      Fail(begin, "'", foreign, "' is not of this language; write ", ours);
      return;
    }
  }
  size_t size = 0;
  if (std::find(kTwoBytes.begin(), kTwoBytes.end(), rest.substr(0, 2)) !=
      kTwoBytes.end()) {
    size = 2;
  } else if (kOneByte.find(rest[0]) != absl::string_view::npos) {
    size = 1;
  }
  if (size == 0) {
    // A whole character of UTF-8.
    size_t character = 1;
    while (character < rest.size() && (rest[character] & 0xc0) == 0x80) {
      ++character;
    }
    const absl::string_view advice = rest[0] == '!'   ? "; write not"
                                     : rest[0] == '^' ? "; write a product"
                                                      : "";
    Fail(begin, "'", PrintableText(rest.substr(0, character)),
         "' is not of this language", advice);
    return;
  }
  position_ += size;
  next_.kind = Token::Kind::kSymbol;
  next_.text = rest.substr(0, size);
}

}  // namespace wavetune
