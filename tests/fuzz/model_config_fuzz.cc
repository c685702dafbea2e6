// Fuzz target: a model's config.json, which any user of the machine may send.
// Any bytes must be refused with a message, or give layers of sound sizes,
// under every split that divides them.
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/workload/model_config.h"
#include "formats/workload/model_layers.h"
#include "tests/fuzz/require.h"
#include "wavetune/expected_routing.h"

namespace wavetune {
namespace {

constexpr int64_t kTokens = 37;

void CheckExperts(const MoeLayer& layer, const Parallelism& by) {
  const int64_t least = layer.experts / by.expert;
  Require(layer.local_experts == least || (layer.local_experts == least + 1 &&
                                           layer.experts % by.expert != 0),
          "experts are lost or made");
  Require(layer.intermediate >= 1 && layer.hidden >= 1, "experts without size");
  Require(layer.top_k >= 1 && layer.top_k <= layer.experts,
          "more experts of a token than there are");
  const auto sum = [](const std::vector<int64_t>& slots) {
    return std::accumulate(slots.begin(), slots.end(), int64_t{0});
  };
  for (const Popularity popularity : {Popularity::kEven, Popularity::kDrawn}) {
    const auto routing =
        ExpectedRouting::Create(layer.experts, layer.top_k, popularity);
    Require(routing.ok(), "experts that no routing knows");
    Require(
        sum(routing->Slots(kTokens, layer.experts)) == kTokens * layer.top_k,
        "slots do not add up");
  }
}

void CheckLayers(const ModelLayers& layers, const Parallelism& by) {
  for (const LinearLayer& layer : layers.linear) {
    Require(layer.n >= 1 && layer.k >= 1 && layer.layers >= 1,
            "a linear layer without size");
  }
  for (const MoeLayer& layer : layers.moe) CheckExperts(layer, by);
  for (const AttentionLayer& layer : layers.attention) {
    Require(layer.kv_heads >= 1 && layer.heads % layer.kv_heads == 0,
            "heads do not share keys evenly");
    Require(layer.head_dim >= 1 && layer.layers >= 1, "attention without size");
  }
}

}  // namespace
}  // namespace wavetune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto model = wavetune::ParseModelConfig(text);
  if (!model.ok()) {
    wavetune::Require(!model.status().message().empty(), "no reason is given");
    return 0;
  }
  for (const wavetune::Parallelism by :
       {wavetune::Parallelism{}, {.tensor = 2}, {.tensor = 8, .expert = 4}}) {
    const auto layers = wavetune::SplitLayers(*model, by);
    if (layers.ok()) wavetune::CheckLayers(*layers, by);
  }
  return 0;
}
