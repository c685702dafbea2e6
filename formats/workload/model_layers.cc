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

constexpr size_t kMostShownDivisors = 12;

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
    for (const Projection& projection : model_.projections) {
      RETURN_IF_ERROR(AddProjection(projection));
    }
    for (const Experts& experts : model_.experts) {
      RETURN_IF_ERROR(AddExperts(experts));
    }
    for (const Attention& attention : model_.attention) {
      RETURN_IF_ERROR(AddAttention(attention));
    }
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

  // Returns how many of the units a device has.
  absl::StatusOr<int64_t> OnADevice(const Units& units) const {
    if (units.field.empty()) return units.count;
    if (!units.copied || units.count >= by_.tensor) {
      return Divided(units.field, units.count, by_.tensor);
    }
    if (by_.tensor % units.count == 0) return 1;
    return absl::InvalidArgumentError(absl::StrCat(
        "--tp ", by_.tensor, " is no multiple of ", units.field, " (",
        units.count, "), which are copied to the devices: give one that is"));
  }

  absl::Status AddProjection(const Projection& projection) {
    LinearLayer layer{.name = projection.name,
                      .layers = projection.layers,
                      .type = projection.type,
                      .of_sequences = projection.of_sequences};
    for (const Units& units : projection.outputs) {
      ASSIGN_OR_RETURN(const int64_t count, OnADevice(units));
      layer.n += count * units.width;
    }
    ASSIGN_OR_RETURN(const int64_t inputs, OnADevice(projection.inputs));
    layer.k = inputs * projection.inputs.width;
    layers_.linear.push_back(std::move(layer));
    return absl::OkStatus();
  }

  absl::Status AddAttention(const Attention& attention) {
    ASSIGN_OR_RETURN(
        const int64_t heads,
        OnADevice({.field = "num_attention_heads", .count = attention.heads}));
    ASSIGN_OR_RETURN(const int64_t kv_heads,
                     OnADevice({.field = "num_key_value_heads",
                                .count = attention.kv_heads,
                                .copied = true}));
    layers_.attention.push_back({.name = attention.name,
                                 .heads = heads,
                                 .kv_heads = kv_heads,
                                 .head_dim = attention.head_dim,
                                 .value_head_dim = attention.value_head_dim,
                                 .window = attention.window,
                                 .prefill = attention.prefill,
                                 .decode = attention.decode,
                                 .layers = attention.layers});
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
    if (by_.expert > experts.count) {
      return absl::InvalidArgumentError(
          absl::StrCat("--ep ", by_.expert, " is more than there are experts (",
                       experts.count, "): give at most so many"));
    }
    ASSIGN_OR_RETURN(const int64_t devices, DevicesOfAnExpert());
    ASSIGN_OR_RETURN(
        const int64_t width,
        Divided("the experts' intermediate size", experts.intermediate, devices,
                "--tp (with --ep: what it leaves)"));
    MoeLayer layer{.experts = experts.count,
                   .local_experts = experts.count / by_.expert,
                   .top_k = experts.per_token,
                   .hidden = experts.hidden,
                   .intermediate = width,
                   .gated = experts.gated,
                   .layers = experts.layers,
                   .type = experts.type};
    const int64_t rest = experts.count % by_.expert;
    if (rest > 0) {
      layer.local_experts += 1;
      layers_.moe.push_back(layer);
      layer.local_experts -= 1;
      layers_.notes.push_back(absl::StrCat(
          rest, " of the ", by_.expert, " devices have ",
          layer.local_experts + 1, " experts, the others ", layer.local_experts,
          ": each is a layer of its own here"));
    }
    layers_.moe.push_back(std::move(layer));
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
