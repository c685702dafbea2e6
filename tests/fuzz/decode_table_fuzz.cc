// DecodeTable on any bytes: an error of the documented codes, or a table that
// is canonical and safe to decide from.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "model/decide/compiled_table.h"
#include "model/table/table_codec.h"
#include "tests/fuzz/require.h"

namespace wavetune {
namespace {

// Of version 1.0, without unknown sections. The payload decoded, so that its
// header is whole.
bool IsCanonicalForm(absl::string_view payload) {
  return payload.substr(10, 6) == absl::string_view("\0\0\3\0\0\0", 6);
}

// Asks at the ends of every layer: the look-up finds it.
void DecideInLayers(const CompiledTable& compiled) {
  const Table& table = compiled.table();
  for (size_t i = 0; i < table.sub_tables.size(); ++i) {
    const SubTable& sub = table.sub_tables[i];
    for (const LayerChoices& layer : sub.layers) {
      std::vector<int64_t> extents = layer.extents;
      for (const int64_t rows : {layer.first, layer.spans.back().last}) {
        extents[static_cast<size_t>(sub.mapping.rows->dimension)] = rows;
        const ProblemView problem(extents);
        const Decision decision =
            compiled.Resolve(static_cast<int>(i), problem);
        if (decision.source == DecisionSource::kDefault) continue;
        Require(decision.candidate < sub.portfolio.size(),
                "candidate of the portfolio, in a layer");
      }
    }
  }
}

// Asks at the corners of the problem space.
void Decide(const CompiledTable& compiled) {
  const Table& table = compiled.table();
  for (const bool largest : {false, true}) {
    std::vector<int64_t> extents;
    std::vector<int64_t> repeated;
    for (const Dimension& dimension : table.dimensions) {
      extents.push_back(largest ? dimension.max : dimension.min);
      if (dimension.repeated) repeated = {dimension.max, dimension.min};
    }
    for (size_t i = 0; i < table.sub_tables.size(); ++i) {
      const ProblemView problem(extents, repeated);
      const Decision decision = compiled.Resolve(static_cast<int>(i), problem);
      if (decision.reason == DefaultReason::kNoLegalCandidate ||
          decision.reason == DefaultReason::kPreconditionBroken) {
        continue;
      }
      Require(decision.source != DecisionSource::kDefault, "legal problem");
      Require(std::isfinite(decision.latency_us) && decision.latency_us > 0,
              "finite latency");
      Require(decision.candidate < table.sub_tables[i].portfolio.size(),
              "candidate of the portfolio");
      const auto rows = compiled.Explain(static_cast<int>(i), problem);
      const auto chosen =
          std::find_if(rows.begin(), rows.end(),
                       [](const ExplainedGroup& row) { return row.chosen; });
      Require(chosen != rows.end() &&
                  chosen->latency_us == decision.latency_us &&
                  chosen->configuration == decision.configuration,
              "the explanation agrees");
    }
  }
}

void DecodeAndUse(absl::string_view payload) {
  const auto table = DecodeTable(payload);
  if (!table.ok()) {
    Require(absl::IsInvalidArgument(table.status()) ||
                absl::IsUnimplemented(table.status()),
            "documented error");
    return;
  }
  const auto again = EncodeTable(*table);
  Require(again.ok(), "what decodes can be encoded");
  Require(!IsCanonicalForm(payload) || *again == payload, "canonical");
  Require(DecodeTable(*again).value() == *table, "round trip");
  const auto compiled = CompiledTable::Create(payload);
  Require(compiled.ok(), "what decodes compiles");
  Decide(**compiled);
  DecideInLayers(**compiled);
}

}  // namespace
}  // namespace wavetune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wavetune::DecodeAndUse(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
