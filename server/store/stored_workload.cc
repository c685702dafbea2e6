#include "server/store/stored_workload.h"

#include "base/status_macros.h"
#include "proto/wavetune/v1/store.pb.h"
#include "server/store/stored_format.h"

namespace wavetune {

std::string EncodeStoredWorkload(const WorkloadRecord& record) {
  v1::StoredWorkload stored;
  stored.set_format(kStoredFormat);
  stored.set_name(record.name);
  stored.set_config(record.config);
  stored.set_tensor_parallel(record.tensor_parallel);
  stored.set_expert_parallel(record.expert_parallel);
  stored.set_max_tokens(record.max_tokens);
  stored.set_user(record.user);
  stored.set_added_at_us(record.added_at_us);
  stored.mutable_expert_counts()->Assign(record.routing.counts.begin(),
                                         record.routing.counts.end());
  stored.set_routed_evenly(record.routing.popularity == Popularity::kEven);
  return stored.SerializeAsString();
}

absl::StatusOr<WorkloadRecord> DecodeStoredWorkload(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::StoredWorkload stored,
                   ParseStored<v1::StoredWorkload>(bytes));
  return WorkloadRecord{
      .name = stored.name(),
      .config = stored.config(),
      .tensor_parallel = stored.tensor_parallel(),
      .expert_parallel = stored.expert_parallel(),
      .max_tokens = stored.max_tokens(),
      .routing = {.popularity = stored.routed_evenly() ? Popularity::kEven
                                                       : Popularity::kDrawn,
                  .counts = {stored.expert_counts().begin(),
                             stored.expert_counts().end()}},
      .user = stored.user(),
      .added_at_us = stored.added_at_us()};
}

}  // namespace wavetune
