// StoreAdmin: backup, check and compaction while the daemon runs. Knows no
// gRPC.
//
// Each takes its time and reads or writes the whole store, so there is one at a
// time, on a thread of its own. It goes on where whoever asked goes away.
//
//   RETURN_IF_ERROR(admin.Start(StoreAdmin::Work::kCheck, "1000", sink));
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_STORE_ADMIN_H_
#define WAVETUNE_SERVER_RPC_STORE_ADMIN_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "proto/wavetune/v1/admin_service.pb.h"
#include "server/store/store_maintenance.h"

namespace wavetune {

class StoreAdmin {
 public:
  enum class Work { kBackUp, kCheck, kCompact };
  // Least time between two messages of progress.
  static constexpr int64_t kProgressIntervalUs = 100'000;

  // Whom to tell. Called from one thread at a time; must not wait.
  struct Sink {
    std::function<void(v1::StoreProgress)> progress;
    // Once, after the last progress; that one is `done` where it is OK.
    std::function<void(const absl::Status&)> end;
  };

  struct Options {
    StoreMaintenance* maintenance = nullptr;  // nullptr: there is none.
    std::string backup_folder;                // Empty: no backups.
    Clock* clock = nullptr;
    std::function<void(const std::string&)> log;  // Hears of all work.
    // What retention would do now, said with a check. Empty: nothing is said.
    std::function<std::vector<std::string>()> what_would_go = nullptr;
  };

  explicit StoreAdmin(Options options);
  ~StoreAdmin();  // As Stop.
  StoreAdmin(const StoreAdmin&) = delete;
  StoreAdmin& operator=(const StoreAdmin&) = delete;

  // Starts work for `by` and returns. Errors, then the sink is not called:
  // FAILED_PRECONDITION where other work runs, saying which, for a backup
  // without a folder, without maintenance, and after Stop.
  absl::Status Start(Work work, const std::string& by, Sink sink);

  // Returns when the newest backup was made, in seconds since the Unix epoch;
  // 0 where there is none, nothing where none can be asked for. Reads the
  // folder once; what others put there later is not seen.
  std::optional<int64_t> NewestBackupS();

  // Ends what runs, soon, and waits for it. Nothing starts any more.
  void Stop();

 private:
  absl::Status CheckMayStart(Work work) const;  // Holds mutex_.
  void Run(Work work, const std::string& by, const Sink& sink);
  absl::StatusOr<StoreMaintenance::Result> Check(
      const StoreMaintenance::Control& control);
  absl::StatusOr<StoreMaintenance::Result> Do(
      Work work, const StoreMaintenance::Control& control);

  const Options options_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::string running_;  // What, and who asked; empty: nothing.
  std::thread thread_;
  std::optional<int64_t> newest_backup_s_;  // Nothing: not known yet.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_STORE_ADMIN_H_
