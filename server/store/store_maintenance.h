// StoreMaintenance: work on the store as a whole while it is in use
// (docs/storage.md).
//
//   std::atomic<bool> stop = false;
//   ASSIGN_OR_RETURN(const auto report, maintenance->Check({.stop = &stop}));
//
// Thread safety: thread-safe; one piece of work at a time.
#ifndef WAVETUNE_SERVER_STORE_STORE_MAINTENANCE_H_
#define WAVETUNE_SERVER_STORE_STORE_MAINTENANCE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace wavetune {

class StoreMaintenance {
 public:
  // What came of it.
  struct Result {
    std::vector<std::string> lines;  // For people.
    int64_t faults = 0;              // Check's: damaged entries.
    int64_t size_bytes = 0;          // The backup's, or the store's afterwards.
  };
  struct Control {
    // Hears of progress, often; must not wait. Empty: nobody does.
    std::function<void(const std::string& line)> tell = nullptr;
    // Set by anybody: the work ends soon, as CANCELLED. nullptr: never.
    std::atomic<bool>* stop = nullptr;

    void Report(const std::string& line) const {
      if (tell) tell(line);
    }
    bool stopped() const { return stop != nullptr && stop->load(); }
  };

  virtual ~StoreMaintenance() = default;

  // Reads every entry and verifies the checksums of all files. Damage is a
  // fault of the result, no error. Errors: INTERNAL where reading fails for
  // another reason.
  virtual absl::StatusOr<Result> Check(const Control& control) = 0;

  // Adds a backup to `folder`, which is made if missing, and deletes all but
  // the newest few. Errors: RESOURCE_EXHAUSTED on a full disk;
  // PERMISSION_DENIED; NOT_FOUND where the folder's parent is missing.
  virtual absl::StatusOr<Result> BackUp(const std::string& folder,
                                        const Control& control) = 0;

  // Returns when the newest backup in `folder` was made, in seconds since the
  // Unix epoch; 0 where there is none. Errors: as BackUp.
  virtual absl::StatusOr<int64_t> NewestBackupS(const std::string& folder) = 0;

  // Rewrites all files, so that deleted entries take no space. Needs about as
  // much free space as the store takes. Errors: as BackUp.
  virtual absl::StatusOr<Result> Compact(const Control& control) = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_STORE_MAINTENANCE_H_
