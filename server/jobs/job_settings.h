// JobSettings: what of jobs may change while the daemon runs (a reload of its
// configuration). A job that is queued keeps its budget.
//
// Thread safety: thread-safe, each value by itself.
#ifndef WAVETUNE_SERVER_JOBS_JOB_SETTINGS_H_
#define WAVETUNE_SERVER_JOBS_JOB_SETTINGS_H_

#include <atomic>

namespace wavetune {

struct JobSettings {
  // Device time per job where the request names none.
  std::atomic<double> default_budget_s = 60;
  // Every job measures even while others use its device.
  std::atomic<bool> even_if_busy = false;
  // Generations of samples kept per kernel and device class.
  std::atomic<int> generations_kept = 3;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_JOB_SETTINGS_H_
