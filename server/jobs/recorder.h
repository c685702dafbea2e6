// Recorder: measures the sets of a recording, goes on where an earlier one
// ended, and streams every sample.
//
// A measurement is in the store at once, in kMeasuredGeneration, which no fit
// reads. So a recording that is cancelled or killed loses nothing, and the next
// one on the same device measures only the missing pairs.
//
// Thread safety: none; used by the job's worker thread.
#ifndef WAVETUNE_SERVER_JOBS_RECORDER_H_
#define WAVETUNE_SERVER_JOBS_RECORDER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/jobs/candidate_pool.h"
#include "server/jobs/failed_pairs.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_device.h"
#include "server/jobs/job_services.h"
#include "server/jobs/recording.h"

namespace wavetune {

class Recorder {
 public:
  using RecordedCallback = std::function<void(const RecordedSamples&)>;

  // All outlive this.
  Recorder(const JobServices& services, JobControl* control, JobDevice* device,
           CandidatePool* pool, RecordedCallback on_recorded);

  // Names parameters and dimensions in what failed. Outlives this.
  void SetKernel(const KernelSpec* spec) { spec_ = spec; }

  // Takes what an earlier recording measured on this very device, but for
  // suspect samples. Errors: the store's.
  absl::Status TakeStored(const ProfileKey& key);

  // Says how many pairs there will be, for progress. The estimate may change.
  void Expect(int64_t pairs) { expected_ = pairs; }

  // Measures the items that have no sample, and streams the samples of all
  // that were not streamed before. Errors: JobDevice::Measure's.
  absl::Status Record(RecordedSet set, const std::vector<MeasureItem>& items);

  // Takes measurements that count instead of earlier ones; streams them.
  void Replace(RecordedSet set, const std::vector<MeasureItem>& items,
               const std::vector<JobDevice::Result>& results);

  // Returns an item's sample, or nullptr.
  const Sample* Find(const MeasureItem& item) const;

  // Pairs streamed so far, and those dealt with, failures included.
  int64_t recorded() const { return recorded_; }
  int64_t finished() const { return static_cast<int64_t>(finished_.size()); }
  int64_t from_store() const { return from_store_; }
  const FailedPairs& failed() const { return failed_; }

 private:
  using Pair = std::pair<Configuration, Problem>;

  absl::Status RecordChunk(RecordedSet set,
                           const std::vector<MeasureItem>& items);
  void OnResult(const MeasureItem& item, const JobDevice::Result& result);
  void ReportProgress();

  const JobServices& services_;
  JobControl* const control_;
  JobDevice* const device_;
  CandidatePool* const pool_;
  const RecordedCallback on_recorded_;
  const KernelSpec* spec_ = nullptr;
  std::map<Pair, Sample> samples_;
  std::set<Pair> stored_;    // Those of them from the store.
  std::set<Pair> finished_;  // Streamed, or failed.
  int64_t expected_ = 0;
  int64_t recorded_ = 0;
  int64_t from_store_ = 0;
  FailedPairs failed_;
  int64_t measured_ = 0;
  int64_t done_ = 0;
  int64_t started_us_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_RECORDER_H_
