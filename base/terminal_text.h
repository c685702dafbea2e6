// Text that somebody else wrote, as a terminal may show it: it ends no line,
// moves no cursor and turns no direction.
//
//   LineText("GPU\x1b[2J\n")             // "GPU\\x1b[2J\\n"
//   ParagraphText(compiler_output, "  ")  // line ends stay
//
// Thread safety: pure functions.
#ifndef WAVETUNE_BASE_TERMINAL_TEXT_H_
#define WAVETUNE_BASE_TERMINAL_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace wavetune {

// As PrintableText, with what a terminal obeys instead of showing it escaped,
// too: C0 as \n, \r, \t or \xNN; DEL, C1, separators of lines and marks of
// direction as \uNNNN, which JSON knows, too. Cannot fail.
std::string LineText(absl::string_view text);

// The same of a text of several lines, of which all but the first begin with
// `indent`, so that none passes for a line of its own.
std::string ParagraphText(absl::string_view text, absl::string_view indent);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_TERMINAL_TEXT_H_
