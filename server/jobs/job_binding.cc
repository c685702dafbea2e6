#include "server/jobs/job_binding.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "usage/declared_problems.h"
#include "usage/usage_weights.h"

namespace wavetune {
namespace {

// Nobody asked for a top-up of anything else (usage_top_ups.h).
absl::Status CheckTopUp(const JobRecord& job, const ProfileKey& key) {
  if (!job.options.top_up || key == job.key) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "kernel ", job.key.kernel, " (fingerprint ", job.key.fingerprint,
      ") or the device's driver changed since this top-up was queued; "
      "it is now ",
      key.fingerprint, " on ", key.environment_key,
      ". Profile it: wavetune reprofile --kernel ", job.key.kernel));
}

}  // namespace

absl::StatusOr<JobBinding> BindJob(const JobServices& services,
                                   JobControl* control,
                                   const DeviceFacts& device) {
  const JobRecord record = control->record();
  JobBinding bound;
  bound.input.device = device;
  ASSIGN_OR_RETURN(bound.kernel, services.kernels->Get(record.kernel, device));
  const ProfileKey key{record.kernel, bound.kernel->files.fingerprint,
                       SiliconKey(device), EnvironmentKey(device)};
  RETURN_IF_ERROR(CheckTopUp(record, key));
  uint64_t generation = record.generation;
  // Kernel or device changed since the job was queued: what is measured now
  // belongs to the new key.
  if (generation == 0 || key != record.key) {
    ASSIGN_OR_RETURN(const std::vector<uint64_t> generations,
                     services.samples->Generations(key));
    generation =
        std::max<uint64_t>(1, generations.empty() ? 0 : generations.back());
  }
  control->Update(
      [&](JobRecord& job) {
        job.key = key;
        job.generation = generation;
        job.not_meant_for_device = bound.kernel->not_meant_for_device;
      },
      JobControl::Persist::kSynced);
  bound.spec = WithDeclared(bound.kernel->spec, record.workload_problems.get(),
                            device.label);
  bound.input.fingerprint = key.fingerprint;
  bound.input.options.samples_per_candidate =
      record.options.samples_per_candidate;
  bound.input.options.portfolio_size = record.options.portfolio_size;
  bound.input.representative_problems =
      WithUsage(bound.spec, record.used_problems);
  return bound;
}

}  // namespace wavetune
