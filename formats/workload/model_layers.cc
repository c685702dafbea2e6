#include "formats/workload/model_layers.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

// Engines pad the vocabulary to whole multiples of this.
constexpr int64_t kVocabularyMultiple = 64;
constexpr size_t kMostShownDivisors = 12;

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::string DivisorsOf(int64_t value) {
  std::vector<int64_t> divisors;
  const int64_t last = std::min(value, kMaxParallelism);
  for (int64_t d = 1; d <= last && divisors.size() < kMostShownDivisors; ++d) {
    if (value % d == 0) divisors.push_back(d);
  }
  return absl::StrJoin(divisors, ", ");
}

class LayerSplitter {
 public:
  LayerSplitter(const ModelConfig& model, const Parallelism& parallelism)
      : model_(model), by_(parallelism) {}

  absl::StatusOr<ModelLayers> Split() {
    RETURN_IF_ERROR(CheckParallelism());
    layers_.architecture = model_.architecture;
    layers_.positions = model_.positions;
    layers_.notes = model_.notes;
    RETURN_IF_ERROR(model_.latent ? AddLatentAttention(*model_.latent)
                                  : AddAttention());
    if (model_.dense_layers > 0) {
      RETURN_IF_ERROR(AddFeedForward("", model_.intermediate,
                                     model_.dense_layers, "intermediate_size"));
    }
    if (model_.experts) RETURN_IF_ERROR(AddExperts(*model_.experts));
    ASSIGN_OR_RETURN(
        const int64_t vocabulary,
        Divided("the padded vocabulary",
                RoundUp(model_.vocabulary, kVocabularyMultiple), by_.tensor));
    AddLinear("lm_head", vocabulary, model_.hidden, 1);
    layers_.linear.back().of_sequences = true;
    return std::move(layers_);
  }

 private:
  absl::Status CheckParallelism() const {
    for (const auto& [option, value] :
         {std::pair("--tp", by_.tensor), std::pair("--ep", by_.expert)}) {
      if (value >= 1 && value <= kMaxParallelism) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(option, " is ", value, ": give 1 to ", kMaxParallelism));
    }
    return absl::OkStatus();
  }

  // Returns `value` / `by`. Errors: INVALID_ARGUMENT where it is not whole.
  static absl::StatusOr<int64_t> Divided(absl::string_view field, int64_t value,
                                         int64_t by,
                                         absl::string_view option = "--tp") {
    if (value % by == 0) return value / by;
    return absl::InvalidArgumentError(absl::StrCat(
        field, " is ", value, ", which ", option, " ", by,
        " does not divide: give one that does (", DivisorsOf(value), ")"));
  }

  void AddLinear(absl::string_view name, int64_t n, int64_t k, int64_t layers) {
    layers_.linear.push_back(
        {.name = std::string(name), .n = n, .k = k, .layers = layers});
  }

  absl::Status AddAttention() {
    ASSIGN_OR_RETURN(const int64_t heads,
                     Divided("num_attention_heads", model_.heads, by_.tensor));
    // Fewer heads of keys and values than devices: some hold the same.
    const bool copied = model_.kv_heads < by_.tensor;
    if (copied && by_.tensor % model_.kv_heads != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--tp ", by_.tensor, " is no multiple of num_key_value_heads (",
          model_.kv_heads,
          "), whose heads are copied to the devices: give one "
          "that is"));
    }
    ASSIGN_OR_RETURN(
        const int64_t kv_heads,
        Divided("num_key_value_heads", copied ? 1 : model_.kv_heads,
                copied ? 1 : by_.tensor));
    AddLinear("qkv_proj", (heads + 2 * kv_heads) * model_.head_dim,
              model_.hidden, model_.layers);
    AddLinear("o_proj", model_.hidden, heads * model_.head_dim, model_.layers);
    const AttentionLayer layer{.name = "attention",
                               .heads = heads,
                               .kv_heads = kv_heads,
                               .head_dim = model_.head_dim,
                               .value_head_dim = model_.head_dim,
                               .layers = model_.full_layers};
    if (layer.layers > 0) layers_.attention.push_back(layer);
    if (model_.window_layers > 0) {
      layers_.attention.push_back(layer);
      layers_.attention.back().name = "window attention";
      layers_.attention.back().window = model_.window;
      layers_.attention.back().layers = model_.window_layers;
    }
    return absl::OkStatus();
  }

  // Prefill expands keys and values for all heads; decode works on what is
  // compressed, which all heads share.
  absl::Status AddLatentAttention(const LatentAttention& latent) {
    ASSIGN_OR_RETURN(const int64_t heads,
                     Divided("num_attention_heads", model_.heads, by_.tensor));
    const int64_t head_dim = latent.plain_head_dim + latent.rotary_head_dim;
    const int64_t cached = latent.key_value_rank + latent.rotary_head_dim;
    if (latent.query_rank > 0) {
      AddLinear("fused_qkv_a_proj", latent.query_rank + cached, model_.hidden,
                model_.layers);
      AddLinear("q_b_proj", heads * head_dim, latent.query_rank, model_.layers);
    } else {
      AddLinear("q_proj", heads * head_dim, model_.hidden, model_.layers);
      AddLinear("kv_a_proj", cached, model_.hidden, model_.layers);
    }
    AddLinear("kv_b_proj",
              heads * (latent.plain_head_dim + latent.value_head_dim),
              latent.key_value_rank, model_.layers);
    AddLinear("o_proj", model_.hidden, heads * latent.value_head_dim,
              model_.layers);
    layers_.attention.push_back({.name = "attention of prefill",
                                 .heads = heads,
                                 .kv_heads = heads,
                                 .head_dim = head_dim,
                                 .value_head_dim = latent.value_head_dim,
                                 .decode = false,
                                 .layers = model_.layers});
    layers_.attention.push_back({.name = "attention of decode",
                                 .heads = heads,
                                 .kv_heads = 1,
                                 .head_dim = cached,
                                 .value_head_dim = latent.key_value_rank,
                                 .prefill = false,
                                 .layers = model_.layers});
    return absl::OkStatus();
  }

  absl::Status AddFeedForward(absl::string_view prefix, int64_t intermediate,
                              int64_t layers, absl::string_view field) {
    ASSIGN_OR_RETURN(const int64_t width,
                     Divided(field, intermediate, by_.tensor));
    AddLinear(absl::StrCat(prefix, model_.gated ? "gate_up_proj" : "up_proj"),
              (model_.gated ? 2 : 1) * width, model_.hidden, layers);
    AddLinear(absl::StrCat(prefix, "down_proj"), model_.hidden, width, layers);
    return absl::OkStatus();
  }

  // Expert parallelism first; devices that share an expert divide it.
  absl::StatusOr<int64_t> DevicesOfAnExpert() const {
    if (by_.expert == 1) return by_.tensor;
    if (by_.tensor % by_.expert == 0) return by_.tensor / by_.expert;
    if (by_.expert % by_.tensor == 0) return 1;
    return absl::InvalidArgumentError(
        absl::StrCat("--tp ", by_.tensor, " and --ep ", by_.expert,
                     ": one must be a multiple of the other"));
  }

  absl::Status AddExperts(const Experts& experts) {
    ASSIGN_OR_RETURN(
        const int64_t local,
        Divided("the number of experts", experts.count, by_.expert, "--ep"));
    ASSIGN_OR_RETURN(const int64_t devices, DevicesOfAnExpert());
    ASSIGN_OR_RETURN(
        const int64_t width,
        Divided("the experts' intermediate size", experts.intermediate, devices,
                "--tp (with --ep: what it leaves)"));
    AddLinear("router", experts.count, model_.hidden, experts.layers);
    if (experts.shared_intermediate > 0) {
      RETURN_IF_ERROR(AddFeedForward(
          "shared_experts.", experts.shared_intermediate, experts.layers,
          "the shared experts' intermediate size"));
    }
    layers_.moe.push_back({.experts = experts.count,
                           .local_experts = local,
                           .top_k = experts.per_token,
                           .hidden = model_.hidden,
                           .intermediate = width,
                           .gated = model_.gated,
                           .layers = experts.layers});
    return absl::OkStatus();
  }

  const ModelConfig& model_;
  const Parallelism by_;
  ModelLayers layers_;
};

}  // namespace

absl::StatusOr<ModelLayers> SplitLayers(const ModelConfig& model,
                                        const Parallelism& parallelism) {
  return LayerSplitter(model, parallelism).Split();
}

}  // namespace wavetune
