#include "base/host_resources.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace wavetune {
namespace {

// Version 1 says "no limit" with a number near 2^63.
constexpr int64_t kNoLimit = int64_t{1} << 60;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<int64_t> ReadNumber(const std::string& path) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(ReadFile(path), &number)) return std::nullopt;
  return number;
}

// Returns the number behind `name` in a file of lines "name number".
std::optional<int64_t> ReadNamed(const std::string& path,
                                 absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(ReadFile(path), '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t number = 0;
    if (words.size() >= 2 && absl::StripSuffix(words[0], ":") == name &&
        absl::SimpleAtoi(words[1], &number)) {
      return number;
    }
  }
  return std::nullopt;
}

// A mounted hierarchy of cgroups: "36 35 0:33 /root /point opts - cgroup2 ...".
struct Hierarchy {
  bool v2 = false;
  std::string root;     // What of the hierarchy is mounted.
  std::string point;    // Where.
  std::string options;  // Version 1: "rw,memory".
};

std::vector<Hierarchy> Hierarchies(const std::string& root) {
  std::vector<Hierarchy> found;
  const std::string mounts = ReadFile(root + "/proc/self/mountinfo");
  for (absl::string_view line : absl::StrSplit(mounts, '\n')) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<std::string> left = absl::StrSplit(halves.first, ' ');
    const std::vector<std::string> right = absl::StrSplit(halves.second, ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    if (right[0] != "cgroup" && right[0] != "cgroup2") continue;
    found.push_back({.v2 = right[0] == "cgroup2",
                     .root = left[3],
                     .point = left[4],
                     .options = right[2]});
  }
  return found;
}

bool HasWord(absl::string_view list, absl::string_view word) {
  const std::vector<absl::string_view> words = absl::StrSplit(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Our cgroup's folder of a controller and those of the cgroups around it, the
// innermost first.
struct Folders {
  bool v2 = false;
  std::vector<std::string> paths;
};

// `path` is our cgroup as /proc/self/cgroup names it.
Folders FoldersUnder(const Hierarchy& hierarchy, absl::string_view path,
                     const std::string& root) {
  // A container sees its own cgroup as the mount's root; without a namespace of
  // cgroups its path still begins outside.
  if (hierarchy.root != "/" && !absl::ConsumePrefix(&path, hierarchy.root)) {
    path = "";
  }
  if (absl::StrContains(path, "..")) path = "";
  std::string inner(absl::StripSuffix(path, "/"));
  Folders folders{.v2 = hierarchy.v2};
  for (;;) {
    folders.paths.push_back(absl::StrCat(root, hierarchy.point, inner));
    if (inner.empty()) return folders;
    inner.resize(inner.rfind('/'));
  }
}

// Those of version 1 that have the controller, and those of version 2.
std::vector<Folders> FoldersOf(absl::string_view controller,
                               const std::string& root) {
  std::vector<Folders> found;
  const std::vector<Hierarchy> hierarchies = Hierarchies(root);
  const std::string own = ReadFile(root + "/proc/self/cgroup");
  for (absl::string_view line : absl::StrSplit(own, '\n')) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3 || !absl::StartsWith(fields[2], "/")) continue;
    const bool v2 = fields[0] == "0";
    if (!v2 && !HasWord(fields[1], controller)) continue;
    for (const Hierarchy& hierarchy : hierarchies) {
      if (hierarchy.v2 != v2) continue;
      if (!v2 && !HasWord(hierarchy.options, controller)) continue;
      found.push_back(FoldersUnder(hierarchy, fields[2], root));
      break;
    }
  }
  return found;
}

// Cores' worth of time that a cgroup may use; none: no quota.
std::optional<double> QuotaOf(const std::string& folder, bool v2) {
  double quota = 0;
  double period = 0;
  if (v2) {
    const std::string text = ReadFile(folder + "/cpu.max");  // "50000 100000".
    const std::vector<absl::string_view> words =
        absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    if (words.size() != 2 || !absl::SimpleAtod(words[0], &quota) ||
        !absl::SimpleAtod(words[1], &period)) {
      return std::nullopt;  // Also "max 100000".
    }
  } else {
    quota = static_cast<double>(
        ReadNumber(folder + "/cpu.cfs_quota_us").value_or(-1));
    period = static_cast<double>(
        ReadNumber(folder + "/cpu.cfs_period_us").value_or(0));
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// Memory that a cgroup may use; none: no limit.
std::optional<int64_t> MemoryLimitOf(const std::string& folder, bool v2) {
  const std::optional<int64_t> limit =
      ReadNumber(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  if (!limit.has_value() || *limit >= kNoLimit) return std::nullopt;
  return limit;
}

// Memory that a cgroup uses, without what the kernel gives back when asked.
int64_t MemoryUseOf(const std::string& folder, bool v2) {
  const int64_t all =
      ReadNumber(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes"))
          .value_or(0);
  const int64_t caches = ReadNamed(folder + "/memory.stat",
                                   v2 ? "inactive_file" : "total_inactive_file")
                             .value_or(0);
  return std::max<int64_t>(0, all - caches);
}

int AffinityCpus() {
  // A machine may have more cores than cpu_set_t.
  for (int cpus = CPU_SETSIZE; cpus <= (1 << 18); cpus *= 4) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<size_t>(cpus));
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    const bool got = sched_getaffinity(0, bytes, set) == 0;
    const int count = got ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (got) return std::max(1, count);
  }
  return 1;
}

void AddMemory(const std::string& root, HostResources& host) {
  const std::optional<int64_t> available_kib =
      ReadNamed(root + "/proc/meminfo", "MemAvailable");
  if (available_kib.has_value()) host.memory_free_bytes = *available_kib << 10;
  for (const Folders& folders : FoldersOf("memory", root)) {
    for (const std::string& folder : folders.paths) {
      const std::optional<int64_t> limit = MemoryLimitOf(folder, folders.v2);
      if (!limit.has_value()) continue;
      const int64_t free =
          std::max<int64_t>(0, *limit - MemoryUseOf(folder, folders.v2));
      if (host.memory_limit_bytes == 0 || *limit < host.memory_limit_bytes) {
        host.memory_limit_bytes = *limit;
      }
      if (host.memory_free_bytes < 0 || free < host.memory_free_bytes) {
        host.memory_free_bytes = free;
      }
    }
  }
}

}  // namespace

HostResources ReadHostResources(const std::string& root) {
  HostResources host{.affinity_cpus = AffinityCpus()};
  for (const Folders& folders : FoldersOf("cpu", root)) {
    for (const std::string& folder : folders.paths) {
      const std::optional<double> quota = QuotaOf(folder, folders.v2);
      if (!quota.has_value()) continue;
      if (host.quota_cpus == 0 || *quota < host.quota_cpus) {
        host.quota_cpus = *quota;
      }
    }
  }
  AddMemory(root, host);
  return host;
}

int UsableCpus(const HostResources& host) {
  const int cpus = std::max(1, host.affinity_cpus);
  if (host.quota_cpus <= 0) return cpus;
  return static_cast<int>(std::min<double>(cpus, std::ceil(host.quota_cpus)));
}

int64_t OomKills(const std::string& root) {
  for (const Folders& folders : FoldersOf("memory", root)) {
    const std::optional<int64_t> kills =
        ReadNamed(folders.paths.front() +
                      (folders.v2 ? "/memory.events" : "/memory.oom_control"),
                  "oom_kill");
    if (kills.has_value()) return *kills;
  }
  return 0;
}

std::string MemoryLimitText(const std::string& root) {
  HostResources host;
  AddMemory(root, host);
  if (host.memory_limit_bytes == 0) return "";
  return absl::StrCat(" (its cgroup may use ", host.memory_limit_bytes >> 20,
                      " MiB)");
}

}  // namespace wavetune
