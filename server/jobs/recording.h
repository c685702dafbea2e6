// What a measuring job tells while it goes on: results, and the samples of a
// recording (docs/traces.md).
#ifndef WAVETUNE_SERVER_JOBS_RECORDING_H_
#define WAVETUNE_SERVER_JOBS_RECORDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/kernel/device.h"
#include "model/kernel/measure_item.h"
#include "model/kernel/sample.h"
#include "server/store/records.h"

namespace wavetune {

// What a recorded sample is for.
enum class RecordedSet { kAnchors, kRepresentative, kJudged };

// A pair without a sample.
struct RecordedFailure {
  MeasureItem item;
  std::string reason;
};

// Samples on their way. Of one pair the last counts.
struct RecordedSamples {
  RecordedSet set = RecordedSet::kAnchors;
  std::vector<Sample> samples;
  std::vector<RecordedFailure> failures;
};

// What the samples of a recording belong to.
struct Recording {
  DeviceFacts device;
  std::string fingerprint;
  // All that are meant for the device, excluded ones included: also those that
  // crashed on the way, whose samples do not count.
  std::vector<CandidateRecord> candidates;
  int64_t samples_from_store = 0;  // Measured by an earlier recording.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_RECORDING_H_
