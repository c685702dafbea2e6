#include "formats/text_format.h"

namespace wavetune {

absl::Status ParseTextFormat(absl::string_view text,
                             google::protobuf::MessageLite* message) {
  // What protoc generates for full code.
  return ParseTextWithDescriptor(
      text, static_cast<google::protobuf::Message*>(message));
}

}  // namespace wavetune
