// Protobuf's text format, of messages that have a descriptor.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_TEXT_WITH_DESCRIPTOR_H_
#define WAVETUNE_FORMATS_TEXT_WITH_DESCRIPTOR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace wavetune {

// As ParseTextFormat (formats/text_format.h), for a message that has a
// descriptor. Fields may have the names of earlier releases (docs/manifest.md).
absl::Status ParseTextWithDescriptor(absl::string_view text,
                                     google::protobuf::Message* message);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_TEXT_WITH_DESCRIPTOR_H_
