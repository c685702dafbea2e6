// "block_configs" of DeciLM: each block has its heads of keys and its width, or
// none.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/workload/model_draft.h"

namespace wavetune {
namespace {

nlohmann::json Part(const nlohmann::json& block, const char* name) {
  return block.is_object() ? block.value(name, nlohmann::json())
                           : nlohmann::json();
}

bool Flagged(const nlohmann::json& part, const char* name) {
  const auto found = part.find(name);
  return found != part.end() && found->is_boolean() && found->get<bool>();
}

// The three return 0 where the part does not say it soundly.
int64_t GroupedHeads(const nlohmann::json& attention, int64_t heads) {
  const auto found = attention.find("n_heads_in_group");
  const int64_t group = found != attention.end() && found->is_number_integer()
                            ? found->get<int64_t>()
                            : 0;
  return group >= 1 && heads % group == 0 ? heads / group : 0;
}

int64_t GivenWidth(const nlohmann::json& ffn) {
  const auto width = ffn.find("intermediate_size");
  if (width == ffn.end() || !width->is_number_integer()) return 0;
  const auto given = width->get<int64_t>();
  return given >= 1 && given <= kMaxConfigNumber ? given : 0;
}

// Multiples of 256, as the model's own code has it.
int64_t WidthByFactor(const nlohmann::json& ffn, int64_t hidden) {
  const auto found = ffn.find("ffn_mult");
  const double factor =
      found != ffn.end() && found->is_number() ? found->get<double>() : 0;
  if (!(factor > 0 && factor < 1024)) return 0;
  const double exact = 2 * factor * static_cast<double>(hidden) / 3;
  return RoundUp(std::max<int64_t>(1, static_cast<int64_t>(exact)), 256);
}

}  // namespace

ByLayer ReadBlockConfigs(ModelDraft& draft, int64_t heads) {
  const ByLayer none(heads);
  const auto fault = [&](const auto&... what) {
    draft.fields.Fault(absl::StrCat("block_configs", what...));
    return none;
  };
  const nlohmann::json* blocks = draft.fields.Structure("block_configs");
  if (blocks == nullptr || !blocks->is_array() ||
      blocks->size() < draft.layers.size()) {
    return fault(
        " is no list with one block of each layer: give the model's own file");
  }
  std::vector<int64_t> kv_heads(draft.layers.size(), heads);
  std::vector<int64_t> widths(draft.layers.size(), 1);
  for (size_t i = 0; i < draft.layers.size(); ++i) {
    const nlohmann::json attention = Part((*blocks)[i], "attention");
    const nlohmann::json ffn = Part((*blocks)[i], "ffn");
    if (!attention.is_object() || !ffn.is_object())
      return fault(": block ", i, " has no attention or no ffn");
    if (Flagged(attention, "replace_with_linear") ||
        Flagged(ffn, "replace_with_linear")) {
      return fault(": block ", i,
                   " has replace_with_linear, which is not read");
    }
    if (Flagged(attention, "no_op")) {
      draft.layers[i].mixer = Mixer::kNone;
    } else if (kv_heads[i] = GroupedHeads(attention, heads); kv_heads[i] == 0) {
      fault(": n_heads_in_group of block ", i,
            " does not divide num_attention_heads (", heads, ")");
    }
    if (Flagged(ffn, "no_op")) {
      draft.layers[i].feed_forward = FeedForward::kNone;
      continue;
    }
    widths[i] = GivenWidth(ffn);
    if (widths[i] == 0) widths[i] = WidthByFactor(ffn, draft.hidden);
    if (widths[i] == 0) {
      fault(": ffn of block ", i, " has no ffn_mult and no intermediate_size");
    }
  }
  draft.block_widths = ByLayer(std::move(widths));
  draft.fields.Ignore("num_key_value_heads intermediate_size");
  return ByLayer(std::move(kv_heads));
}

}  // namespace wavetune
