// Protobuf's text format, of messages that may be lite code.
//
//   v1::KernelSpec spec;
//   RETURN_IF_ERROR(ParseTextFormat(text, &spec));
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_TEXT_FORMAT_H_
#define WAVETUNE_FORMATS_TEXT_FORMAT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace wavetune {

// Reads one of the API's messages. Errors: INVALID_ARGUMENT with line and
// column. Two definitions: text_format.cc for full code, which knows its own
// descriptors, and client/embedded/lite_text_format.cc for lite code.
absl::Status ParseTextFormat(absl::string_view text,
                             google::protobuf::MessageLite* message);

// The same for a message that has a descriptor (text_with_descriptor.cc).
absl::Status ParseTextWithDescriptor(absl::string_view text,
                                     google::protobuf::Message* message);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_TEXT_FORMAT_H_
