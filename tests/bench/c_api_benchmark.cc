// What the C ABI costs over the C++ client, both on the same table.
//
//   build/ci/bin/c_api_benchmark --benchmark_repetitions=5
//
// ResolveC - ResolveCpp is the cost: the call through the shared library and
// its checks. Inputs vary, as in decision_benchmark.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/src/fake_node.h"
#include "model/table/table_codec.h"
#include "tests/bench/bench_tables.h"
#include "tests/lib/random_table.h"
#include "wavetune/client.h"
#include "wavetune/wavetune.h"

namespace wavetune {
namespace {

using bench::Extents;
using bench::kProblems;
using bench::LlmProblems;
using bench::View;

// A GEMM table of exactly `groups` rows, with the usual axes.
Table GemmTable(size_t groups) {
  return DecodeTable(bench::TablePayload(testing::TableKind::kGemm, groups,
                                         WaveForm::kSum))
      .value();
}

// A tuner of each language for one table, from one daemon.
class Tuners {
 public:
  explicit Tuners(size_t groups)
      : table_(GemmTable(groups)), cpp_(Make(table_)) {
    const std::string endpoint = node_.endpoint();
    wavetune_client_options options = WAVETUNE_CLIENT_OPTIONS_INIT;
    options.endpoint = endpoint.c_str();
    options.cache_dir = "";
    wavetune_tuner_options tuner_options = WAVETUNE_TUNER_OPTIONS_INIT;
    tuner_options.specialisation = table_.sub_tables[0].specialisation.c_str();
    wavetune_client* client = nullptr;
    if (wavetune_client_connect(&options, &client) != WAVETUNE_OK ||
        wavetune_client_get_tuner(client, table_.kernel.c_str(), &tuner_options,
                                  &c_) != WAVETUNE_OK) {
      std::abort();
    }
    wavetune_client_close(client);
  }
  ~Tuners() { wavetune_tuner_close(c_); }
  Tuners(const Tuners&) = delete;
  Tuners& operator=(const Tuners&) = delete;

  const Tuner& cpp() const { return cpp_; }
  const wavetune_tuner* c() const { return c_; }

 private:
  Tuner Make(const Table& table) {
    node_.AddTable(testing::Serve(table));
    return Client::Connect({.endpoint = node_.endpoint(), .cache_dir = ""})
        .value()
        ->GetTuner(table.kernel,
                   {.specialisation = table.sub_tables[0].specialisation})
        .value();
  }

  testing::FakeNode node_;
  const Table table_;
  const Tuner cpp_;
  wavetune_tuner* c_ = nullptr;
};

void ResolveCpp(benchmark::State& state) {
  const Tuners tuners(static_cast<size_t>(state.range(0)));
  const std::vector<Extents> problems = LlmProblems();
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(tuners.cpp().Resolve(View(problems[next])));
    next = (next + 1) % kProblems;
  }
}
BENCHMARK(ResolveCpp)->Arg(2)->Arg(16);

void ResolveC(benchmark::State& state) {
  const Tuners tuners(static_cast<size_t>(state.range(0)));
  const std::vector<Extents> problems = LlmProblems();
  size_t next = 0;
  wavetune_decision decision;
  for (auto _ : state) {
    const Extents& extents = problems[next];
    wavetune_tuner_resolve(tuners.c(), extents.data(), extents.size(),
                           &decision);
    benchmark::DoNotOptimize(decision);
    next = (next + 1) % kProblems;
  }
}
BENCHMARK(ResolveC)->Arg(2)->Arg(16);

}  // namespace
}  // namespace wavetune

BENCHMARK_MAIN();
