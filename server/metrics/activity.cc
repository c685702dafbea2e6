#include "server/metrics/activity.h"

#include <algorithm>
#include <vector>

namespace wavetune {
namespace {

// Returns the entry of a name, or of all others where there are too many.
template <typename Value>
Value& Of(std::map<std::string, Value>& values, const std::string& name,
          size_t most) {
  const bool has_room = values.size() < most || values.contains(name);
  return values[has_room ? name : Activity::kOthers];
}

}  // namespace

void Activity::Add(const EventRecord& event) {
  std::lock_guard lock(mutex_);
  ++counts_.events[event.kind];
}

void Activity::Add(const JobRecord& job) {
  if (!job.finished()) return;
  const int64_t throttled = std::clamp<int64_t>(
      job.throttled_samples, 0, std::max<int64_t>(job.samples, 0));
  std::lock_guard lock(mutex_);
  ++counts_.jobs[job.state];
  if (job.disproves()) ++Of(counts_.disproving_jobs, job.kernel, kMostKernels);
  counts_.throttled_samples += static_cast<uint64_t>(throttled);
  counts_.clean_samples +=
      static_cast<uint64_t>(std::max<int64_t>(job.samples, 0) - throttled);
  if (job.device_time_us <= 0) return;
  // What each of several devices took is not recorded.
  const std::vector<std::string> devices =
      job.device_uuids.empty() ? std::vector<std::string>{job.device_uuid}
                               : job.device_uuids;
  for (const std::string& device : devices) {
    Of(counts_.device_seconds, device, kMostDevices) +=
        1e-6 * job.device_time_us / static_cast<double>(devices.size());
  }
}

void Activity::Add(const UsageReport& report) {
  std::lock_guard lock(mutex_);
  Of(counts_.decisions, report.kernel, kMostKernels) += report.counts;
}

void Activity::AddDriftProbe(const JobRecord& job) {
  if (!job.drift || job.drift->regimes.empty()) return;
  const auto key = std::pair(job.key.kernel, job.key.silicon_key);
  std::lock_guard lock(mutex_);
  auto& ratios = counts_.drift_probe_ratios;
  if (ratios.size() < kMostKernels || ratios.contains(key))
    ratios[key] = job.drift->regimes.front().median_ratio;
}

Activity::Counts Activity::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace wavetune
