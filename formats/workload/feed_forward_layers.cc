// Feed-forward layers: dense ones, experts, and experts that all tokens share.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "formats/workload/model_draft.h"

namespace wavetune {
namespace {

constexpr int64_t kMostExperts = 1024;

// What a model without experts may have all the same.
constexpr char kFieldsOfExperts[] =
    "num_experts_per_tok moe_intermediate_size decoder_sparse_step "
    "mlp_only_layers moe_layer_freq mlp_layer_types first_k_dense_replace "
    "shared_expert_intermediate_size top_k_experts n_shared_experts "
    "moe_layers interleave_moe_layer_step";

// Modules as files name them.
const std::vector<absl::string_view> kFolders = {"mlp", "ffn", "feed_forward",
                                                 "block_sparse_moe", "mixer"};
// Of Gemma 4's experts, which are beside the dense layer.
const std::vector<absl::string_view> kNoFolder = {"", "moe"};
const std::vector<absl::string_view> kSharedFolders = {
    "mlp.shared_experts",
    "mlp.shared_expert",
    "ffn.shared_experts",
    "feed_forward.shared_expert",
    "mixer.shared_experts",
    "shared_mlp",
    "block_sparse_moe.shared_experts"};
const std::vector<absl::string_view> kFirstLeaves = {
    "gate_proj", "up_proj", "gate_up_proj", "w1", "w3", "fc1"};
const std::vector<absl::string_view> kSecondLeaves = {"down_proj", "w2", "fc2"};

class FeedForwardReader {
 public:
  explicit FeedForwardReader(ModelDraft& draft)
      : draft_(draft), fields_(draft.fields) {}

  void Read() {
    const int64_t layers = draft_.Layers();
    experts_ = fields_.OfLayers({"num_experts", "n_routed_experts",
                                 "num_local_experts", "moe_num_experts"},
                                layers, false);
    bool any = false;
    for (int64_t i = 0; i < layers; ++i) any = any || experts_[i] > 0;
    const bool on =
        fields_.Flag("enable_moe_block", true) && fields_.Flag("use_moe", true);
    if (any && on) {
      ReadExperts();
    } else {
      if (draft_.Any(FeedForward::kExperts))
        fields_.Required("n_routed_experts");
      fields_.Ignore(kFieldsOfExperts);
    }
    if (draft_.Is(ModelStyle::kDeciLM)) {
      width_ = draft_.block_widths;
      return;
    }
    wide_ = draft_.Is(ModelStyle::kGemma4) &&
            fields_.Flag("use_double_wide_mlp", false);
    if (!draft_.Any(FeedForward::kDense) && !draft_.Any(FeedForward::kBoth)) {
      return fields_.Ignore(
          "intermediate_size intermediate_size_mlp dense_intermediate_size");
    }
    if (draft_.Is(ModelStyle::kGraniteHybrid)) {
      width_ = ByLayer(fields_.Required("shared_intermediate_size"));
      return fields_.Ignore("intermediate_size num_experts_per_tok");
    }
    const char* field = draft_.Is(ModelStyle::kLlama4) ? "intermediate_size_mlp"
                        : draft_.Is(ModelStyle::kMiniMaxM3)
                            ? "dense_intermediate_size"
                            : "intermediate_size";
    width_ = fields_.OfLayers({field}, layers, true);
  }

  void Add(int64_t i) {
    const FeedForward kind = draft_.layers[static_cast<size_t>(i)].feed_forward;
    if (kind == FeedForward::kDense || kind == FeedForward::kBoth) {
      const bool twice =
          wide_ && i >= draft_.Layers() - draft_.shared_kv_layers;
      AddDense(i, "", kDenseFeedForward, kFolders, "the intermediate size",
               (twice ? 2 : 1) * width_[i]);
    }
    if (draft_.HasExperts(i)) AddExperts(i);
  }

 private:
  void ReadExperts() {
    const int64_t layers = draft_.Layers();
    per_token_ = fields_.OfLayers(
        {"num_experts_per_tok", "experts_per_token", "num_experts_per_token",
         "moe_topk", "moe_k", "top_k_experts"},
        layers, true);
    const bool own = draft_.family.own_expert_width ||
                     draft_.Is(ModelStyle::kErnie) ||
                     draft_.Is(ModelStyle::kGemma4);
    const bool common =
        draft_.Is(ModelStyle::kLlama4) || draft_.Is(ModelStyle::kMiniMaxM3);
    expert_width_ =
        own ? fields_.OfLayers({"moe_intermediate_size"}, layers, true)
        : common
            ? fields_.OfLayers({"intermediate_size"}, layers, true)
            : fields_.OfLayers({"moe_intermediate_size", "intermediate_size"},
                               layers, true);
    expert_hidden_ = draft_.hidden;
    if (draft_.Is(ModelStyle::kNemotronH)) {
      latent_width_ = fields_.Optional("moe_latent_size", 0);
      if (latent_width_ > 0) expert_hidden_ = latent_width_;
    }
    ReadSharedExperts();
    ReadExpertLayers();
    for (int64_t i = 0; i < layers; ++i) {
      if (!draft_.HasExperts(i)) continue;
      if (experts_[i] <= kMostExperts && per_token_[i] <= experts_[i]) continue;
      fields_.Fault(absl::StrCat("it has ", experts_[i], " experts, ",
                                 per_token_[i], " of a token: give at most ",
                                 kMostExperts,
                                 ", and no more of a token than there are"));
      break;
    }
  }

  void ReadSharedExperts() {
    if (draft_.Is(ModelStyle::kLlama4)) {
      shared_width_ = expert_width_;
      return;
    }
    const int64_t count = fields_.Optional(
        {"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"},
        0);
    const int64_t all = fields_.Optional(
        {"shared_expert_intermediate_size", "share_expert_dim"}, 0);
    const int64_t also = fields_.Optional("shared_intermediate_size", 0);
    if (draft_.Is(ModelStyle::kNemotronH)) {
      const int64_t each =
          fields_.Optional("moe_shared_expert_intermediate_size", 0);
      shared_width_ = ByLayer(count * each);
    } else if (all > 0 || (also > 0 && !draft_.Is(ModelStyle::kMiniMaxM3))) {
      shared_width_ = ByLayer(all > 0 ? all : also);
    } else {
      std::vector<int64_t> widths;
      for (int64_t i = 0; i < draft_.Layers(); ++i) {
        widths.push_back(count * expert_width_[i]);
      }
      if (!widths.empty()) shared_width_ = ByLayer(std::move(widths));
    }
  }

  // Layers that have experts: by name, by list, by number or by period.
  void ReadExpertLayers() {
    if (draft_.Is(ModelStyle::kNemotronH)) return;  // By block.
    const std::vector<std::string> types = fields_.Texts("mlp_layer_types");
    const std::vector<int64_t> only = fields_.Numbers("mlp_only_layers");
    const std::set<int64_t> dense(only.begin(), only.end());
    const std::vector<int64_t> listed = draft_.Is(ModelStyle::kLlama4)
                                            ? fields_.Numbers("moe_layers")
                                            : std::vector<int64_t>();
    const std::set<int64_t> sparse(listed.begin(), listed.end());
    const ByLayer period =
        fields_.OfLayers({"moe_layer_freq"}, draft_.Layers(), false, 1);
    const int64_t first =
        fields_.Optional({"first_k_dense_replace", "moe_layer_start_index"}, 0);
    const int64_t last =
        fields_.Optional("moe_layer_end_index", draft_.Layers() - 1);
    const int64_t step = std::max<int64_t>(
        1, fields_.Optional({"decoder_sparse_step", "moe_layer_interval",
                             "interleave_moe_layer_step"},
                            1));
    if (!types.empty() &&
        static_cast<int64_t>(types.size()) < draft_.Layers()) {
      fields_.Fault(absl::StrCat("mlp_layer_types has ", types.size(),
                                 " values for ", draft_.Layers(),
                                 " layers: give one of each"));
      return;
    }
    const auto has = [&](int64_t i) {
      if (!types.empty()) return types[static_cast<size_t>(i)] != "dense";
      if (!sparse.empty()) return sparse.contains(i);
      if (period.IsList()) return period[i] != 0;
      return i >= first && i <= last && (i + 1) % step == 0 &&
             i % std::max<int64_t>(1, period[0]) == 0 && !dense.contains(i);
    };
    const FeedForward kind = draft_.Is(ModelStyle::kGemma4)
                                 ? FeedForward::kBoth
                                 : FeedForward::kExperts;
    for (int64_t i = 0; i < draft_.Layers(); ++i) {
      if (experts_[i] > 0 && has(i)) {
        draft_.layers[static_cast<size_t>(i)].feed_forward = kind;
      }
    }
  }

  void AddOne(absl::string_view name, LayerKind kind,
              std::vector<Units> outputs, Units inputs, std::string type) {
    draft_.Add(Projection{.name = std::string(name),
                          .kind = kind,
                          .outputs = std::move(outputs),
                          .inputs = std::move(inputs),
                          .type = std::move(type)});
  }

  void AddDense(int64_t i, absl::string_view prefix, LayerKind kind,
                const std::vector<absl::string_view>& folders,
                const char* field, int64_t width) {
    const Units units{.field = field, .count = width};
    AddOne(
        absl::StrCat(prefix, draft_.family.gated ? "gate_up_proj" : "up_proj"),
        kind,
        draft_.family.gated ? std::vector<Units>{units, units}
                            : std::vector<Units>{units},
        draft_.Hidden(),
        draft_.quantization.TypeOf({folders, kFirstLeaves}, i));
    AddOne(absl::StrCat(prefix, "down_proj"), kind, {draft_.Hidden()}, units,
           draft_.quantization.TypeOf({folders, kSecondLeaves}, i));
  }

  void AddExperts(int64_t i) {
    AddOne("router", kExpertLayers, {Units{.count = experts_[i]}},
           draft_.Hidden(), "");
    if (latent_width_ > 0) {
      const auto type = [&](absl::string_view leaf) {
        return draft_.quantization.TypeOf({{"mixer"}, {leaf}}, i);
      };
      AddOne("fc1_latent_proj", kExpertLayers, {Units{.count = latent_width_}},
             draft_.Hidden(), type("fc1_latent_proj"));
      AddOne("fc2_latent_proj", kExpertLayers, {draft_.Hidden()},
             Units{.count = latent_width_}, type("fc2_latent_proj"));
    }
    if (shared_width_[i] > 0) {
      AddDense(i, "shared_experts.", kExpertLayers, kSharedFolders,
               "the shared experts' intermediate size", shared_width_[i]);
    }
    draft_.Add(
        Experts{.count = experts_[i],
                .per_token = per_token_[i],
                .hidden = expert_hidden_,
                .intermediate = expert_width_[i],
                .gated = draft_.family.gated,
                .type = draft_.quantization.TypeOf(
                    {draft_.Is(ModelStyle::kGemma4) ? kNoFolder : kFolders,
                     {"experts"},
                     true},
                    i)});
  }

  ModelDraft& draft_;
  ConfigFields& fields_;
  ByLayer width_{0};
  bool wide_ = false;  // The last layers are twice as wide.
  ByLayer experts_{0};
  ByLayer per_token_{0};
  ByLayer expert_width_{0};
  ByLayer shared_width_{0};
  int64_t expert_hidden_ = 0;
  int64_t latent_width_ = 0;
};

}  // namespace

AddLayer ReadFeedForward(ModelDraft& draft) {
  auto reader = std::make_shared<FeedForwardReader>(draft);
  reader->Read();
  return [reader](int64_t i) { reader->Add(i); };
}

}  // namespace wavetune
