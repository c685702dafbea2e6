#include "formats/workload/layer_problems.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/kernel/engine_rule.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/problem_limits.h"
#include "model/kernel/served_layers.h"
#include "wavetune/expected_routing.h"
#include "wavetune/problem.h"

namespace wavetune {
namespace {

// Lengths of caches in decode, of which no two are alike.
constexpr int64_t kProfiledCaches[] = {320, 1100, 3800, 13000};
constexpr int64_t kJudgedCaches[] = {600, 2000, 7000};
// A prompt of fewer tokens is decoded.
constexpr int64_t kShortestPrompt = 16;
constexpr int64_t kPrompts = 4;         // Of a batch of several.
constexpr int64_t kPrefixedLength = 4;  // Keys of a token, with a prefix.

class ProblemMaker {
 public:
  ProblemMaker(const ModelLayers& layers, int64_t max_tokens,
               const KernelSpec& spec, TokenCounts counts)
      : layers_(layers),
        spec_(spec),
        counts_(counts),
        tokens_(TokenLadder(counts, max_tokens)),
        sequences_(TokenLadder(counts, std::min(max_tokens, kMostSequences))) {}

  std::vector<LayerProblems> Make() {
    std::visit([this](const auto& served) { Add(served); }, spec_.serves);
    for (LayerProblems& made : result_) {
      for (WeightedProblem& weighted : made.problems) {
        weighted.weight = 1.0 / static_cast<double>(made.problems.size());
      }
    }
    return std::move(result_);
  }

 private:
  void Add(std::monostate) {}

  void Add(const ServedLinear& served) {
    std::vector<LinearLayer> distinct;
    for (const LinearLayer& layer : layers_.linear) {
      const auto same = std::find_if(
          distinct.begin(), distinct.end(), [&](const LinearLayer& other) {
            return other.n == layer.n && other.k == layer.k &&
                   other.type == layer.type &&
                   other.of_sequences == layer.of_sequences;
          });
      if (same == distinct.end()) {
        distinct.push_back(layer);
        continue;
      }
      absl::StrAppend(&same->name, " and ", layer.name);
      same->layers += layer.layers;
    }
    for (const LinearLayer& layer : distinct) AddLinear(served, layer);
  }

  void AddLinear(const ServedLinear& served, const LinearLayer& layer) {
    Begin(absl::StrCat(layer.name, ", n = ", layer.n, ", k = ", layer.k),
          layer.layers);
    if (!Computes(layer.type)) return;
    for (const int64_t m : layer.of_sequences ? sequences_ : tokens_) {
      Take("", {{served.m, m}, {served.n, layer.n}, {served.k, layer.k}});
    }
  }

  void Add(const ServedMoe& served) {
    for (const MoeLayer& layer : layers_.moe) {
      const int64_t width = (layer.gated ? 2 : 1) * layer.intermediate;
      AddExperts(served, layer, "experts, first product", served.gate_up, width,
                 layer.hidden, /*down=*/false);
      AddExperts(served, layer, "experts, second product", served.down,
                 layer.hidden, layer.intermediate, /*down=*/true);
    }
  }

  void AddExperts(const ServedMoe& served, const MoeLayer& layer,
                  absl::string_view name, const std::string& specialisation,
                  int64_t n, int64_t k, bool down) {
    Begin(absl::StrCat(name, ", n = ", n, ", k = ", k, ", ",
                       layer.local_experts, " experts"),
          layer.layers);
    if (!Computes(layer.type)) return;
    std::vector<std::pair<int32_t, int64_t>> extents = {{served.n, n},
                                                        {served.k, k}};
    if (served.top_k >= 0) extents.emplace_back(served.top_k, layer.top_k);
    const auto routing =
        ExpectedRouting::Create(layer.experts, layer.top_k, layers_.routing);
    if (!routing.ok()) return LeaveOut(std::string(routing.status().message()));
    for (const int64_t tokens : tokens_) {
      if (!Take(specialisation, extents,
                routing->Slots(tokens, layer.local_experts))) {
        continue;
      }
      LayerProblems& made = result_.back();
      WeightedProblem& added = made.problems.back();
      added.rivals = RivalsOf(
          spec_, layers_.engine_launches,
          LaunchKey("", layer.local_experts, layer.intermediate, down, tokens),
          added.problem, made.files_left_out);
    }
  }

  void Add(const ServedAttention& served) {
    for (const AttentionLayer& layer : layers_.attention) {
      if (layer.decode) AddPhase(served, layer, AttentionPhase::kDecode);
      if (layer.prefill) AddPhase(served, layer, AttentionPhase::kPrefill);
    }
  }

  void AddPhase(const ServedAttention& served, const AttentionLayer& layer,
                AttentionPhase phase) {
    const bool decode = phase == AttentionPhase::kDecode;
    Begin(absl::StrCat(layer.name, decode ? ", decode, " : ", prefill, ",
                       layer.heads, " heads of ", layer.head_dim, ", ",
                       layer.kv_heads, " of keys"),
          layer.layers);
    const auto variant =
        std::find_if(served.variants.begin(), served.variants.end(),
                     [&](const AttentionVariant& v) {
                       return v.phase == phase && v.causal == !decode &&
                              v.head_dim == layer.head_dim &&
                              v.head_dim == layer.value_head_dim;
                     });
    if (variant == served.variants.end()) {
      result_.back().why_left_out =
          absl::StrCat("no specialisation of the kernel computes it (heads of ",
                       layer.head_dim,
                       layer.value_head_dim == layer.head_dim
                           ? ""
                           : absl::StrCat(", values of ", layer.value_head_dim),
                       ")");
      return;
    }
    seen_.clear();
    if (decode) {
      AddDecode(served, layer, variant->specialisation);
    } else {
      AddPrefill(served, layer, variant->specialisation);
    }
  }

  void AddDecode(const ServedAttention& served, const AttentionLayer& layer,
                 const std::string& specialisation) {
    const auto add = [&](const auto& caches) {
      for (const int64_t cache : caches) {
        const int64_t keys =
            layer.window > 0 ? std::min(cache, layer.window) : cache;
        if (layers_.positions > 0 && keys > layers_.positions) continue;
        for (const int64_t batch : sequences_) {
          TakeAttention(served, layer, specialisation, batch, 1, keys);
        }
      }
    };
    if (counts_ == TokenCounts::kProfiled) {
      add(kProfiledCaches);
    } else {
      add(kJudgedCaches);
    }
  }

  void AddPrefill(const ServedAttention& served, const AttentionLayer& layer,
                  const std::string& specialisation) {
    for (const int64_t tokens : tokens_) {
      if (tokens < kShortestPrompt) continue;
      const auto add = [&](int64_t batch, int64_t queries, int64_t keys) {
        if (layers_.positions > 0 && keys > layers_.positions) return;
        if (layer.window > 0 && keys > layer.window) {
          return LeaveOut("the kernel knows no window");
        }
        TakeAttention(served, layer, specialisation, batch, queries, keys);
      };
      add(1, tokens, tokens);
      add(1, tokens, kPrefixedLength * tokens);
      if (tokens / kPrompts >= kShortestPrompt) {
        add(kPrompts, tokens / kPrompts, tokens / kPrompts);
      }
    }
  }

  void TakeAttention(const ServedAttention& served, const AttentionLayer& layer,
                     const std::string& specialisation, int64_t batch,
                     int64_t queries, int64_t keys) {
    Take(specialisation, {{served.batch, batch},
                          {served.heads, layer.heads},
                          {served.kv_heads, layer.kv_heads},
                          {served.seq_q, queries},
                          {served.seq_kv, keys}});
  }

  void Begin(std::string layer, int64_t layers) {
    result_.push_back({.layer = std::move(layer), .layers = layers});
    seen_.clear();
  }

  // Whether the kernel computes layers of this type; says it where not.
  bool Computes(const std::string& type) {
    if (ServesType(spec_.served_types, type)) return true;
    result_.back().why_left_out =
        type.empty() ? "it is not quantised: the kernel's types are others"
                     : absl::StrCat("it runs in ", type,
                                    ", which is none of the kernel's types");
    return false;
  }

  void LeaveOut(const std::string& why) {
    LayerProblems& made = result_.back();
    if (made.left_out++ == 0) made.why_left_out = why;
  }

  // Adds a problem, once, where it can be measured; returns whether it did.
  bool Take(const std::string& specialisation,
            const std::vector<std::pair<int32_t, int64_t>>& extents,
            std::vector<int64_t> repeated = {}) {
    Problem problem{.extents = std::vector<int64_t>(spec_.dimensions.size()),
                    .repeated = std::move(repeated),
                    .specialisation = specialisation};
    for (const auto& [dimension, extent] : extents) {
      problem.extents[static_cast<size_t>(dimension)] = extent;
    }
    if (!seen_.insert(problem).second) return false;
    if (const std::string why = WhyNot(problem); !why.empty()) {
      LeaveOut(why);
      return false;
    }
    result_.back().problems.push_back({.problem = std::move(problem)});
    return true;
  }

  std::string WhyNot(Problem problem) const {
    if (problem.specialisation.empty()) {
      problem.specialisation = spec_.SpecialisationNames().front();
    }
    const absl::Status status = CheckProblem(spec_, problem);
    if (!status.ok()) return std::string(status.message());
    const KernelSpec& own = spec_.Of(problem.specialisation);
    return LimitExceeded(own, own.MappingOf(problem.specialisation),
                         own.default_configuration, problem, own.limits);
  }

  const ModelLayers& layers_;
  const KernelSpec& spec_;
  const TokenCounts counts_;
  const std::vector<int64_t> tokens_;
  const std::vector<int64_t> sequences_;
  std::vector<LayerProblems> result_;
  std::set<Problem> seen_;  // Of the layer.
};

}  // namespace

std::vector<Rival> RivalsOf(const KernelSpec& spec,
                            const EngineLaunches& launches,
                            absl::string_view key, const Problem& problem,
                            int64_t& left_out) {
  std::vector<Rival> rivals;
  const auto* const moe = std::get_if<ServedMoe>(&spec.serves);
  if (moe == nullptr) return rivals;
  for (const std::string& engine : moe->engines) {
    for (const auto& [device, of_device] : launches) {
      const auto found = of_device.find(absl::StrCat(engine, key));
      if (found == of_device.end()) continue;
      const auto own = ConfigurationOf(spec, found->second);
      if (own && IsLegal(spec.Of(problem.specialisation), *own, problem.View()))
        rivals.push_back({absl::StrCat(engine, "'s file"), *own, device});
      else
        ++left_out;
    }
  }
  return rivals;
}

std::vector<LayerProblems> ProblemsOf(const ModelLayers& layers,
                                      int64_t max_tokens,
                                      const KernelSpec& spec,
                                      TokenCounts counts) {
  return ProblemMaker(layers, max_tokens, spec, counts).Make();
}

}  // namespace wavetune
