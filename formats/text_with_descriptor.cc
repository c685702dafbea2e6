#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/manifest_text/places.h"
#include "formats/manifest_text/rewriter.h"
#include "formats/text_format.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace wavetune {
namespace {

// Returns the byte at which column `column` of line `line` stands, both from 0.
size_t ByteAt(absl::string_view text, int line, int column) {
  size_t begin = 0;
  for (; line > 0; --line) {
    const size_t end = text.find('\n', begin);
    if (end == absl::string_view::npos) return text.size();
    begin = end + 1;
  }
  return std::min(begin + static_cast<size_t>(std::max(0, column)),
                  text.size());
}

// Manifests of 0.1 might say expressions as messages, and had other names.
absl::string_view Advice(absl::string_view fault) {
  if (!absl::StrContains(fault, "has no field named")) return "";
  for (const absl::string_view type : {"Expression", "Relation", "RowAxis"}) {
    if (!absl::StrContains(fault, absl::StrCat(".", type, "\""))) continue;
    return " Write it as text, such as \"ceil_div(m, BLOCK_M)\" or "
           "\"BLOCK_M <= 64\" (docs/manifest.md).";
  }
  return " docs/manifest.md has the names of fields.";
}

class ErrorLines : public google::protobuf::io::ErrorCollector {
 public:
  ErrorLines(absl::string_view text, const TextRewriter& rewriter)
      : text_(text), rewriter_(rewriter) {}

  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    const size_t at = ByteAt(rewriter_.result(), line, column);
    lines_.push_back(absl::StrCat(LineAndColumn(text_, rewriter_.Original(at)),
                                  ": ", message, Advice(message)));
  }
  std::string Text() const { return absl::StrJoin(lines_, "\n  "); }

 private:
  absl::string_view text_;
  const TextRewriter& rewriter_;
  std::vector<std::string> lines_;
};

}  // namespace

absl::Status ParseTextWithDescriptor(absl::string_view text,
                                     google::protobuf::Message* message) {
  const TextRewriter rewriter(text, message->GetDescriptor());
  ErrorLines errors(text, rewriter);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (parser.ParseFromString(rewriter.result(), message))
    return absl::OkStatus();
  return absl::InvalidArgumentError(errors.Text());
}

}  // namespace wavetune
