// Decides a case many times, for scripts/decision_instructions.sh to count the
// instructions of: not a test by itself.
//
//   decision_instructions                    prints the cases, one a line
//   decision_instructions avx2 repeated 1000
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "model/decide/compiled_table.h"
#include "model/decide/simd/simd_path.h"
#include "tests/bench/bench_tables.h"

namespace wavetune::bench {
namespace {

struct Case {
  const char* name;
  testing::TableKind kind;
  size_t groups;
  WaveForm form;
  bool repeats;
  bool cold = false;
};

constexpr Case kCases[] = {
    {"new_problem_16", testing::TableKind::kGemm, 16, WaveForm::kSum, false},
    {"new_problem_32", testing::TableKind::kGemm, 32, WaveForm::kSum, false},
    {"new_problem_16_overlap", testing::TableKind::kGemm, 16,
     WaveForm::kOverlap, false},
    {"repeated", testing::TableKind::kGemm, 16, WaveForm::kSum, true},
    {"grouped_gemm_128", testing::TableKind::kGroupedGemm, 16, WaveForm::kSum,
     false},
    {"cold_grouped_gemm_128", testing::TableKind::kGroupedGemm, 16,
     WaveForm::kSum, false, /*cold=*/true},
};

void Run(const Case& of, SimdPath path, size_t count) {
  const auto table =
      CompiledTable::Create(TablePayload(of.kind, of.groups, of.form, of.cold),
                            path)
          .value();
  const std::vector<Extents> problems = LlmProblems();
  const auto lists = TokensPerExpert(128, 16384);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    ProblemView problem = View(problems[of.repeats ? 0 : i % kProblems]);
    if (of.kind == testing::TableKind::kGroupedGemm) {
      problem.repeated = absl::MakeConstSpan(lists[i % kProblems]);
    }
    sum += table->Resolve(0, problem).latency_us;
  }
  std::printf("%s: %g us\n", of.name, sum);
}

int Main(int argc, char** argv) {
  if (argc != 4) {
    for (const SimdPath path : SupportedSimdPaths()) {
      for (const Case& of : kCases) {
        std::printf("%s %s\n", std::string(ToString(path)).c_str(), of.name);
      }
    }
    return 0;
  }
  for (const Case& of : kCases) {
    if (std::strcmp(of.name, argv[2]) != 0) continue;
    const SimdPath path = SimdPathNamed(argv[1]);
    if (ToString(path) != argv[1]) break;
    Run(of, path, std::strtoul(argv[3], nullptr, 10));
    return 0;
  }
  std::fprintf(stderr, "no case %s on path %s\n", argv[2], argv[1]);
  return 1;
}

}  // namespace
}  // namespace wavetune::bench

int main(int argc, char** argv) { return wavetune::bench::Main(argc, argv); }
