// What recording a decision costs the launch path: Record against doing
// nothing, on one thread and on all.
//
//   build/ci/bin/usage_recorder_benchmark
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>

#include "client/usage/usage_recorder.h"

namespace wavetune {
namespace {

Decision Fitted() {
  Decision decision;
  decision.source = DecisionSource::kFitted;
  decision.relative_bound = 0.05;
  return decision;
}

void NoOp(benchmark::State& state) {
  Decision decision = Fitted();
  int64_t m = 0;
  for (auto _ : state) {
    m = (m + 1) & 1023;
    const std::array<int64_t, 3> extents = {m, 4096, 4096};
    benchmark::DoNotOptimize(extents);
    benchmark::DoNotOptimize(decision);
  }
}
BENCHMARK(NoOp)->ThreadRange(1, 2);

// Varied problems; the sampled ones are written now and then.
void Record(benchmark::State& state) {
  static UsageRecorder* const recorder = new UsageRecorder(3, false);
  // The stride that a drain gives a thread at full speed.
  if (state.thread_index() == 0) {
    for (int i = 0; i < 10'000'000; ++i) recorder->Record({1, 1, 1}, Fitted());
    DrainedUsage drained;
    recorder->Drain(&drained);
  }
  Decision decision = Fitted();
  int64_t m = 0;
  for (auto _ : state) {
    m = (m + 1) & 1023;
    const std::array<int64_t, 3> extents = {m, 4096, 4096};
    benchmark::DoNotOptimize(extents);
    benchmark::DoNotOptimize(decision);
    recorder->Record(absl::MakeConstSpan(extents), decision);
  }
}
BENCHMARK(Record)->ThreadRange(1, 2);

// Beyond the slots, threads share one. (Google Benchmark's own threads.)
void RecordShared(benchmark::State& state) {
  static UsageRecorder* const recorder = new UsageRecorder(3, false);
  Decision decision = Fitted();
  int64_t m = 0;
  for (auto _ : state) {
    m = (m + 1) & 1023;
    recorder->Record({m, 4096, 4096}, decision);
  }
}
BENCHMARK(RecordShared)->Threads(40);

}  // namespace
}  // namespace wavetune

BENCHMARK_MAIN();
