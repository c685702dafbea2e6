// How long the slowest decisions take while another thread swaps the table
// 1,000 times a second, and while nobody does.
//
//   build/ci/bin/tail_benchmark
//
// Judge the tail on a quiet machine with cores to spare: what the operating
// system takes away counts. NewProblemTail decides from a bare table pointer,
// which is what swapping costs at least.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "model/decide/compiled_table.h"
#include "tests/bench/bench_tables.h"
#include "tests/bench/tail.h"

namespace wavetune::bench {
namespace {

// Tables of equal content at different addresses: a swap moves everything that
// a decision reads out of the cache, and the memo forgets. Readers need no
// protection, as all live as long as this.
class SwappedTables {
 public:
  SwappedTables(size_t groups, WaveForm form) {
    const std::string payload =
        TablePayload(testing::TableKind::kGemm, groups, form);
    for (int i = 0; i < 16; ++i) {
      tables_.push_back(CompiledTable::Create(payload).value());
    }
    current_ = tables_[0].get();
  }
  ~SwappedTables() {
    stop_ = true;
    if (swapper_.joinable()) swapper_.join();
  }

  void StartSwapping() {
    swapper_ = std::thread([this] {
      auto next = std::chrono::steady_clock::now();
      for (size_t i = 1; !stop_; ++i) {
        current_.store(tables_[i % tables_.size()].get(),
                       std::memory_order_release);
        next += std::chrono::milliseconds(1);
        std::this_thread::sleep_until(next);
      }
    });
  }

  const CompiledTable& current() const {
    return *current_.load(std::memory_order_acquire);
  }

 private:
  std::vector<std::unique_ptr<const CompiledTable>> tables_;
  std::atomic<const CompiledTable*> current_ = nullptr;
  std::atomic<bool> stop_ = false;
  std::thread swapper_;
};

void NewProblemTail(benchmark::State& state, WaveForm form, bool swaps) {
  SwappedTables tables(static_cast<size_t>(state.range(0)), form);
  const std::vector<Extents> problems = LlmProblems();
  if (swaps) tables.StartSwapping();
  Tail tail;
  size_t next = 0;
  for (auto _ : state) {
    const uint64_t start = Ticks();
    benchmark::DoNotOptimize(tables.current().Resolve(0, View(problems[next])));
    tail.Add(Ticks() - start);
    next = (next + 1) % kProblems;
  }
  tail.Report(state);
}
BENCHMARK_CAPTURE(NewProblemTail, sum_still, WaveForm::kSum, false)
    ->Arg(16)
    ->Arg(32)
    ->UseRealTime();
BENCHMARK_CAPTURE(NewProblemTail, sum_swapped, WaveForm::kSum, true)
    ->Arg(16)
    ->Arg(32)
    ->UseRealTime();
BENCHMARK_CAPTURE(NewProblemTail, overlap_swapped, WaveForm::kOverlap, true)
    ->Arg(16)
    ->Arg(32)
    ->UseRealTime();

}  // namespace
}  // namespace wavetune::bench

BENCHMARK_MAIN();
