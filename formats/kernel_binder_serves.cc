// KernelBinder: the layers that a kernel serves.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/kernel_binder.h"
#include "model/kernel/served_layers.h"

namespace wavetune {

int KernelBinder::ServedDimension(const std::string& named,
                                  const std::string& path,
                                  const std::string& field) {
  return DimensionOf(named.empty() ? field : named,
                     absl::StrCat(path, ".", field));
}

std::string KernelBinder::ServedSpecialisation(const std::string& name,
                                               const std::string& path) {
  const bool known = std::any_of(
      proto_.specialisations().begin(), proto_.specialisations().end(),
      [&](const v1::Specialisation& s) { return s.name() == name; });
  if (!known && !name.empty()) {
    Fault(path, absl::StrCat("unknown specialisation \"", name, "\""));
  }
  return name;
}

ServedLinear KernelBinder::BindServedLinear(const v1::LinearLayers& linear) {
  const std::string path = "serves.linear";
  return {.m = ServedDimension(linear.m(), path, "m"),
          .n = ServedDimension(linear.n(), path, "n"),
          .k = ServedDimension(linear.k(), path, "k")};
}

ServedMoe KernelBinder::BindServedMoe(const v1::MoeLayers& moe) {
  const std::string path = "serves.moe";
  ServedMoe served{.tokens = ServedDimension(moe.tokens(), path, "tokens"),
                   .n = ServedDimension(moe.n(), path, "n"),
                   .k = ServedDimension(moe.k(), path, "k"),
                   .engines = {moe.engines().begin(), moe.engines().end()}};
  if (!moe.top_k().empty() || dimensions_.contains("top_k")) {
    served.top_k = ServedDimension(moe.top_k(), path, "top_k");
  }
  // Without specialisations one function computes both.
  const auto specialisation = [&](const std::string& named,
                                  const std::string& field) {
    const bool by_field = named.empty() && proto_.specialisations_size() > 0;
    return ServedSpecialisation(by_field ? field : named,
                                absl::StrCat(path, ".", field));
  };
  served.gate_up = specialisation(moe.gate_up(), "gate_up");
  served.down = specialisation(moe.down(), "down");
  return served;
}

ServedAttention KernelBinder::BindServedAttention(
    const v1::AttentionLayers& attention) {
  const std::string path = "serves.attention";
  ServedAttention served{
      .batch = ServedDimension(attention.batch(), path, "batch"),
      .heads = ServedDimension(attention.heads(), path, "heads"),
      .kv_heads = ServedDimension(attention.kv_heads(), path, "kv_heads"),
      .seq_q = ServedDimension(attention.seq_q(), path, "seq_q"),
      .seq_kv = ServedDimension(attention.seq_kv(), path, "seq_kv")};
  for (int i = 0; i < attention.variants_size(); ++i) {
    const v1::AttentionLayers::Variant& variant = attention.variants(i);
    const std::string where = absl::StrCat(path, ".variants[", i, "]");
    if (variant.phase() != v1::AttentionLayers::PREFILL &&
        variant.phase() != v1::AttentionLayers::DECODE) {
      Fault(where + ".phase", "is missing or unknown; give PREFILL or DECODE");
    }
    served.variants.push_back(
        {.specialisation = ServedSpecialisation(variant.specialisation(),
                                                where + ".specialisation"),
         .phase = variant.phase() == v1::AttentionLayers::DECODE
                      ? AttentionPhase::kDecode
                      : AttentionPhase::kPrefill,
         .head_dim = variant.head_dim(),
         .causal = variant.causal()});
  }
  return served;
}

ServedLayers KernelBinder::BindServes() {
  const v1::ServedLayers& serves = proto_.serves();
  switch (serves.kind_case()) {
    case v1::ServedLayers::kLinear:
      return BindServedLinear(serves.linear());
    case v1::ServedLayers::kMoe:
      return BindServedMoe(serves.moe());
    case v1::ServedLayers::kAttention:
      return BindServedAttention(serves.attention());
    case v1::ServedLayers::KIND_NOT_SET:
      break;
  }
  if (proto_.has_serves()) {
    Fault("serves", "says no layers; give linear, moe or attention");
  }
  return {};
}

}  // namespace wavetune
