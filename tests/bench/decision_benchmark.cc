// Nanoseconds per decision, beside what they are compared with in the same run:
// a no-op and a look-up in a hash map.
//
//   build/ci/bin/decision_benchmark --benchmark_repetitions=5 [TABLE...]
//
// A TABLE is the file of a GEMM's, as `wavetune evaluate --save-table` writes.
//
// Inputs vary, as they do in serving: with one problem over and over, the
// branch predictor would learn the answer. NewProblem walks through 4,096
// problems, 32 times what a thread remembers (model/decide/decision_memo.h);
// the figure includes reading them. NoOp is the same loop without the decision:
// subtract it.
//
// Names: NewProblem/16, /32 and /48 (rows), Repeated, GroupedGemm/128 (experts)
// use what serving uses; NewProblem<path>/... name the wave form and, for all
// that this CPU runs, the SIMD path. tests/bench/tail_benchmark.cc has
// percentiles.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/decide/compiled_table.h"
#include "model/decide/simd/simd_path.h"
#include "tests/bench/bench_tables.h"

namespace wavetune::bench {
namespace {

using testing::TableKind;

std::unique_ptr<const CompiledTable> Compile(TableKind kind, size_t groups,
                                             WaveForm form, SimdPath path) {
  return CompiledTable::Create(TablePayload(kind, groups, form), path).value();
}

void ResolveNewProblems(benchmark::State& state, const CompiledTable& table) {
  const std::vector<Extents> problems = LlmProblems();
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.Resolve(0, View(problems[next])));
    next = (next + 1) % kProblems;
  }
}

void ResolveNewProblems(benchmark::State& state, WaveForm form, SimdPath path) {
  ResolveNewProblems(
      state, *Compile(TableKind::kGemm, static_cast<size_t>(state.range(0)),
                      form, path));
}

// One shape of layer, tokens of 128 experts.
void ResolveGroupedGemm(benchmark::State& state, WaveForm form, SimdPath path) {
  const auto table = Compile(TableKind::kGroupedGemm, 16, form, path);
  const auto experts = static_cast<size_t>(state.range(0));
  const auto lists = TokensPerExpert(experts, 16384);
  const Extents extents = {0, 4096, 4096};
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table->Resolve(
        0,
        ProblemView(View(extents).extents, absl::MakeConstSpan(lists[next]))));
    next = (next + 1) % kProblems;
  }
}

void NewProblem(benchmark::State& state) {
  ResolveNewProblems(state, WaveForm::kSum, DefaultSimdPath());
}
BENCHMARK(NewProblem)->Arg(16)->Arg(32)->Arg(48);

void GroupedGemm(benchmark::State& state) {
  ResolveGroupedGemm(state, WaveForm::kSum, DefaultSimdPath());
}
BENCHMARK(GroupedGemm)->Arg(128);

// Four layers in turn, as a model launches them.
void Repeated(benchmark::State& state) {
  const auto table =
      Compile(TableKind::kGemm, 16, WaveForm::kSum, DefaultSimdPath());
  const std::vector<Extents> problems = LlmProblems();
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table->Resolve(0, View(problems[next])));
    next = (next + 1) % 4;
  }
}
BENCHMARK(Repeated);

void NoOp(benchmark::State& state) {
  const std::vector<Extents> problems = LlmProblems();
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(View(problems[next]));
    next = (next + 1) % kProblems;
  }
}
BENCHMARK(NoOp);

struct ExtentsHash {
  size_t operator()(const Extents& extents) const {
    uint64_t hash = 0;
    for (const int64_t extent : extents) {
      hash = (hash ^ static_cast<uint64_t>(extent)) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

// What a cache of answers costs that has seen every problem.
void UnorderedMapLookup(benchmark::State& state) {
  const auto table =
      Compile(TableKind::kGemm, 16, WaveForm::kSum, DefaultSimdPath());
  const std::vector<Extents> problems = LlmProblems();
  std::unordered_map<Extents, Decision, ExtentsHash> answers;
  for (const Extents& extents : problems) {
    answers.emplace(extents, table->Resolve(0, View(extents)));
  }
  size_t next = 0;
  for (auto _ : state) {
    Decision decision = answers.find(problems[next])->second;
    benchmark::DoNotOptimize(decision);
    next = (next + 1) % kProblems;
  }
}
BENCHMARK(UnorderedMapLookup);

void RegisterPaths() {
  for (const SimdPath path : SupportedSimdPaths()) {
    for (const WaveForm form : {WaveForm::kSum, WaveForm::kOverlap}) {
      const std::string name =
          absl::StrCat("<", std::string(ToString(path)), ",",
                       form == WaveForm::kSum ? "sum" : "overlap", ">");
      benchmark::RegisterBenchmark(("NewProblem" + name).c_str(),
                                   [form, path](benchmark::State& state) {
                                     ResolveNewProblems(state, form, path);
                                   })
          ->Arg(16)
          ->Arg(32)
          ->Arg(48);
      benchmark::RegisterBenchmark(("GroupedGemm" + name).c_str(),
                                   [form, path](benchmark::State& state) {
                                     ResolveGroupedGemm(state, form, path);
                                   })
          ->Arg(128);
    }
  }
}

// A table that was fitted. Returns whether it can be timed.
bool RegisterFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string payload{std::istreambuf_iterator<char>(file), {}};
  auto compiled = CompiledTable::Create(payload, DefaultSimdPath());
  if (!compiled.ok() || (*compiled)->table().dimensions.size() != 3) {
    std::cerr << path << ": "
              << (compiled.ok() ? "not a table of three dimensions"
                                : compiled.status().ToString())
              << "\n";
    return false;
  }
  const std::shared_ptr<const CompiledTable> table = *std::move(compiled);
  benchmark::RegisterBenchmark(
      absl::StrCat("NewProblem<", path, ">").c_str(),
      [table](benchmark::State& state) { ResolveNewProblems(state, *table); });
  return true;
}

}  // namespace
}  // namespace wavetune::bench

int main(int argc, char** argv) {
  wavetune::bench::RegisterPaths();
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (!wavetune::bench::RegisterFile(argv[i])) return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
