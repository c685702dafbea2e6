#include "server/store/stored_event.h"

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

}  // namespace

std::string EncodeStoredEvent(const EventRecord& event) {
  v1::StoredEvent stored;
  stored.set_format(kStoredFormat);
  stored.set_id(event.id);
  stored.set_at_us(event.at_us);
  stored.set_kind(static_cast<int32_t>(event.kind));
  stored.set_warning(event.warning);
  stored.set_kernel(event.kernel);
  stored.set_device_uuid(event.device_uuid);
  stored.set_silicon_key(event.silicon_key);
  stored.set_digest(event.digest);
  stored.set_job_id(event.job_id);
  stored.set_by(event.by);
  stored.set_text(event.text);
  return stored.SerializeAsString();
}

absl::StatusOr<EventRecord> DecodeStoredEvent(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::StoredEvent stored,
                   ParseStored<v1::StoredEvent>(bytes));
  return EventRecord{.id = stored.id(),
                     .at_us = stored.at_us(),
                     .kind = KindFromStored(stored.kind()),
                     .warning = stored.warning(),
                     .kernel = stored.kernel(),
                     .device_uuid = stored.device_uuid(),
                     .silicon_key = stored.silicon_key(),
                     .digest = stored.digest(),
                     .job_id = stored.job_id(),
                     .by = stored.by(),
                     .text = stored.text()};
}

}  // namespace wavetune
