// The tables of the golden tests: one per shape that a kernel can have.
#ifndef WAVETUNE_TESTS_GOLDEN_GOLDEN_TABLES_H_
#define WAVETUNE_TESTS_GOLDEN_GOLDEN_TABLES_H_

#include <cstdint>
#include <string>

#include "tests/lib/random_table.h"

namespace wavetune::testing {

// A table that follows from its kind and seed; `name`.table in
// tests/golden/data is its payload.
struct GoldenTable {
  const char* name;
  TableKind kind;
  uint64_t seed;
  WaveForm form = WaveForm::kSum;

  bool large = false;
  bool margins = false;
  bool layers = false;
  bool power_limit = false;
  bool cold = false;

  Table Build() const {
    Lcg random(seed);
    Table table = large ? RandomLargeTable(random)
                        : RandomTable(random, kind, /*portfolio=*/12);
    SubTable& sub = table.sub_tables[0];
    if (form == WaveForm::kOverlap && !large) MakeOverlap(random, sub);
    if (margins) AddRankMargins(random, sub);
    if (layers) AddLayers(random, table, /*most=*/8, sub);
    if (power_limit) AddPowerLimitSlowdown(random, sub);
    if (cold) AddColdBytes(random, table, sub);
    return table;
  }
  std::string FileName() const { return std::string(name) + ".table"; }
};

inline constexpr GoldenTable kGoldenTables[] = {
    {"gemm", TableKind::kGemm, 1},
    {"grouped_gemm", TableKind::kGroupedGemm, 2},
    {"causal_attention", TableKind::kCausalAttention, 3},
    {"packed_attention", TableKind::kPackedAttention, 4},
    {"overlapping_gemm", TableKind::kClusterGemm, 5, WaveForm::kOverlap},
    {"large_gemm", TableKind::kGemm, 6, WaveForm::kOverlap, /*large=*/true},
    {"margins_gemm", TableKind::kGemm, 7, WaveForm::kOverlap, /*large=*/false,
     /*margins=*/true},
    {"large_margins_gemm", TableKind::kGemm, 15, WaveForm::kOverlap,
     /*large=*/true, /*margins=*/true},
    {"layers_gemm", TableKind::kGemm, 9, WaveForm::kOverlap, /*large=*/false,
     /*margins=*/true, /*layers=*/true},
    {"sustained_gemm", TableKind::kGemm, 10, WaveForm::kOverlap,
     /*large=*/false, /*margins=*/true, /*layers=*/false, /*power_limit=*/true},
    {"cold_grouped_gemm", TableKind::kGroupedGemm, 11, WaveForm::kSum,
     /*large=*/false, /*margins=*/false, /*layers=*/false,
     /*power_limit=*/false, /*cold=*/true},
};

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_GOLDEN_GOLDEN_TABLES_H_
