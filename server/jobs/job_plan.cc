#include "server/jobs/job_plan.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/kernel/key_difference.h"
#include "server/catalog/table_staleness.h"
#include "server/jobs/drift_job.h"
#include "server/jobs/incumbent.h"
#include "server/jobs/profile_candidates.h"
#include "server/jobs/stored_profile.h"

namespace wavetune {
namespace {

double MeanDeviceTimeUs(const std::vector<Sample>& samples) {
  double sum_us = 0;
  for (const Sample& sample : samples) sum_us += sample.device_time_us;
  return samples.empty() ? -1 : sum_us / static_cast<double>(samples.size());
}

std::string NameOf(const Incumbent& incumbent) {
  return ShortDigest(incumbent.record()->digest);
}

std::string ProfileText(const JobRecord& job, const Incumbent& incumbent) {
  if (job.options.refit_only) return "refit of stored samples";
  const std::string name = job.options.top_up ? "top-up" : "profile";
  if (incumbent.record() == nullptr) {
    return absl::StrCat(name, ": no table serves yet");
  }
  return absl::StrCat(name, ": its table is compared with table ",
                      NameOf(incumbent), ", which serves");
}

// Of a job that begins with a drift probe.
std::string ProbeText(const JobServices& services, const JobRecord& job,
                      const DeviceFacts& device, const Incumbent& incumbent) {
  if (incumbent.record() == nullptr) {
    return "profile: no table serves that a drift probe could judge";
  }
  const TableRecord& serving = *incumbent.record();
  if (!job.options.verify_digest.empty()) {
    return absl::StrCat("verification of table ", NameOf(incumbent),
                        ", at most ", DriftJob::kMostSamples, " samples");
  }
  if (!incumbent.IsStaleFor(job.key)) {
    return absl::StrCat("nothing: table ", NameOf(incumbent), " is current");
  }
  if (incumbent.comparable() == nullptr ||
      serving.key.fingerprint != job.key.fingerprint) {
    return absl::StrCat("profile: table ", NameOf(incumbent), " is stale: ",
                        StaleReason(serving, device, *services.kernels));
  }
  return absl::StrCat(
      "drift probe of table ", NameOf(incumbent), " (",
      KeyDifference(serving.key.environment_key, job.key.environment_key),
      "), at most ", DriftJob::kMostSamples,
      " samples: it is carried over, or profiled anew, which costs most");
}

bool DoesNothing(const JobRecord& job, const Incumbent& incumbent) {
  return job.options.drift_probe && job.options.verify_digest.empty() &&
         incumbent.record() != nullptr && !incumbent.IsStaleFor(job.key);
}

}  // namespace

absl::StatusOr<PlannedJob> PlanJob(const JobServices& services,
                                   const JobRecord& job,
                                   const TunableKernel& kernel,
                                   const DeviceFacts& device) {
  const Incumbent incumbent(kernel.spec, services.tables->Incumbent(job.key));
  PlannedJob planned{.kernel = job.kernel, .device_uuid = job.device_uuid};
  planned.what = job.options.drift_probe
                     ? ProbeText(services, job, device, incumbent)
                     : ProfileText(job, incumbent);
  if (job.options.refit_only || DoesNothing(job, incumbent)) {
    planned.device_s = 0;
    return planned;
  }
  ASSIGN_OR_RETURN(const StoredProfile stored,
                   LoadStoredProfile(*services.samples, job));
  ProfileCandidates candidates(kernel.spec.SpecialisationNames().size());
  for (const CandidateRecord& record : stored.candidates) {
    TakeCandidate(kernel.spec, record, candidates);
  }
  for (const auto& missing : MissingConfigurations(kernel.spec, candidates)) {
    planned.candidates += static_cast<int64_t>(missing.size());
  }
  planned.samples =
      std::max<int64_t>(0, (CountUsable(candidates) + planned.candidates) *
                                   job.options.samples_per_candidate -
                               static_cast<int64_t>(stored.samples.size()));
  double each_us = MeanDeviceTimeUs(stored.samples);
  if (each_us < 0 && incumbent.record() != nullptr) {
    ProfileKey before = incumbent.record()->key;
    before.environment_key = incumbent.record()->measured_in();
    ASSIGN_OR_RETURN(const SampleSet set,
                     LoadProfilesOf(*services.samples, before));
    each_us = MeanDeviceTimeUs(SamplesOf(set));
  }
  if (each_us >= 0) {
    planned.device_s =
        std::min(job.options.budget_s,
                 static_cast<double>(planned.samples) * each_us * 1e-6);
  }
  return planned;
}

}  // namespace wavetune
