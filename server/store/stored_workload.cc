#include "server/store/stored_workload.h"

#include "base/copy_fields.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/store.pb.h"
#include "server/store/stored_format.h"

namespace wavetune {

#define WAVETUNE_WORKLOAD_FIELDS \
  name, config, tensor_parallel, expert_parallel, max_tokens, user, added_at_us

std::string EncodeStoredWorkload(const WorkloadRecord& record) {
  v1::StoredWorkload stored;
  stored.set_format(kStoredFormat);
  GIVE_FIELDS(record, stored, WAVETUNE_WORKLOAD_FIELDS);
  stored.mutable_expert_counts()->Assign(record.routing.counts.begin(),
                                         record.routing.counts.end());
  stored.set_routed_evenly(record.routing.popularity == Popularity::kEven);
  return stored.SerializeAsString();
}

absl::StatusOr<WorkloadRecord> DecodeStoredWorkload(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::StoredWorkload stored,
                   ParseStored<v1::StoredWorkload>(bytes));
  WorkloadRecord record;
  TAKE_FIELDS(stored, record, WAVETUNE_WORKLOAD_FIELDS);
  record.routing.popularity =
      stored.routed_evenly() ? Popularity::kEven : Popularity::kDrawn;
  record.routing.counts.assign(stored.expert_counts().begin(),
                               stored.expert_counts().end());
  return record;
}

}  // namespace wavetune
