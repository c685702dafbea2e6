#include "model/kernel/served_layers_faults.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/served_layers.h"

namespace wavetune {
namespace {

constexpr int64_t kMostHeadDim = 65536;
constexpr const char* kEngines[] = {"vllm", "sglang"};

// A meaning and the dimension that has it.
using Meanings = std::vector<std::pair<const char*, int32_t>>;

// Each name is one of `known`, and there once.
template <size_t kCount>
void CheckNames(absl::string_view field, const std::vector<std::string>& names,
                const char* const (&known)[kCount], KernelFaults& faults) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (std::find(std::begin(known), std::end(known), name) ==
        std::end(known)) {
      faults.Add("serves: ", field, " has '", name,
                 "', which is unknown; give one of ",
                 absl::StrJoin(known, ", "));
    }
    if (!seen.insert(name).second) {
      faults.Add("serves: ", field, " has '", name, "' twice; give it once");
    }
  }
}

class ServedLayersChecker {
 public:
  ServedLayersChecker(const KernelSpec& spec, KernelFaults& faults)
      : spec_(spec), faults_(faults) {}

  void operator()(std::monostate) {}

  void operator()(const ServedLinear& linear) {
    CheckDimensions({{"m", linear.m}, {"n", linear.n}, {"k", linear.k}}, "");
  }

  void operator()(const ServedMoe& moe) {
    Meanings meanings = {{"tokens", moe.tokens}, {"n", moe.n}, {"k", moe.k}};
    if (moe.top_k >= 0) meanings.emplace_back("top_k", moe.top_k);
    CheckDimensions(meanings, "tokens");
    CheckSpecialisation("gate_up", moe.gate_up);
    CheckSpecialisation("down", moe.down);
    CheckNames("engines", moe.engines, kEngines, faults_);
  }

  void operator()(const ServedAttention& attention) {
    CheckDimensions({{"batch", attention.batch},
                     {"heads", attention.heads},
                     {"kv_heads", attention.kv_heads},
                     {"seq_q", attention.seq_q},
                     {"seq_kv", attention.seq_kv}},
                    "");
    if (attention.variants.empty()) {
      faults_.Add(
          "serves: attention has no variants; say which specialisation "
          "computes "
          "which phase and head_dim");
    }
    for (size_t i = 0; i < attention.variants.size(); ++i) {
      CheckVariant(attention, i);
    }
  }

 private:
  // Problems are made from the meanings alone: every dimension has one.
  // `repeated` is the meaning whose dimension is a list; empty: none is.
  void CheckDimensions(const Meanings& meanings, absl::string_view repeated) {
    std::vector<const char*> meaning(spec_.dimensions.size(), nullptr);
    for (const auto& [name, index] : meanings) {
      const Dimension& dimension = spec_.dimensions[static_cast<size_t>(index)];
      const char*& known = meaning[static_cast<size_t>(index)];
      if (known != nullptr) {
        faults_.Add("serves: dimension '", dimension.name, "' is both ", known,
                    " and ", name, "; name another for one of them");
      }
      known = name;
      if (dimension.repeated != (repeated == name)) {
        faults_.Add("serves: ", name, " is dimension '", dimension.name,
                    dimension.repeated
                        ? "', which is repeated; name one that is not"
                        : "', which is not repeated; name one that is");
      }
    }
    for (size_t i = 0; i < meaning.size(); ++i) {
      if (meaning[i] != nullptr) continue;
      faults_.Add("serves: dimension '", spec_.dimensions[i].name,
                  "' has no meaning in the layers that are served, so that no "
                  "problem follows from a workload; remove serves");
    }
  }

  // `field` is where the specialisation is named.
  void CheckSpecialisation(const std::string& field, const std::string& name) {
    if (spec_.specialisations.empty() == name.empty()) return;
    faults_.Add("serves: ", field,
                name.empty() ? " names no specialisation; name one"
                             : " names a specialisation, but there are none; "
                               "remove it");
  }

  void CheckVariant(const ServedAttention& attention, size_t index) {
    const std::string field = absl::StrCat("variants[", index, "]");
    const AttentionVariant& variant = attention.variants[index];
    CheckSpecialisation(field, variant.specialisation);
    if (variant.head_dim < 1 || variant.head_dim > kMostHeadDim) {
      faults_.Add("serves: ", field, " has head_dim ", variant.head_dim,
                  "; give 1 to ", kMostHeadDim);
    }
    if (variant.causal && variant.phase == AttentionPhase::kDecode) {
      faults_.Add("serves: ", field,
                  " is causal, but one query sees all keys in DECODE; remove "
                  "causal");
    }
    for (size_t i = 0; i < index; ++i) {
      const AttentionVariant& other = attention.variants[i];
      if (other.phase == variant.phase && other.head_dim == variant.head_dim &&
          other.causal == variant.causal) {
        faults_.Add("serves: ", field, " computes what variants[", i,
                    "] does; remove one");
      }
    }
  }

  const KernelSpec& spec_;
  KernelFaults& faults_;
};

}  // namespace

void CheckServedLayers(const KernelSpec& spec, KernelFaults& faults) {
  std::visit(ServedLayersChecker(spec, faults), spec.serves);
  CheckNames("types", spec.served_types, kServedTypes, faults);
}

}  // namespace wavetune
