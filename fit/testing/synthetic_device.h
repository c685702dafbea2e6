// SyntheticDevice: a made-up device whose latencies follow waves, but not the
// fitted form: what planning and fitting are tried on in unit tests.
//
//   SyntheticDevice device(GemmSpec(), {.multiprocessors = 132});
//   ProfileInput input = device.Input();
//   while (...) input.samples.push_back(device.Measure(item));
//
// Latency: a launch cost, plus an epilogue per tile, plus the cost of reading
// cold, if it is asked for. Each wave adds the larger of compute time (with the
// parameters' own efficiencies) and memory time. A single row of tiles reads
// weights once, more rows reuse them. Noise is multiplicative and a function of
// (configuration, problem, seed) alone, so that measuring in another order
// gives the same samples.
#ifndef WAVETUNE_FIT_TESTING_SYNTHETIC_DEVICE_H_
#define WAVETUNE_FIT_TESTING_SYNTHETIC_DEVICE_H_

#include <cstdint>
#include <vector>

#include "fit/plan/plan_next.h"
#include "fit/profile.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::testing {

struct SyntheticDeviceOptions {
  int32_t multiprocessors = 132;
  int32_t blocks = 2;   // Most resident blocks per multiprocessor.
  double noise = 0.02;  // Half-width, relative.
  bool waves = true;    // False: latency knows no waves.
  uint64_t seed = 1;
  // What a MiB of the cold arguments takes in columns of 64; half in such of
  // 128. Those of elements of 0 are not read.
  double cold_us_per_mib = 0;
};

class SyntheticDevice {
 public:
  SyntheticDevice(KernelSpec spec, SyntheticDeviceOptions options);

  const KernelSpec& spec() const { return spec_; }

  // Everything but samples: facts, compiled candidates of every
  // specialisation. Points to spec().
  ProfileInput Input() const;

  // Returns the latency without noise, in microseconds.
  double TrueLatencyUs(const Configuration& configuration,
                       const Problem& problem) const;

  // Returns a noisy sample.
  Sample Measure(const MeasureItem& item) const;

  // Returns the fastest legal candidate's true latency.
  double OracleUs(const Problem& problem) const;

 private:
  int64_t Blocks(const Configuration& configuration) const;
  double ColdUs(const Configuration& configuration,
                const Problem& problem) const;

  KernelSpec spec_;
  SyntheticDeviceOptions options_;
  std::vector<Configuration> configurations_;
};

// Runs PlanNext and Measure until nothing is left to measure, and returns the
// input with all samples. `batches` gets every step if it is not nullptr.
ProfileInput Profile(const SyntheticDevice& device, ProfileInput input,
                     std::vector<ProfileStep>* batches = nullptr);

// Returns GemmSpec() with representative problems of layers at several token
// counts, decode to prefill.
KernelSpec LayersOfDecodeAndPrefill();

}  // namespace wavetune::testing

#endif  // WAVETUNE_FIT_TESTING_SYNTHETIC_DEVICE_H_
