// Percentiles of single calls, for benchmarks of what must never be slow.
//
//   Tail tail;
//   for (auto _ : state) {
//     const uint64_t start = Ticks();
//     benchmark::DoNotOptimize(Decide());
//     tail.Add(Ticks() - start);
//   }
//   tail.Report(state);  // counters p50_ns, p99_ns, p99.9_ns, max_ns
//
// Reading the clock costs about as much as a decision: Report says what the
// median of two readings with nothing in between is (clock_ns), and takes it
// off nothing.
#ifndef WAVETUNE_TESTS_BENCH_TAIL_H_
#define WAVETUNE_TESTS_BENCH_TAIL_H_

#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace wavetune::bench {

// The time stamp counter where there is one: steady_clock takes longer.
inline uint64_t Ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<uint64_t>(
      std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

// Returns nanoseconds per tick, measured over 50 ms.
double NanosecondsPerTick();

// A histogram with one bin per tick; adding to it allocates nothing.
class Tail {
 public:
  void Add(uint64_t ticks) {
    ++(*bins_)[ticks < kBins ? ticks : kBins - 1];
    most_ = ticks > most_ ? ticks : most_;
    ++count_;
  }

  // Returns the least number of ticks that the given share of calls took at
  // most; `kBins` ticks or more count as the most that was seen.
  uint64_t Percentile(double share) const;

  void Report(benchmark::State& state) const;

 private:
  static constexpr size_t kBins = size_t{1} << 16;  // 20 us and more.

  std::unique_ptr<std::array<uint32_t, kBins>> bins_ =
      std::make_unique<std::array<uint32_t, kBins>>();
  uint64_t most_ = 0;
  uint64_t count_ = 0;
};

}  // namespace wavetune::bench

#endif  // WAVETUNE_TESTS_BENCH_TAIL_H_
