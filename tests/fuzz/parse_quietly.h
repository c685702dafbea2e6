// Messages from any bytes, without a line on stderr for each that is none.
#ifndef WAVETUNE_TESTS_FUZZ_PARSE_QUIETLY_H_
#define WAVETUNE_TESTS_FUZZ_PARSE_QUIETLY_H_

#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"
#include "google/protobuf/stubs/logging.h"

namespace wavetune {

// From the first call on protobuf's log is off.
inline void QuietenProtobuf() {
  [[maybe_unused]] static const auto before =
      google::protobuf::SetLogHandler(nullptr);
}

// As ParseFromArray, quietly.
inline bool ParseQuietly(absl::string_view bytes,
                         google::protobuf::MessageLite* message) {
  QuietenProtobuf();
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace wavetune

#endif  // WAVETUNE_TESTS_FUZZ_PARSE_QUIETLY_H_
