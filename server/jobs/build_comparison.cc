#include "server/jobs/build_comparison.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fit/plan/build_verdict.h"
#include "server/jobs/board_ratio.h"
#include "server/jobs/stored_profile.h"

namespace wavetune {

absl::StatusOr<BuildComparison> BuildComparison::Load(
    SampleStore& samples, const JobRecord& job, const Incumbent& incumbent) {
  BuildComparison comparison;
  comparison.kernel_ = job.kernel;
  const TableRecord* const serving = incumbent.record();
  if (job.promote_although_slower || incumbent.comparable() == nullptr ||
      serving->key.fingerprint == job.key.fingerprint ||
      !serving->IsFor(job.key.environment_key)) {
    return comparison;
  }
  comparison.before_ = incumbent;
  ProfileKey before = serving->key;
  // Under the same driver, where enough was measured of it.
  for (const std::string& environment :
       {job.key.environment_key, std::string(serving->measured_in())}) {
    before.environment_key = environment;
    ASSIGN_OR_RETURN(SampleSet stored, LoadProfilesOf(samples, before));
    NormaliseByBoard(stored.samples, job.whole_class ? "" : job.device_uuid);
    comparison.samples_ = SamplesOf(stored);
    if (CountChosenMeasured({incumbent.comparable(), comparison.samples_}) >=
        BuildVerdict::kFewestProblems) {
      break;
    }
  }
  return comparison;
}

std::vector<MeasureItem> BuildComparison::Missing(
    const CompiledTable& table, absl::Span<const Sample> now) const {
  if (before_.comparable() == nullptr) return {};
  return PlanBuildComparison({before_.comparable(), samples_}, {&table, now});
}

std::string BuildComparison::WhySlower(const CompiledTable& table,
                                       absl::Span<const Sample> now) const {
  if (before_.comparable() == nullptr) return "";
  const BuildVerdict verdict =
      JudgeBuild({before_.comparable(), samples_}, {&table, now});
  if (!verdict.slower) return "";
  return absl::StrCat(verdict.reason,
                      "; promote it all the same: wavetune reprofile --kernel ",
                      kernel_, " --promote-although-slower");
}

}  // namespace wavetune
