// Events <-> the bytes that the daemon keeps on disk, as stored_records.h.
#ifndef WAVETUNE_SERVER_STORE_STORED_EVENT_H_
#define WAVETUNE_SERVER_STORE_STORED_EVENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/store/event_store.h"

namespace wavetune {

std::string EncodeStoredEvent(const EventRecord& event);
// A kind of a later daemon becomes kUnknown.
absl::StatusOr<EventRecord> DecodeStoredEvent(absl::string_view bytes);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_STORED_EVENT_H_
