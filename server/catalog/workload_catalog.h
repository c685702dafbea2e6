// WorkloadCatalog: the workloads that were declared, and what they are for each
// kernel.
//
//   RETURN_IF_ERROR(workloads.Load());
//   RETURN_IF_ERROR(workloads.Add(workload, user).status());
//   job.workload_problems = workloads.Problems(kernel);
//
// Layers are kept in memory, config.json on disk alone: anybody may declare a
// workload, so that everything has a bound (docs/limits.md).
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_CATALOG_WORKLOAD_CATALOG_H_
#define WAVETUNE_SERVER_CATALOG_WORKLOAD_CATALOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "formats/workload/workload.h"
#include "model/kernel/weighted_problem.h"
#include "server/store/workload_store.h"

namespace wavetune {

struct KernelSpec;

class WorkloadCatalog {
 public:
  // In all, and by one user that is neither root nor the daemon's own.
  static constexpr size_t kMostWorkloads = 64;
  static constexpr size_t kMostOfUser = 16;

  // A workload without its config.json.
  struct Entry {
    WorkloadRecord record;
    int64_t config_bytes = 0;
    // Hex SHA-256 of the content, whatever its name: equal ones are one.
    std::string digest;
    ModelLayers layers;
    absl::Status readable;  // Not OK: this version derives no layers from it.
  };
  struct Added {
    Entry entry;
    bool unchanged = false;  // It was there already.
    bool replaced = false;   // Another one of that name was.
  };
  // What a workload is for a kernel.
  struct Share {
    size_t problems = 0;
    int64_t left_out = 0;
  };

  // `store` and `clock` outlive the catalogue; nullptr for `store`: workloads
  // are forgotten at the end. `own_user`: whose workloads nobody else's bounds
  // count for, beside root's.
  WorkloadCatalog(WorkloadStore* store, Clock* clock, std::string own_user);

  // Reads the stored ones. Errors: the store's.
  absl::Status Load();

  // Checks and stores a workload of `user`. Errors: as LayersOf;
  // PERMISSION_DENIED where another user's has the name; RESOURCE_EXHAUSTED
  // beyond the bounds; the store's. On failure nothing changes.
  absl::StatusOr<Added> Add(const Workload& workload, const std::string& user);

  // Errors: NOT_FOUND naming what there is; the store's.
  absl::Status Remove(const std::string& name);

  // Returns one with its config.json. Errors: NOT_FOUND; the store's.
  absl::StatusOr<Entry> Get(const std::string& name);

  // Returns all, by name.
  std::vector<Entry> List() const;

  // Returns the problems of all workloads for a kernel: as ProblemsOf.
  std::vector<WeightedProblem> Problems(const KernelSpec& spec) const;

  // Returns what a stored workload is. Cannot fail: one that cannot be read
  // says so.
  static Entry Read(WorkloadRecord record);

  // Returns the problems of workloads for a kernel, bounded
  // (usage/declared_problems.h); of equal ones the first counts.
  // Deterministic. Cannot fail.
  static std::vector<WeightedProblem> ProblemsOf(
      const std::vector<Entry>& entries, const KernelSpec& spec);

  // Returns what one is for a kernel. Cannot fail.
  static Share ShareOf(const Entry& entry, const KernelSpec& spec);

 private:
  bool IsTrusted(const std::string& user) const;
  absl::Status CheckRoom(const Workload& workload,
                         const std::string& user) const;  // Holds mutex_.
  absl::Status NotFound(const std::string& name) const;   // Holds mutex_.

  WorkloadStore* const store_;
  Clock* const clock_;
  const std::string own_user_;
  std::mutex change_mutex_;  // Serialises changes; taken before mutex_.
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // Guarded by mutex_.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_WORKLOAD_CATALOG_H_
