#include "tests/bench/tail.h"

#include <chrono>

namespace wavetune::bench {

double NanosecondsPerTick() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const uint64_t first = Ticks();
  Clock::time_point end = begin;
  while (end - begin < std::chrono::milliseconds(50)) end = Clock::now();
  const uint64_t last = Ticks();
  return std::chrono::duration<double, std::nano>(end - begin).count() /
         static_cast<double>(last - first);
}

uint64_t Tail::Percentile(double share) const {
  const auto wanted =
      static_cast<uint64_t>(share * static_cast<double>(count_));
  uint64_t below = 0;
  for (size_t ticks = 0; ticks + 1 < kBins; ++ticks) {
    below += (*bins_)[ticks];
    if (below > wanted) return ticks;
  }
  return most_;
}

void Tail::Report(benchmark::State& state) const {
  static const double nanoseconds = NanosecondsPerTick();
  Tail clock;
  for (int i = 0; i < 10000; ++i) {
    const uint64_t start = Ticks();
    benchmark::ClobberMemory();
    clock.Add(Ticks() - start);
  }
  const auto report = [&](const char* name, uint64_t ticks) {
    state.counters[name] = static_cast<double>(ticks) * nanoseconds;
  };
  report("p50_ns", Percentile(0.5));
  report("p99_ns", Percentile(0.99));
  report("p99.9_ns", Percentile(0.999));
  report("max_ns", most_);
  report("clock_ns", clock.Percentile(0.5));
}

}  // namespace wavetune::bench
