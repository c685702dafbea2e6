// What tests of jobs share. For tests.
#ifndef WAVETUNE_SERVER_JOBS_JOB_TEST_SUPPORT_H_
#define WAVETUNE_SERVER_JOBS_JOB_TEST_SUPPORT_H_

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"
#include "server/jobs/job_queue.h"

namespace wavetune {

// Returns a GEMM with three representative problems.
inline KernelSpec JobTestSpec() {
  KernelSpec spec = testing::GemmSpec();
  spec.representative_problems = {{.problem = {.extents = {64, 512, 512}}},
                                  {.problem = {.extents = {512, 512, 1024}}},
                                  {.problem = {.extents = {2048, 1024, 256}}}};
  return spec;
}

// Returns the job once it has ended.
inline JobRecord WaitForEnd(JobQueue& queue, uint64_t id) {
  std::mutex mutex;
  std::condition_variable changed;
  JobRecord latest;
  const auto watch = queue.Subscribe(id, [&](const JobRecord& record) {
    std::lock_guard lock(mutex);
    latest = record;
    changed.notify_all();
  });
  EXPECT_TRUE(watch.ok()) << watch.status();
  std::unique_lock lock(mutex);
  if (watch->record.finished()) return watch->record;
  changed.wait(lock, [&] { return latest.finished(); });
  return latest;
}

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_JOB_TEST_SUPPORT_H_
