// Fixed tables and 10,000 fixed problems give the same decisions everywhere.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "model/decide/compiled_table.h"
#include "model/table/byte_io.h"
#include "model/table/table_codec.h"
#include "tests/golden/golden_file.h"
#include "tests/golden/golden_tables.h"

namespace wavetune::testing {
namespace {

constexpr int kProblemsPerTable = 2500;
constexpr int kShownPerTable = 50;

// Every field, the numbers as bits.
void Serialise(const Decision& decision, ByteWriter& writer) {
  for (const int64_t value : decision.configuration.values()) {
    writer.U64(static_cast<uint64_t>(value));
  }
  writer.U64(std::bit_cast<uint64_t>(decision.latency_us));
  writer.U64(std::bit_cast<uint64_t>(decision.relative_bound));
  writer.U64(decision.digest_prefix);
  writer.U8(static_cast<uint8_t>(decision.source));
  writer.U8(static_cast<uint8_t>(decision.reason));
  writer.U8(decision.candidate);
}

std::string Line(const char* table, const Problem& problem,
                 const Decision& decision) {
  return absl::StrFormat(
      "%s,%s,%s,%s,%s,%d,%s,%.6g,%016x,%.6g\n", table,
      absl::StrJoin(problem.extents, " "), absl::StrJoin(problem.repeated, " "),
      ToString(decision.source), ToString(decision.reason), decision.candidate,
      absl::StrJoin(decision.configuration.values(), " "), decision.latency_us,
      std::bit_cast<uint64_t>(decision.latency_us), decision.relative_bound);
}

TEST(DecisionGoldenTest, DecisionsAreTheCommittedOnes) {
  ByteWriter all;
  std::string shown =
      "table,extents,repeated,source,reason,candidate,configuration,"
      "latency_us,latency_bits,relative_bound\n";
  for (const GoldenTable& golden : kGoldenTables) {
    const auto compiled =
        CompiledTable::Create(EncodeTable(golden.Build()).value());
    ASSERT_TRUE(compiled.ok()) << golden.name << ": " << compiled.status();
    Lcg random(golden.seed + 100);
    for (int i = 0; i < kProblemsPerTable; ++i) {
      Problem problem = RandomProblem(random, (*compiled)->table());
      if (golden.layers && i % 2 == 0) {
        PlaceInLayer(random, (*compiled)->table().sub_tables[0], problem);
      }
      const Decision decision = (*compiled)->Resolve(0, problem.View());
      Serialise(decision, all);
      if (i < kShownPerTable) shown += Line(golden.name, problem, decision);
    }
  }
  // The lines first: where they differ, they say how.
  ExpectGolden("decisions.csv", shown);
  ExpectGolden("decisions.sha256", Sha256Hex(all.bytes()) + "\n");
}

}  // namespace
}  // namespace wavetune::testing
