#include "cli/export/layer_options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "formats/kernel_folder.h"
#include "formats/workload/model_config.h"

namespace wavetune::cli {
namespace {

constexpr int64_t kMostExperts = 65536;
constexpr int64_t kMostWidth = int64_t{1} << 24;

// What the layer's numbers would be in a config.json.
absl::StatusOr<ModelConfig> ModelOf(const LayerOptions& options) {
  struct Number {
    const char* option;
    int64_t value;
    int64_t most;
  };
  std::vector<std::string> faults;
  for (const Number& number :
       {Number{"--experts", options.experts, kMostExperts},
        Number{"--top-k", options.top_k, options.experts},
        Number{"--hidden", options.hidden, kMostWidth},
        Number{"--intermediate", options.intermediate, kMostWidth}}) {
    if (number.value >= 1 && number.value <= number.most) continue;
    faults.push_back(number.value == 0
                         ? absl::StrCat(number.option, " is missing")
                         : absl::StrCat(number.option, " ", number.value,
                                        " is not in [1, ", number.most, "]"));
  }
  if (!faults.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an expert layer needs its numbers, or the model's "
                     "--config: ",
                     absl::StrJoin(faults, ", ")));
  }
  ModelConfig model;
  model.hidden = options.hidden;
  // Attention of any kind: what matters is how experts are split.
  model.heads = options.tensor;
  model.kv_heads = options.tensor;
  model.head_dim = 1;
  model.experts = Experts{.count = options.experts,
                          .per_token = options.top_k,
                          .intermediate = options.intermediate,
                          .layers = 1};
  return model;
}

absl::StatusOr<ModelConfig> ReadModel(const LayerOptions& options) {
  if (options.experts != 0 || options.hidden != 0 ||
      options.intermediate != 0 || options.top_k != 0) {
    return absl::InvalidArgumentError(
        "give --config, or the numbers of a layer (--experts, --hidden, "
        "--intermediate, --top-k), not both");
  }
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(options.config));
  absl::StatusOr<ModelConfig> model = ParseModelConfig(text);
  if (model.ok()) return model;
  return absl::Status(
      model.status().code(),
      absl::StrCat(options.config, ": ", model.status().message()));
}

bool SameLaunches(const MoeLayer& a, const MoeLayer& b) {
  MoeLayer alike = a;
  alike.layers = b.layers;
  return alike == b;
}

}  // namespace

absl::StatusOr<std::vector<MoeLayer>> ExpertLayersOf(
    const LayerOptions& options) {
  absl::StatusOr<ModelConfig> model =
      options.config.empty() ? ModelOf(options) : ReadModel(options);
  RETURN_IF_ERROR(model.status());
  ASSIGN_OR_RETURN(const ModelLayers layers,
                   SplitLayers(*model, {.tensor = options.tensor,
                                        .expert = options.expert}));
  std::vector<MoeLayer> distinct;
  for (const MoeLayer& layer : layers.moe) {
    const auto same = [&layer](const MoeLayer& other) {
      return SameLaunches(layer, other);
    };
    if (std::none_of(distinct.begin(), distinct.end(), same))
      distinct.push_back(layer);
  }
  if (!distinct.empty()) return distinct;
  return absl::InvalidArgumentError(
      absl::StrCat(options.config,
                   " is of a model without experts: engines "
                   "have no file for its layers"));
}

}  // namespace wavetune::cli
