#include "server/store/stored_event.h"

#include "base/copy_fields.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "proto/wavetune/v1/store.pb.h"
#include "server/store/stored_format.h"

namespace wavetune {
namespace {

EventKind KindFromStored(int32_t kind) {
  static_assert(static_cast<int>(EventKind::kEnd) == v1::Event::Kind_ARRAYSIZE,
                "kinds have the same numbers");
  return v1::Event::Kind_IsValid(kind) ? static_cast<EventKind>(kind)
                                       : EventKind::kUnknown;
}

#define WAVETUNE_EVENT_FIELDS \
  id, at_us, warning, kernel, device_uuid, silicon_key, digest, job_id, by, text

}  // namespace

std::string EncodeStoredEvent(const EventRecord& event) {
  v1::StoredEvent stored;
  stored.set_format(kStoredFormat);
  GIVE_FIELDS(event, stored, WAVETUNE_EVENT_FIELDS);
  stored.set_kind(static_cast<int32_t>(event.kind));
  return stored.SerializeAsString();
}

absl::StatusOr<EventRecord> DecodeStoredEvent(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::StoredEvent stored,
                   ParseStored<v1::StoredEvent>(bytes));
  EventRecord event;
  TAKE_FIELDS(stored, event, WAVETUNE_EVENT_FIELDS);
  event.kind = KindFromStored(stored.kind());
  return event;
}

}  // namespace wavetune
