// One configuration for the two products of an expert layer is the same
// everywhere, at every number of tokens.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "model/decide/compiled_table.h"
#include "model/table/table_codec.h"
#include "tests/golden/golden_file.h"
#include "tests/lib/expert_table.h"

namespace wavetune::testing {
namespace {

constexpr int64_t kExperts = 128;
constexpr int64_t kTopK = 8;
constexpr int64_t kHidden = 2048;
constexpr int64_t kIntermediate = 768;
constexpr int64_t kMostTokens = 16384;
constexpr uint32_t kAll = ~uint32_t{0};
constexpr uint32_t kRowTile = 1;

std::vector<int64_t> Balanced(int64_t tokens) {
  std::vector<int64_t> slots(kExperts, tokens * kTopK / kExperts);
  for (int64_t i = 0; i < tokens * kTopK % kExperts; ++i)
    ++slots[static_cast<size_t>(i)];
  return slots;
}

std::string Line(int64_t tokens, uint32_t shared,
                 const std::vector<Decision>& decisions) {
  std::string line =
      absl::StrFormat("%d,%s", tokens, shared == kAll ? "all" : "row tile");
  for (const Decision& decision : decisions) {
    absl::StrAppendFormat(&line, ",%s,%016x",
                          absl::StrJoin(decision.configuration.values(), " "),
                          std::bit_cast<uint64_t>(decision.latency_us));
  }
  return line + "\n";
}

TEST(JointGoldenTest, DecisionsForBothProductsAreTheCommittedOnes) {
  const Table table = ExpertTable(/*seed=*/1);
  ExpectGolden("fused_moe.table", EncodeTable(table).value());
  const auto compiled =
      CompiledTable::Create(EncodeTable(table).value()).value();
  const int gate_up = compiled->SubTableIndex("gate_up");
  const int down = compiled->SubTableIndex("down");
  const std::string header =
      "tokens,shared,gate_up,gate_up_bits,down,down_bits\n";
  std::string all = header;
  std::string shown = header;
  std::vector<Decision> decisions(2);
  for (int64_t tokens = 1; tokens <= kMostTokens; ++tokens) {
    const std::vector<int64_t> slots = Balanced(tokens);
    const std::vector<int64_t> first = {0, 2 * kIntermediate, kHidden, kTopK};
    const std::vector<int64_t> second = {0, kHidden, kIntermediate, kTopK};
    const std::vector<TableProblem> problems = {{gate_up, {first, slots}},
                                                {down, {second, slots}}};
    for (const uint32_t shared : {kAll, kRowTile}) {
      compiled->ResolveTogether(problems, shared, absl::MakeSpan(decisions));
      const std::string line = Line(tokens, shared, decisions);
      all += line;
      if ((tokens & (tokens - 1)) == 0 || tokens % 1000 == 700) shown += line;
    }
  }
  ExpectGolden("joint_decisions.csv", shown);
  ExpectGolden("joint_decisions.sha256", Sha256Hex(all) + "\n");
}

}  // namespace
}  // namespace wavetune::testing
