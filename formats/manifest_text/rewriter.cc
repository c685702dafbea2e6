#include "formats/manifest_text/rewriter.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

bool IsInWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool IsQuote(char c) { return c == '"' || c == '\''; }

// Returns the end of the string literal, comment, white space, word or other
// character that begins at `begin`.
size_t EndOfToken(absl::string_view text, size_t begin) {
  const char first = text[begin];
  size_t end = begin + 1;
  if (first == '#') return std::min(text.find('\n', begin), text.size());
  if (IsQuote(first)) {
    while (end < text.size() && text[end] != first && text[end] != '\n') {
      end += text[end] == '\\' ? 2 : 1;
    }
    return std::min(end + 1, text.size());
  }
  const auto run = [&](auto belongs) {
    while (end < text.size() && belongs(text[end])) ++end;
    return end;
  };
  if (IsInWord(first)) return run(IsInWord);
  const auto is_space = [](char c) {
    return absl::ascii_isspace(static_cast<unsigned char>(c));
  };
  return is_space(first) ? run(is_space) : end;
}

// Whether a text may stand in the place of the field's message.
bool TakesText(const google::protobuf::FieldDescriptor* field) {
  if (field == nullptr || field->message_type() == nullptr) return false;
  const auto* text = field->message_type()->FindFieldByName("text");
  return text != nullptr && text->message_type() != nullptr;
}

}  // namespace

TextRewriter::TextRewriter(absl::string_view text,
                           const google::protobuf::Descriptor* root)
    : text_(text), frames_{{root, nullptr}} {
  for (size_t begin = 0; begin < text_.size();) begin = Copy(begin);
}

size_t TextRewriter::Original(size_t at) const {
  size_t shift = 0;
  for (const auto& [place, added] : shifts_) {
    if (place > at) break;
    shift += added;
  }
  return at - std::min(at, shift);
}

size_t TextRewriter::Copy(size_t begin) {
  const size_t end = EndOfToken(text_, begin);
  const absl::string_view token = text_.substr(begin, end - begin);
  Frame& frame = frames_.back();
  if (IsQuote(token[0]) && TakesText(frame.field)) {
    return CopyStrings(begin, end);
  }
  if (IsInWord(token[0])) {
    const auto* field =
        frame.message == nullptr
            ? nullptr
            : frame.message->FindFieldByName(std::string(token));
    // Values are words, too: `role: INPUT`.
    if (field != nullptr) frame.field = field;
  } else if (token == "{" || token == "<") {
    const auto* field = frame.field;
    frames_.push_back(
        {field == nullptr ? nullptr : field->message_type(), nullptr});
  } else if ((token == "}" || token == ">") && frames_.size() > 1) {
    frames_.pop_back();
  }
  absl::StrAppend(&result_, token);
  return end;
}

// Adjacent strings are one text, with what stands between them.
size_t TextRewriter::CopyStrings(size_t begin, size_t end) {
  for (size_t next = end; next < text_.size();) {
    const size_t after = EndOfToken(text_, next);
    const char first = text_[next];
    const bool between =
        first == '#' || absl::ascii_isspace(static_cast<unsigned char>(first));
    if (IsQuote(first)) end = after;
    if (!between && !IsQuote(first)) break;
    next = after;
  }
  Insert("{ text { text: ");
  absl::StrAppend(&result_, text_.substr(begin, end - begin));
  Insert(absl::StrCat(" at: ", begin + 1, " } }"));
  return end;
}

void TextRewriter::Insert(absl::string_view added) {
  absl::StrAppend(&result_, added);
  shifts_.emplace_back(result_.size(), added.size());
}

}  // namespace wavetune
