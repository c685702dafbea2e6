// Tables and problems that decision benchmarks share.
#ifndef WAVETUNE_TESTS_BENCH_BENCH_TABLES_H_
#define WAVETUNE_TESTS_BENCH_BENCH_TABLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/table/table.h"
#include "tests/lib/random_table.h"
#include "wavetune/problem.h"

namespace wavetune::bench {

using Extents = std::array<int64_t, 3>;

// Far more than DecisionMemo has entries: walking through them, no decision is
// a repeated one.
inline constexpr size_t kProblems = 4096;

// Returns the payload of a table with `groups` rows, with the axes that
// FitTable gives tables (fit/models/row_regimes.h): four row regimes, two
// wave regimes and ten loop anchors. Coefficients are random, so that any row
// may win. `cold`: it counts what a problem reads cold.
std::string TablePayload(testing::TableKind kind, size_t groups, WaveForm form,
                         bool cold = false);

// Returns kProblems LLM shapes: any number of tokens, widths of layers.
std::vector<Extents> LlmProblems();

// Returns kProblems lists of tokens per expert: about `tokens` in all, spread
// unevenly over `experts`, some of which get none.
std::vector<std::vector<int64_t>> TokensPerExpert(size_t experts,
                                                  int64_t tokens);

inline ProblemView View(const Extents& extents) {
  return ProblemView(absl::MakeConstSpan(extents.data(), extents.size()));
}

}  // namespace wavetune::bench

#endif  // WAVETUNE_TESTS_BENCH_BENCH_TABLES_H_
