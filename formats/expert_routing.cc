#include "formats/expert_routing.h"

#include <algorithm>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace wavetune {

absl::StatusOr<ExpertPopularity> ExpertRoutingFromProto(
    const v1::ExpertRouting& proto) {
  switch (proto.popularity()) {
    case v1::ExpertRouting::POPULARITY_UNSPECIFIED:
    case v1::ExpertRouting::DRAWN:
      return ExpertPopularity{};
    case v1::ExpertRouting::EVEN:
      return ExpertPopularity{.popularity = Popularity::kEven};
    case v1::ExpertRouting::RECORDED: {
      ExpertPopularity routing{
          .counts = {proto.counts().begin(), proto.counts().end()}};
      std::sort(routing.counts.begin(), routing.counts.end(), std::greater<>());
      if (!routing.counts.empty()) return routing;
      return absl::InvalidArgumentError(
          "a recorded routing has no counts: give those of all experts");
    }
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "routing ", proto.popularity(),
          " is of a later version: upgrade this side, or give another one"));
  }
}

v1::ExpertRouting ExpertRoutingToProto(const ExpertPopularity& routing) {
  v1::ExpertRouting proto;
  proto.set_popularity(!routing.counts.empty() ? v1::ExpertRouting::RECORDED
                       : routing.popularity == Popularity::kEven
                           ? v1::ExpertRouting::EVEN
                           : v1::ExpertRouting::DRAWN);
  proto.mutable_counts()->Assign(routing.counts.begin(), routing.counts.end());
  return proto;
}

void NoteIgnoredRouting(const v1::AddWorkloadRequest& request,
                        v1::AddWorkloadResponse& response) {
  v1::WorkloadInfo& info = *response.mutable_workload();
  if (request.routing().popularity() <= v1::ExpertRouting::DRAWN ||
      info.routing().popularity() !=
          v1::ExpertRouting::POPULARITY_UNSPECIFIED) {
    return;
  }
  info.add_notes(
      "this daemon is older than routings, and did not keep the one that was "
      "given: upgrade it, and add the workload again");
}

}  // namespace wavetune
