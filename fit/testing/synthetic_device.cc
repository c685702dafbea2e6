#include "fit/testing/synthetic_device.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "model/testing/kernels.h"

namespace wavetune::testing {
namespace {

constexpr size_t kMostBatches = 10000;  // Of a profile that never ends.

// splitmix64: one step of the generator, as a hash.
uint64_t Mix(uint64_t hash, int64_t value) {
  hash +=
      static_cast<uint64_t>(value) * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

// In [-1, 1).
double Symmetric(uint64_t hash) {
  return static_cast<double>(hash >> 11) / static_cast<double>(1ull << 52) - 1;
}

uint64_t HashOf(uint64_t seed, const Configuration& configuration) {
  for (const int64_t value : configuration.values()) seed = Mix(seed, value);
  return seed;
}

uint64_t HashOf(uint64_t seed, const Problem& problem) {
  for (const int64_t extent : problem.extents) seed = Mix(seed, extent);
  for (const int64_t extent : problem.repeated) seed = Mix(seed, extent);
  for (const char c : problem.specialisation) seed = Mix(seed, c);
  return seed;
}

}  // namespace

SyntheticDevice::SyntheticDevice(KernelSpec spec,
                                 SyntheticDeviceOptions options)
    : spec_(std::move(spec)),
      options_(options),
      configurations_(EnumerateConfigurations(spec_)) {}

int64_t SyntheticDevice::Blocks(const Configuration& configuration) const {
  // Larger tiles leave room for fewer blocks.
  const int64_t tile = configuration[0] * configuration[1];
  return std::clamp<int64_t>(4096 / tile, 1, options_.blocks);
}

double SyntheticDevice::ColdUs(const Configuration& configuration,
                               const Problem& problem) const {
  if (options_.cold_us_per_mib == 0) return 0;
  std::vector<int64_t> with_work = problem.repeated;
  std::erase(with_work, 0);
  const ProblemView view(problem.extents, with_work);
  double mib = 0;
  for (const Argument& argument : spec_.arguments) {
    if (!argument.cold) continue;
    mib += static_cast<double>(Evaluate(argument.size, view, configuration)) *
           static_cast<double>(ElementBytes(argument.type)) * 0x1p-20;
  }
  return options_.cold_us_per_mib * mib * 64 /
         static_cast<double>(configuration[1]);
}

ProfileInput SyntheticDevice::Input() const {
  ProfileInput input;
  input.spec = &spec_;
  input.fingerprint = std::string(64, 'f');
  input.device.backend = "replay";
  input.device.architecture = "synthetic";
  input.device.multiprocessors = options_.multiprocessors;
  for (const std::string& name : spec_.SpecialisationNames()) {
    static_cast<void>(name);
    auto& candidates = input.candidates.emplace_back();
    for (const Configuration& configuration : configurations_) {
      const int64_t blocks = Blocks(configuration);
      candidates.push_back(
          {.configuration = configuration,
           .tiles_per_wave = options_.multiprocessors * blocks,
           .blocks_per_multiprocessor = static_cast<int32_t>(blocks)});
    }
  }
  return input;
}

double SyntheticDevice::TrueLatencyUs(const Configuration& configuration,
                                      const Problem& problem) const {
  const Coordinates at = MapProblem(spec_.MappingOf(problem.specialisation),
                                    problem.View(), configuration);
  const double blocks = static_cast<double>(Blocks(configuration));
  const double units = static_cast<double>(options_.multiprocessors);
  const double g = static_cast<double>(at.tiles);
  const int64_t tiles_per_wave =
      options_.multiprocessors * Blocks(configuration);
  // Tiles of the busiest multiprocessor, in whole waves of its blocks.
  const double busiest = static_cast<double>(
      at.tiles <= tiles_per_wave
          ? Waves(at.tiles, options_.multiprocessors)
          : Waves(at.tiles, tiles_per_wave) * Blocks(configuration));
  const double load = options_.waves ? busiest : g / units;

  // Work of an iteration: the tile's area, better used by larger tiles; each
  // configuration has a quirk of its own of a few percent.
  const double area = static_cast<double>(configuration[0] * configuration[1]);
  const double quirk = 1 + 0.06 * Symmetric(HashOf(7, configuration));
  const double depth = static_cast<double>(configuration[2]);
  const double per_iteration =
      (0.05 + area * depth / 3e5) * quirk / (0.7 + 0.3 * (blocks > 1));
  const double longest = static_cast<double>(at.longest_loop);
  const double compute =
      load * (0.5 * at.iterations + 0.5 * longest) * per_iteration;
  // Bytes: rows of tiles reuse what the first row read.
  const double reuse =
      at.rows == 1 ? 1 : 0.5 + 0.5 / static_cast<double>(at.rows);
  const double side = static_cast<double>(configuration[0] + configuration[1]);
  const double memory =
      g * at.iterations * side * depth * reuse / (6e3 * units);
  const double larger = std::max(compute, memory);
  const double smaller = std::min(compute, memory);
  return 4 + 0.3 * longest * 0.1 + load * area / 4e3 + larger + 0.2 * smaller +
         ColdUs(configuration, problem);
}

Sample SyntheticDevice::Measure(const MeasureItem& item) const {
  const double noise =
      options_.noise *
      Symmetric(
          HashOf(HashOf(options_.seed, item.configuration), item.problem));
  Sample sample{.configuration = item.configuration, .problem = item.problem};
  sample.latency_us =
      TrueLatencyUs(item.configuration, item.problem) * (1 + noise);
  sample.min_us = sample.latency_us * 0.99;
  sample.relative_spread = options_.noise;
  sample.launches = 5;
  sample.device_time_us = 5 * sample.latency_us;
  return sample;
}

double SyntheticDevice::OracleUs(const Problem& problem) const {
  double best = 0;
  for (const Configuration& configuration : configurations_) {
    if (!IsLegal(spec_, configuration, problem.View())) continue;
    const double latency_us = TrueLatencyUs(configuration, problem);
    best = best == 0 ? latency_us : std::min(best, latency_us);
  }
  return best;
}

ProfileInput Profile(const SyntheticDevice& device, ProfileInput input,
                     std::vector<ProfileStep>* batches) {
  for (size_t i = 0; i < kMostBatches; ++i) {
    ProfileStep step = PlanNext(input);
    if (step.items.empty()) break;
    for (const MeasureItem& item : step.items) {
      input.samples.push_back(device.Measure(item));
    }
    if (batches != nullptr) batches->push_back(std::move(step));
  }
  return input;
}

KernelSpec LayersOfDecodeAndPrefill() {
  KernelSpec spec = GemmSpec();
  spec.representative_problems.clear();
  for (const int64_t m : {1, 4, 12, 40, 100, 300, 1000}) {
    for (const int64_t n : {576, 1536, 4096}) {
      for (const int64_t k : {576, 2560}) {
        spec.representative_problems.push_back(
            {.problem = {.extents = {m, n, k}}});
      }
    }
  }
  return spec;
}

}  // namespace wavetune::testing
