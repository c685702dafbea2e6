#include "cli/export/layer_decisions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "formats/workload/token_counts.h"
#include "model/kernel/mapping.h"

namespace wavetune::cli {
namespace {

constexpr uint32_t kEveryParameter = ~uint32_t{0};

uint32_t MaskOf(const Table& table, SharedByProducts shared) {
  if (shared == SharedByProducts::kAll) return kEveryParameter;
  const auto row_tile = std::find(table.parameters.begin(),
                                  table.parameters.end(), "BLOCK_SIZE_M");
  return uint32_t{1} << (row_tile - table.parameters.begin());
}

std::vector<int64_t> ExtentsOf(const Table& table, const ServedMoe& moe,
                               const MoeLayer& layer, int64_t n, int64_t k) {
  std::vector<int64_t> extents(table.dimensions.size());
  extents[static_cast<size_t>(moe.n)] = n;
  extents[static_cast<size_t>(moe.k)] = k;
  if (moe.top_k >= 0) extents[static_cast<size_t>(moe.top_k)] = layer.top_k;
  return extents;
}

}  // namespace

LayerDecisions::LayerDecisions(const CompiledTable& table, const ServedMoe& moe,
                               const MoeLayer& layer, SharedByProducts shared,
                               int64_t most) {
  const int64_t width = (layer.gated ? 2 : 1) * layer.intermediate;
  const std::vector<int64_t> gate_up =
      ExtentsOf(table.table(), moe, layer, width, layer.hidden);
  const std::vector<int64_t> down =
      ExtentsOf(table.table(), moe, layer, layer.hidden, layer.intermediate);
  const uint32_t mask = MaskOf(table.table(), shared);
  for (int64_t tokens = 1; tokens <= most; ++tokens) {
    const std::vector<int64_t> slots =
        BalancedSlots(tokens, layer.top_k, layer.experts, layer.local_experts);
    const TableProblem problems[] = {
        {table.SubTableIndex(moe.gate_up), {gate_up, slots}},
        {table.SubTableIndex(moe.down), {down, slots}}};
    std::array<Decision, 2> both;
    table.ResolveTogether(problems, mask, absl::MakeSpan(both));
    decisions_.push_back({.gate_up = both[0], .down = both[1]});
    const auto is = [&both](DecisionSource source) {
      return both[0].source == source || both[1].source == source;
    };
    if (is(DecisionSource::kDefault) && defaults_++ == 0)
      default_reason_ = both[0].reason;
    if (is(DecisionSource::kExtrapolated)) ++extrapolated_;
  }
}

std::vector<Configuration> LayerDecisions::GateUp() const {
  std::vector<Configuration> result;
  for (const LayerDecision& decision : decisions_)
    result.push_back(decision.gate_up.configuration);
  return result;
}

std::vector<Configuration> LayerDecisions::Down() const {
  std::vector<Configuration> result;
  for (const LayerDecision& decision : decisions_)
    result.push_back(decision.down.configuration);
  return result;
}

absl::Status WarnOfGaps(Output& err, const MoeLayer& layer,
                        const LayerDecisions& decisions) {
  const std::string reason(ToString(decisions.default_reason()));
  const std::string what =
      absl::StrCat(layer.local_experts, " experts, hidden ", layer.hidden,
                   ", intermediate ", layer.intermediate);
  if (decisions.defaults() == decisions.most()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the table has no answer for this layer (", what, "): ", reason,
        ". `wavetune explain` shows a problem of it"));
  }
  if (decisions.defaults() > 0) {
    err << "wavetune: " << what << ": no answer at " << decisions.defaults()
        << " of " << decisions.most() << " token counts (" << reason
        << "); the kernel's default stands there\n";
  }
  if (decisions.extrapolated() > 0) {
    err << "wavetune: " << what << ": " << decisions.extrapolated() << " of "
        << decisions.most()
        << " token counts are beyond what was measured; `wavetune workload "
           "add` has the model's layers measured\n";
  }
  return absl::OkStatus();
}

}  // namespace wavetune::cli
