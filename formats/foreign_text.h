// Escapes strings that are not UTF-8 at a border where messages are sent, as
// whoever receives them would refuse the whole message.
//
//   EscapeForeignText(response);   // before it is sent
//
// Needs protobuf's full code (reflection); programs with lite code escape their
// few strings by PrintableText (base/printable_text.h).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_FOREIGN_TEXT_H_
#define WAVETUNE_FORMATS_FOREIGN_TEXT_H_

#include "google/protobuf/message.h"

namespace wavetune {

// Returns whether a string field of `message`, at any depth, is not UTF-8.
// `bytes` fields may be anything. Cost: a walk over the set fields.
bool HasForeignText(const google::protobuf::Message& message);

// Makes every string field of `message` valid: PrintableText. Cannot fail.
void EscapeForeignText(google::protobuf::Message* message);

// Returns `message`, escaped where it has to be.
template <typename Message>
Message WithoutForeignText(Message message) {
  EscapeForeignText(&message);
  return message;
}

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_FOREIGN_TEXT_H_
