#include "formats/text_with_descriptor.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace wavetune {
namespace {

class ErrorLines : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    lines_.push_back(absl::StrCat("line ", line + 1, ", column ", column + 1,
                                  ": ", message));
  }
  std::string Text() const { return absl::StrJoin(lines_, "\n  "); }

 private:
  std::vector<std::string> lines_;
};

// Fields of manifests and recorded devices that had another name in 0.1: their
// files keep working. No message has a field with a former name.
constexpr std::array<std::pair<absl::string_view, absl::string_view>, 5>
    kFormerNames = {{
        {"group_size", "block_size"},
        {"groups", "blocks"},
        {"local_memory_bytes", "shared_memory_bytes"},
        {"max_local_memory_bytes", "max_shared_memory_bytes"},
        {"peers", "vendor_baselines"},
    }};

absl::string_view PresentName(absl::string_view name) {
  for (const auto& [former, present] : kFormerNames) {
    if (name == former) return present;
  }
  return name;
}

// Returns the end of the string literal, comment, word or other character that
// begins at `begin`.
size_t EndOfToken(absl::string_view text, size_t begin) {
  const char first = text[begin];
  size_t end = begin + 1;
  if (first == '#') return std::min(text.find('\n', begin), text.size());
  if (first == '"' || first == '\'') {
    while (end < text.size() && text[end] != first && text[end] != '\n') {
      end += text[end] == '\\' ? 2 : 1;
    }
    return std::min(end + 1, text.size());
  }
  const auto in_word = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  if (in_word(first)) {
    while (end < text.size() && in_word(text[end])) ++end;
  }
  return end;
}

std::string WithPresentNames(absl::string_view text) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = EndOfToken(text, begin);
    absl::StrAppend(&result, PresentName(text.substr(begin, end - begin)));
    begin = end;
  }
  return result;
}

}  // namespace

absl::Status ParseTextWithDescriptor(absl::string_view text,
                                     google::protobuf::Message* message) {
  ErrorLines errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (parser.ParseFromString(WithPresentNames(text), message))
    return absl::OkStatus();
  return absl::InvalidArgumentError(errors.Text());
}

}  // namespace wavetune
