#include "formats/workload/changing_fields.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable_text.h"
#include "formats/workload/model_config.h"

namespace wavetune {
namespace {

constexpr size_t kMostShownFields = 8;
constexpr size_t kMaxShownField = 48;

// What changes no layer of any model, though its name sounds like it.
constexpr absl::string_view kHarmless[] = {
    "chunk_size_feed_forward",
    "cross_attention_hidden_size",
    "input_jitter_noise",
    "max_position_embeddings",
    "max_window_layers",
    "moe_renormalize",
    "n_group",
    "norm_topk_prob",
    "num_beam_groups",
    "num_expert_group",
    "num_labels",
    "num_logits_to_keep",
    "output_router_logits",
    "original_max_position_embeddings",
    "pretraining_tp",
    "problem_type",
    "quantization_config",
    "routed_scaling_factor",
    "router_jitter_noise",
    "scoring_func",
    "seq_length",
    "swiglu_alpha",
    "swiglu_beta",
    "swiglu_limit",
    "tie_word_embeddings",
    "topk_group",
    "topk_method",
    "use_grouped_topk",
    "use_qk_norm",
};

// A word of a name, and what it speaks of. The first that is found counts:
// words that change nothing stand before those that do.
struct Word {
  absl::string_view word;
  unsigned kinds;
};
constexpr unsigned kAttentionKinds = kAttentionProjections | kAttentionItself;
constexpr unsigned kFeedForwardKinds = kDenseFeedForward | kExpertLayers;
constexpr Word kWords[] = {
    // Draft models, other senses, training, texts.
    {"mtp", 0},
    {"nextn", 0},
    {"vision", 0},
    {"image", 0},
    {"audio", 0},
    {"video", 0},
    {"token", 0},
    {"generat", 0},
    {"dropout", 0},
    {"pdrop", 0},
    {"initializer", 0},
    {"_std", 0},
    {"eps", 0},
    {"norm", 0},
    {"coef", 0},
    {"loss", 0},
    {"rope", 0},
    {"rotary", 0},
    {"theta", 0},
    {"bias", 0},
    {"dtype", 0},
    {"cache", 0},
    {"softcap", 0},
    {"scaling", 0},
    {"multiplier", 0},
    {"implementation", 0},
    {"output_attentions", 0},
    {"output_hidden", 0},
    {"decoder_start", 0},
    {"encoder_no_repeat", 0},
    {"time_step", 0},
    {"version", 0},
    {"use_mamba_kernels", 0},
    // What layers are made of.
    {"expert", kExpertLayers | kDenseFeedForward},
    {"moe", kExpertLayers | kDenseFeedForward},
    {"router", kExpertLayers},
    {"sparse_step", kFeedForwardKinds},
    {"intermediate", kFeedForwardKinds},
    {"mlp", kFeedForwardKinds},
    {"ffn", kFeedForwardKinds},
    {"ff_", kFeedForwardKinds},
    {"feed_forward", kFeedForwardKinds},
    {"glu", kFeedForwardKinds},
    {"inner", kFeedForwardKinds},
    {"d_ff", kFeedForwardKinds},
    {"first_k_dense", kFeedForwardKinds},
    {"window", kAttentionItself},
    {"sliding", kAttentionItself},
    {"lora", kAttentionKinds},
    {"index", kAttentionKinds},
    {"head", kAttentionKinds},
    {"attn", kAttentionKinds},
    {"attention", kAttentionKinds},
    {"key_value", kAttentionKinds},
    {"kv", kAttentionKinds},
    {"qk_", kAttentionKinds},
    {"query", kAttentionKinds},
    {"swa", kAttentionKinds},
    {"global", kAttentionKinds},
    {"chunk", kAttentionKinds},
    {"sparse", kAttentionKinds},
    {"topk", kAttentionKinds},
    {"mamba", kAttentionKinds},
    {"mla", kAttentionKinds},
    {"ssm", kAttentionKinds},
    {"conv", kAttentionKinds},
    {"state", kAttentionKinds},
    {"linear_", kAttentionKinds},
    {"lru", kAttentionKinds},
    {"compress", kAttentionKinds},
    {"o_groups", kAttentionKinds},
    // What may be of any of them.
    {"layer", kDecoder},
    {"block", kDecoder},
    {"pattern", kDecoder},
    {"interval", kDecoder},
    {"freq", kDecoder},
    {"period", kDecoder},
    {"repeat", kDecoder},
    {"loop", kDecoder},
    {"recur", kDecoder},
    {"shared", kDecoder},
    {"hidden_size", kDecoder},
    {"embd", kDecoder},
    {"embedding_size", kDecoder},
    {"d_model", kDecoder},
    {"latent", kDecoder},
    {"width", kDecoder},
    {"expand", kDecoder},
    {"_rank", kDecoder},
    {"_dim", kDecoder},
    {"altup", kDecoder},
    {"laurel", kDecoder},
    {"vocab", kLogits},
    {"lm_head", kLogits},
};

}  // namespace

unsigned ChangedBy(absl::string_view field) {
  if (absl::StartsWith(field, "_")) return 0;  // Of transformers itself.
  const std::string lower = absl::AsciiStrToLower(field);
  if (std::find(std::begin(kHarmless), std::end(kHarmless), lower) !=
      std::end(kHarmless)) {
    return 0;
  }
  for (const Word& word : kWords) {
    if (absl::StrContains(lower, word.word)) return word.kinds;
  }
  return 0;
}

std::string KindsText(unsigned kinds) {
  std::vector<absl::string_view> names;
  for (const auto& [kind, name] :
       {std::pair<unsigned, absl::string_view>{kAttentionProjections,
                                               "projections of attention"},
        {kAttentionItself, "attention"},
        {kDenseFeedForward, "dense feed-forward layers"},
        {kExpertLayers, "experts with their routers"},
        {kLogits, "lm_head"}}) {
    if ((kinds & kind) != 0) names.push_back(name);
  }
  if (names.size() < 2) return absl::StrJoin(names, "");
  const absl::string_view last = names.back();
  names.pop_back();
  return absl::StrCat(absl::StrJoin(names, ", "), " and ", last);
}

LeftOut WhatChange(const std::vector<std::string>& fields) {
  LeftOut result;
  std::map<unsigned, std::vector<std::string>> by_kinds;
  for (const std::string& field : fields) {
    if (const unsigned kinds = ChangedBy(field); kinds != 0) {
      by_kinds[kinds].push_back(
          absl::CHexEscape(ShortenedText(field, kMaxShownField)));
    }
  }
  for (auto& [kinds, names] : by_kinds) {
    result.kinds |= kinds;
    const size_t all = names.size();
    names.resize(std::min(all, kMostShownFields));
    result.notes.push_back(absl::StrCat(
        "left out: ", KindsText(kinds), ", which ", absl::StrJoin(names, ", "),
        all > names.size() ? absl::StrCat(" and ", all - names.size(), " more")
                           : "",
        all == 1 ? " changes" : " change", " in a way that is not known here"));
  }
  return result;
}

}  // namespace wavetune
