// Sample and candidate: a measurement and its subject.
#ifndef WAVETUNE_MODEL_KERNEL_SAMPLE_H_
#define WAVETUNE_MODEL_KERNEL_SAMPLE_H_

#include <cstdint>
#include <string>

#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

// One compiled configuration with its measured facts, or the reason why it may
// not be used.
struct Candidate {
  Configuration configuration;
  int64_t tiles_per_wave = 1;             // C: tiles in flight, >= 1.
  int32_t blocks_per_multiprocessor = 1;  // Residency, >= 1.
  int32_t registers = 0;                  // Per work item; 0 if unknown.
  int64_t shared_memory_bytes = 0;        // Per block.
  std::string excluded_reason;            // Not empty: excluded.

  bool excluded() const { return !excluded_reason.empty(); }
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// One (candidate, problem) timed to the stopping rule.
struct Sample {
  Configuration configuration;
  Problem problem;
  double latency_us = 0;  // Robust estimate of one launch's device time.
  double min_us = 0;      // Fastest launch.
  double relative_spread = 0;
  int32_t launches = 1;  // Timings; short launches are timed several at once.
  // For all launches, warm-up and bursts that did not count included.
  double device_time_us = 0;
  bool suspect = false;  // Throttled, or never stable.
  // Clock of the multiprocessors meanwhile, of the slowest burst; at the power
  // limit the one that the latency was taken to. 0 if unknown.
  int32_t sm_clock_mhz = 0;
  // Throttled also when measured again; then suspect, too.
  bool throttled = false;
  uint32_t throttle_reasons = 0;  // Bits: model/kernel/throttling.h.

  friend bool operator==(const Sample&, const Sample&) = default;
};

}  // namespace wavetune

// Calls FIELD with the name of each number that a measurement gives. The
// messages wavetune.v1.Sample and StoredSample have fields of these names, and
// whoever copies or checks a sample goes through this list
// (formats/measured_fields.h): a new number is named here. One that traces have
// is also in WAVETUNE_RECORDED_FIELDS, one that a device says of its launches
// in WAVETUNE_LAUNCH_FACTS (profiler_agent/measure/backend.h).
#define WAVETUNE_MEASURED_FIELDS(FIELD) \
  FIELD(latency_us)                     \
  FIELD(min_us)                         \
  FIELD(relative_spread)                \
  FIELD(launches)                       \
  FIELD(device_time_us)                 \
  FIELD(suspect)                        \
  FIELD(sm_clock_mhz)                   \
  FIELD(throttled)                      \
  FIELD(throttle_reasons)

// Calls FIELD with the name of each number that traces have as an optional
// column of that name (formats/trace.h). The second argument is the number of
// significant digits that are written; for whole numbers give as many as the
// largest has.
#define WAVETUNE_RECORDED_FIELDS(FIELD) \
  FIELD(relative_spread, 2)             \
  FIELD(suspect, 1)

#endif  // WAVETUNE_MODEL_KERNEL_SAMPLE_H_
