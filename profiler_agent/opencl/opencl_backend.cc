#include "profiler_agent/opencl/opencl_backend.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "profiler_agent/opencl/opencl_device.h"
#include "profiler_agent/opencl/opencl_facts.h"

namespace wavetune {

void SetPoclThreads(const HostResources& host, int host_cpus) {
  // It counts the machine's cores. More threads than the cgroup's quota has
  // cores are throttled in the midst of a launch, and then times say nothing.
  const int cpus = UsableCpus(host);
  if (cpus < host_cpus) {
    setenv("POCL_MAX_PTHREAD_COUNT", absl::StrCat(cpus).c_str(),
           /*overwrite=*/0);
  }
  // PoCL's threads, one per core, stay on their cores. Left to the scheduler,
  // two of them often share one core for the first hundreds of milliseconds of
  // a burst, and everything then takes exactly twice as long (PoCL 3.1, two
  // cores). It takes the machine's first cores whatever the affinity is, so not
  // where we may not use all.
  if (host.affinity_cpus >= host_cpus) {
    setenv("POCL_AFFINITY", "1", /*overwrite=*/0);
  }
}

OpenClBackend::OpenClBackend(const std::string& cache_dir, bool skip_nvidia,
                             bool guard_pages)
    : skip_nvidia_(skip_nvidia), guard_pages_(guard_pages) {
  SetPoclThreads(ReadHostResources(),
                 static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  const char* const set = std::getenv("POCL_CACHE_DIR");
  if (set != nullptr && *set != '\0') {
    programs_ = ProgramFolder::Find(set);
  } else if (!cache_dir.empty()) {
    programs_ = ProgramFolder::Find(absl::StrCat(cache_dir, "/pocl"));
  } else {
    return;
  }
  // PoCL does not start where it cannot write.
  setenv("POCL_CACHE_DIR", programs_->path().c_str(), /*overwrite=*/1);
}

absl::Status OpenClBackend::CheckHost() {
  return programs_.has_value() ? programs_->Check() : absl::OkStatus();
}

Backend::Enumeration OpenClBackend::Enumerate() {
  OpenClDeviceList list = ListOpenClDevices(skip_nvidia_);
  Enumeration enumeration{.note = std::move(list.note),
                          .failure = absl::StrJoin(list.failures, "; ")};
  for (OpenClDeviceEntry& entry : list.entries) {
    enumeration.devices.push_back(std::move(entry.facts));
  }
  return enumeration;
}

absl::StatusOr<std::unique_ptr<Device>> OpenClBackend::Open(
    const std::string& device_uuid, const std::string& cache_dir) {
  const OpenClDeviceList list = ListOpenClDevices(skip_nvidia_);
  for (const OpenClDeviceEntry& entry : list.entries) {
    if (entry.facts.uuid != device_uuid) continue;
    return OpenClDevice::Open(entry, cache_dir, guard_pages_);
  }
  if (!list.failures.empty()) {
    return absl::UnavailableError(absl::StrJoin(list.failures, "; "));
  }
  return absl::NotFoundError(
      absl::StrCat("no OpenCL device has the UUID ", device_uuid,
                   "; the host's name or its driver may have changed"));
}

}  // namespace wavetune
