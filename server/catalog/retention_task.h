// RetentionTask: forgets once a day what nobody needs
// (server/store/retention.h).
//
// Thread safety: thread-safe; one run at a time.
#ifndef WAVETUNE_SERVER_CATALOG_RETENTION_TASK_H_
#define WAVETUNE_SERVER_CATALOG_RETENTION_TASK_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/table_catalog.h"
#include "server/store/job_store.h"
#include "server/store/retention.h"
#include "server/store/sample_store.h"
#include "server/store/table_store.h"

namespace wavetune {

class RetentionTask {
 public:
  // Between two calls of RunDaily: a daemon that is started each day gets
  // round to it, too.
  static constexpr std::chrono::milliseconds kLookInterval =
      std::chrono::minutes(30);

  // Pointers outlive the task.
  struct Options {
    TableCatalog* tables = nullptr;
    TableStore* table_store = nullptr;
    JobStore* jobs = nullptr;
    SampleStore* samples = nullptr;
    AgentDirectory* devices = nullptr;
    KernelCatalog* kernels = nullptr;
    Clock* clock = nullptr;
    RetentionLimits limits;
    std::function<void(const std::string&)> log;
  };

  explicit RetentionTask(Options options) : options_(std::move(options)) {}

  // Returns what Run would do now. Reads the store. Errors: the store's.
  absl::StatusOr<RetentionPlan> Plan();
  // Its lines, or why there are none.
  std::vector<std::string> Lines();

  // Does it and logs each line. Errors: the first, after which the rest is left
  // to the next run.
  absl::Status Run();

  // Runs where the last run is a day ago, or there was none; logs what fails.
  void RunDaily();

 private:
  absl::Status Do(const RetentionPlan& plan);

  const Options options_;
  std::mutex mutex_;
  int64_t last_run_us_ = 0;  // Guarded by mutex_; 0: there was none.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_RETENTION_TASK_H_
