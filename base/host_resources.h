// What this process may use of its machine: the cores of its affinity and of
// its cgroup's quota, the memory of its cgroup's limit. In a container those
// are less than the machine has, and what takes more is killed or throttled.
//
//   const HostResources host = ReadHostResources();
//   const int threads = UsableCpus(host);
//
// cgroups of version 1 and 2, nested or not, seen from inside of a container or
// from outside. Read anew on each call.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_BASE_HOST_RESOURCES_H_
#define WAVETUNE_BASE_HOST_RESOURCES_H_

#include <cstdint>
#include <string>

namespace wavetune {

struct HostResources {
  int affinity_cpus = 1;
  double quota_cpus = 0;           // Cores' worth of time; 0: no quota.
  int64_t memory_limit_bytes = 0;  // The cgroup's; 0: none.
  // What may still be taken: of the machine, and of the cgroup, whose caches of
  // files count as free. Negative: not known.
  int64_t memory_free_bytes = -1;
};

// `root` is put before /proc and the cgroup's mounts; for tests. Cannot fail:
// what cannot be read is no limit.
HostResources ReadHostResources(const std::string& root = "");

// Returns how many cores' worth of threads are of use: the affinity's, or the
// quota's, rounded up; at least 1.
int UsableCpus(const HostResources& host);

// Returns how often the kernel has killed a process of our cgroup for want of
// memory; 0 where that is not known.
int64_t OomKills(const std::string& root = "");

// Returns " (its cgroup may use 230 MiB)", or nothing where there is no limit.
std::string MemoryLimitText(const std::string& root = "");

}  // namespace wavetune

#endif  // WAVETUNE_BASE_HOST_RESOURCES_H_
