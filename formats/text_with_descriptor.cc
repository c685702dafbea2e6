#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/text_format.h"
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

}  // namespace

absl::Status ParseTextWithDescriptor(absl::string_view text,
                                     google::protobuf::Message* message) {
  ErrorLines errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (parser.ParseFromString(std::string(text), message))
    return absl::OkStatus();
  return absl::InvalidArgumentError(errors.Text());
}

}  // namespace wavetune
