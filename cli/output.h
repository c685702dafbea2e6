// Output: where a command prints.
//
//   Output out(&std::cout);
//   out << "device  " << facts.label() << "\n";
//
// Literals are the program's own. Any other text may be somebody else's: a
// device's label, a reason that another node gave. It is printed on one line,
// with what a terminal would obey escaped (LineText), so that nobody writes to
// the screen of whoever looks. Texts that have several lines by right say so:
//
//   out << "why  " << Lines(compiler_output, "     ");
//
// Thread safety: as the stream's.
#ifndef WAVETUNE_CLI_OUTPUT_H_
#define WAVETUNE_CLI_OUTPUT_H_

#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "base/terminal_text.h"

namespace wavetune::cli {

// Text of several lines. All but the first begin with `indent`.
struct Lines {
  explicit Lines(absl::string_view lines, absl::string_view indent_by = "")
      : text(lines), indent(indent_by) {}

  absl::string_view text;
  absl::string_view indent;
};

class Output {
 public:
  // `stream` must outlive it.
  explicit Output(std::ostream* stream) : stream_(*stream) {}

  // A literal, as it is.
  Output& operator<<(const char* ours) {
    stream_ << ours;
    return *this;
  }
  Output& operator<<(absl::string_view text) {
    stream_ << LineText(text);
    return *this;
  }
  Output& operator<<(std::string_view text) {
    return *this << absl::string_view(text.data(), text.size());
  }
  Output& operator<<(const std::string& text) {
    return *this << absl::string_view(text);
  }
  Output& operator<<(const Lines& lines) {
    stream_ << ParagraphText(lines.text, lines.indent);
    return *this;
  }
  template <typename Number>
  requires std::is_arithmetic_v<Number> Output& operator<<(Number number) {
    stream_ << number;
    return *this;
  }

  void Flush() { stream_.flush(); }

  // For what writes by itself: the parser's help.
  std::ostream& stream() { return stream_; }

 private:
  std::ostream& stream_;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_OUTPUT_H_
