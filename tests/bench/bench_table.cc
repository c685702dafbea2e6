// Writes a table of decision_benchmark's, so that other languages' benchmarks
// decide with the same one:
//
//   build/ci/bin/bench_table 16 > build/gemm_16.table
//   client/python/benchmarks/resolve_benchmark.py --table build/gemm_16.table
#include <unistd.h>

#include <cstddef>
#include <iostream>
#include <string>

#include "absl/strings/numbers.h"
#include "tests/bench/bench_tables.h"

int main(int argc, char** argv) {
  size_t rows = 0;
  if (argc != 2 || !absl::SimpleAtoi(argv[1], &rows) || rows == 0 ||
      rows > 32 || isatty(STDOUT_FILENO) != 0) {
    std::cerr << "usage: bench_table ROWS > FILE   (1 to 32 rows)\n";
    return 2;
  }
  const std::string payload = wavetune::bench::TablePayload(
      wavetune::testing::TableKind::kGemm, rows, wavetune::WaveForm::kSum);
  std::cout.write(payload.data(), static_cast<std::streamsize>(payload.size()));
  return std::cout.flush() ? 0 : 1;
}
