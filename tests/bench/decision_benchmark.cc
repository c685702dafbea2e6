// Nanoseconds per decision, against a no-op baseline.
//
//   build/release/bin/decision_benchmark --benchmark_repetitions=5
//
// Inputs vary, as they do in serving: with one problem over and over, the
// branch predictor would learn the answer. NewProblem walks through 4,096
// problems; the figure includes reading them. NoOp is the same loop without
// the decision: subtract it.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/compiled_table.h"
#include "model/table_codec.h"
#include "tests/lib/lcg.h"
#include "tests/lib/random_table.h"

namespace wavetune {
namespace {

using Extents = std::array<int64_t, 3>;

constexpr size_t kProblems = 4096;

// A GEMM table with at least `groups` rows, cut to exactly that many.
std::unique_ptr<const CompiledTable> GemmTable(size_t groups) {
  for (uint64_t seed = 1;; ++seed) {
    testing::Lcg random(seed);
    Table table =
        RandomTable(random, testing::TableKind::kGemm, /*portfolio=*/100);
    // The usual case: alignment is the only predicate.
    if (table.problem_predicates.size() != 1 ||
        table.problem_predicates[0].op != Relation::Operator::kMultipleOf ||
        table.sub_tables[0].groups.size() < groups ||
        table.sub_tables[0].max_waves.size() < 2) {
      continue;
    }
    table.sub_tables[0].groups.resize(groups);
    return CompiledTable::Create(EncodeTable(table).value()).value();
  }
}

// LLM shapes: any number of tokens, widths of layers.
std::vector<Extents> Problems() {
  testing::Lcg random(1);
  std::vector<Extents> problems(kProblems);  // Braces keep the order below.
  for (Extents& extents : problems) {
    extents = {random.Between(1, 8192), 128 * random.Between(1, 128),
               128 * random.Between(1, 128)};
  }
  return problems;
}

ProblemView View(const Extents& extents) {
  return ProblemView(absl::MakeConstSpan(extents.data(), extents.size()));
}

void NewProblem(benchmark::State& state) {
  const auto table = GemmTable(static_cast<size_t>(state.range(0)));
  const std::vector<Extents> problems = Problems();
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table->Resolve(0, View(problems[next])));
    next = (next + 1) % kProblems;
  }
}
BENCHMARK(NewProblem)->Arg(16)->Arg(32);

void Repeated(benchmark::State& state) {
  const auto table = GemmTable(16);
  const Extents extents = {7, 4096, 4096};
  for (auto _ : state) {
    benchmark::DoNotOptimize(table->Resolve(0, View(extents)));
  }
}
BENCHMARK(Repeated);

void NoOp(benchmark::State& state) {
  const std::vector<Extents> problems = Problems();
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(View(problems[next]));
    next = (next + 1) % kProblems;
  }
}
BENCHMARK(NoOp);

}  // namespace
}  // namespace wavetune

BENCHMARK_MAIN();
