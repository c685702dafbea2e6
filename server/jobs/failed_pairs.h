// FailedPairs: pairs of candidate and problem that a job could not measure, so
// that its message says so. Candidates that were excluded are listed with the
// job and do not count here.
//
// Thread safety: none.
#ifndef WAVETUNE_SERVER_JOBS_FAILED_PAIRS_H_
#define WAVETUNE_SERVER_JOBS_FAILED_PAIRS_H_

#include <cstdint>
#include <string>

#include "model/kernel/measure_item.h"
#include "server/jobs/job_device.h"

namespace wavetune {

struct KernelSpec;

class FailedPairs {
 public:
  // Counts `result` where it is a failure of the pair alone.
  void Take(const KernelSpec& spec, const MeasureItem& item,
            const JobDevice::Result& result);

  int64_t count() const { return count_; }

  // "; 3 pairs could not be measured, the first: BLOCK_M=64 ... at m=1 ...:
  // why"; empty where there are none.
  std::string Text() const;

 private:
  int64_t count_ = 0;
  std::string first_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_FAILED_PAIRS_H_
