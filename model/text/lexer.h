// Lexer: the words of a text in a manifest (docs/manifest.md).
//
// Thread safety: used by one thread.
#ifndef WAVETUNE_MODEL_TEXT_LEXER_H_
#define WAVETUNE_MODEL_TEXT_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// What is wrong with a text, and at which of its bytes, counted from 0.
struct TextFault {
  size_t at = 0;
  std::string what;
};

struct Token {
  enum class Kind { kEnd, kNumber, kReal, kName, kSymbol };
  Kind kind = Kind::kEnd;
  absl::string_view text;  // Empty at the end.
  size_t at = 0;
  int64_t number = 0;  // kNumber's.

  bool Is(absl::string_view wanted) const {
    return kind != Kind::kEnd && text == wanted;
  }
};

class Lexer {
 public:
  // `text` must outlive this.
  explicit Lexer(absl::string_view text);

  // The word that Take returns next. After a fault it is the end.
  const Token& Peek() const { return next_; }
  Token Take();
  // Takes the next word if it is `wanted`; returns whether it was.
  bool TakeIf(absl::string_view wanted);
  // Takes it, or says that it is missing: "write ')' here".
  bool Expect(absl::string_view wanted);

  // Records a fault unless there is one already. Returns false.
  template <typename... Parts>
  bool Fail(size_t at, const Parts&... parts) {
    if (!fault_.has_value()) fault_ = TextFault{at, absl::StrCat(parts...)};
    next_ = Token{.at = text_.size()};
    return false;
  }
  // Says that what comes next is not `wanted`.
  bool FailHere(absl::string_view wanted);

  bool ok() const { return !fault_.has_value(); }
  const std::optional<TextFault>& fault() const { return fault_; }
  absl::string_view text() const { return text_; }

 private:
  void Advance();
  void ReadNumber(size_t begin);
  void ReadSymbol(size_t begin);

  absl::string_view text_;
  size_t position_ = 0;
  Token next_;
  std::optional<TextFault> fault_;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TEXT_LEXER_H_
