// Attention with compressed keys and values (DeepSeek).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/workload/model_draft.h"

namespace wavetune {
namespace {

Units Plain(int64_t count) { return {.count = count}; }

Units OfHeads(int64_t heads, int64_t width) {
  return {.field = "num_attention_heads", .count = heads, .width = width};
}

struct Latent {
  int64_t heads = 0;
  int64_t query_rank = 0;  // 0: queries are not compressed.
  int64_t key_value_rank = 0;
  int64_t plain_head_dim = 0;   // Of queries and keys, without positions,
  int64_t rotary_head_dim = 0;  // and with.
  int64_t value_head_dim = 0;
  int64_t indexer_keys = 0;  // 0: there is no indexer.
  int64_t indexer_heads = 0;
  int64_t indexer_dim = 0;
  std::vector<bool> indexed;  // By layer.
};

// Layers that have an indexer; the others take what the last one chose.
std::vector<bool> IndexedLayers(ModelDraft& draft) {
  ConfigFields& fields = draft.fields;
  const std::vector<std::string> types = fields.Texts("indexer_types");
  const std::string letters = fields.Text({"index_topk_pattern"});
  const int64_t every =
      std::max<int64_t>(1, fields.Optional("index_topk_freq", 1));
  const int64_t offset = fields.Optional("index_skip_topk_offset", 2);
  fields.Ignore("index_share_for_mtp_iteration");
  std::vector<bool> indexed;
  for (int64_t i = 0; i < draft.Layers(); ++i) {
    const auto at = static_cast<size_t>(i);
    bool has = std::max<int64_t>(i - offset + 1, 0) % every == 0;
    if (at < types.size()) has = types[at] == "full";
    if (at < letters.size()) has = letters[at] != 'S';
    indexed.push_back(has);
  }
  return indexed;
}

Latent ReadLatent(ModelDraft& draft) {
  ConfigFields& fields = draft.fields;
  Latent latent{.heads = fields.Required("num_attention_heads"),
                .query_rank = fields.Optional("q_lora_rank", 0),
                .key_value_rank = fields.Required("kv_lora_rank"),
                .plain_head_dim = fields.Required("qk_nope_head_dim"),
                .rotary_head_dim = fields.Required("qk_rope_head_dim"),
                .value_head_dim = fields.Required("v_head_dim")};
  fields.Ignore("num_key_value_heads head_dim qk_head_dim");
  if (!fields.Has("index_topk")) return latent;
  latent.indexer_keys = fields.Required("index_topk");
  latent.indexer_heads = fields.Required("index_n_heads");
  latent.indexer_dim = fields.Required("index_head_dim");
  latent.indexed = IndexedLayers(draft);
  draft.Note(absl::StrCat("queries see at most ", latent.indexer_keys,
                          " keys, which an indexer chooses: its projections "
                          "are derived, its scores are not"));
  return latent;
}

void AddLatentProjections(ModelDraft& draft, const Latent& latent, int64_t i) {
  const int64_t cached = latent.key_value_rank + latent.rotary_head_dim;
  const Units queries =
      OfHeads(latent.heads, latent.plain_head_dim + latent.rotary_head_dim);
  if (latent.query_rank > 0) {
    draft.AddOfMixer(i, "fused_qkv_a_proj", {Plain(latent.query_rank + cached)},
                     draft.Hidden(),
                     {"q_a_proj", "kv_a_proj_with_mqa", "fused_qkv_a_proj"});
    draft.AddOfMixer(i, "q_b_proj", {queries}, Plain(latent.query_rank),
                     {"q_b_proj"});
  } else {
    draft.AddOfMixer(i, "q_proj", {queries}, draft.Hidden(), {"q_proj"});
    draft.AddOfMixer(i, "kv_a_proj", {Plain(cached)}, draft.Hidden(),
                     {"kv_a_proj_with_mqa"});
  }
  draft.AddOfMixer(
      i, "kv_b_proj",
      {OfHeads(latent.heads, latent.plain_head_dim + latent.value_head_dim)},
      Plain(latent.key_value_rank), {"kv_b_proj"});
  draft.AddOfMixer(i, "o_proj", {draft.Hidden()},
                   OfHeads(latent.heads, latent.value_head_dim), {"o_proj"});
  if (latent.indexer_keys > 0 && latent.indexed[static_cast<size_t>(i)]) {
    draft.AddOfMixer(i, "indexer.wq_b",
                     {Plain(latent.indexer_heads * latent.indexer_dim)},
                     Plain(latent.query_rank), {"indexer.wq_b"});
    draft.Add(Projection{
        .name = "indexer.wk_weights_proj",
        .outputs = {Plain(latent.indexer_dim + latent.indexer_heads)},
        .inputs = draft.Hidden()});
  }
}

// Prefill expands keys and values for all heads; decode works on what is
// compressed, which all heads share.
void AddLatentAttention(ModelDraft& draft, const Latent& latent) {
  draft.Add(
      Attention{.name = "attention of prefill",
                .heads = latent.heads,
                .kv_heads = latent.heads,
                .head_dim = latent.plain_head_dim + latent.rotary_head_dim,
                .value_head_dim = latent.value_head_dim,
                .window = latent.indexer_keys,
                .decode = false});
  draft.Add(
      Attention{.name = "attention of decode",
                .heads = latent.heads,
                .kv_heads = 1,
                .head_dim = latent.key_value_rank + latent.rotary_head_dim,
                .value_head_dim = latent.key_value_rank,
                .window = latent.indexer_keys,
                .prefill = false});
}

AddLayer ReadDeepSeekV4(ModelDraft& draft) {
  ConfigFields& fields = draft.fields;
  const int64_t heads = fields.Required("num_attention_heads");
  const int64_t head_dim = fields.Required("head_dim");
  const int64_t query_rank = fields.Required("q_lora_rank");
  const int64_t out_rank = fields.Required("o_lora_rank");
  const int64_t out_groups = fields.Required("o_groups");
  fields.Ignore("qk_rope_head_dim index_topk index_n_heads index_head_dim");
  draft.Note(
      "attention is left out, with its compressors and indexers and the "
      "product by groups (wo_a): no kernel here computes its like");
  return [=, &draft](int64_t i) {
    draft.AddOfMixer(i, "fused_wqa_wkv", {Plain(query_rank + head_dim)},
                     draft.Hidden(), {"wq_a", "wkv", "fused_wqa_wkv"});
    draft.AddOfMixer(i, "wq_b", {OfHeads(heads, head_dim)}, Plain(query_rank),
                     {"wq_b"});
    draft.AddOfMixer(
        i, "wo_b", {draft.Hidden()},
        {.field = "o_groups", .count = out_groups, .width = out_rank},
        {"wo_b"});
  };
}

}  // namespace

AddLayer ReadCompressedAttention(ModelDraft& draft) {
  if (!draft.fields.Has("kv_lora_rank")) return ReadDeepSeekV4(draft);
  return [latent = ReadLatent(draft), &draft](int64_t i) {
    AddLatentProjections(draft, latent, i);
    AddLatentAttention(draft, latent);
  };
}

}  // namespace wavetune
