// How tokens of a workload are spread over experts: wire <-> model.
#ifndef WAVETUNE_FORMATS_EXPERT_ROUTING_H_
#define WAVETUNE_FORMATS_EXPERT_ROUTING_H_

#include "absl/status/statusor.h"
#include "proto/wavetune/v1/workload_service.pb.h"
#include "wavetune/expected_routing.h"

namespace wavetune {

// The most wanted expert first, however they were given. Errors:
// INVALID_ARGUMENT for a routing that this version does not know, or a recorded
// one without counts.
absl::StatusOr<ExpertPopularity> ExpertRoutingFromProto(
    const v1::ExpertRouting& proto);
v1::ExpertRouting ExpertRoutingToProto(const ExpertPopularity& routing);

// Adds a note where the daemon that took a workload knows no routings, and the
// request has another one than is the default.
void NoteIgnoredRouting(const v1::AddWorkloadRequest& request,
                        v1::AddWorkloadResponse& response);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_EXPERT_ROUTING_H_
