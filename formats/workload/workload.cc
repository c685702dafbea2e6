#include "formats/workload/workload.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "formats/workload/model_config.h"

namespace wavetune {
namespace {

absl::Status CheckRouting(const ModelLayers& layers,
                          const ExpertPopularity& routing) {
  if (!routing.counts.empty() && layers.moe.empty()) {
    return absl::InvalidArgumentError(
        "a routing is recorded of experts, which this model has none of: leave "
        "--routing out");
  }
  for (const MoeLayer& layer : layers.moe) {
    const auto expected =
        ExpectedRouting::Create(layer.experts, layer.top_k, routing);
    if (!expected.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--routing: ", expected.status().message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckWorkloadName(absl::string_view name) {
  const auto is_plain = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
           c == '_' || c == '-';
  };
  // "Qwen/Qwen3-8B", as models are called.
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  const auto is_sound = [&](absl::string_view part) {
    return !part.empty() &&
           absl::ascii_isalnum(static_cast<unsigned char>(part[0])) &&
           std::all_of(part.begin(), part.end(), is_plain);
  };
  if (name.size() <= kMaxWorkloadName &&
      std::all_of(parts.begin(), parts.end(), is_sound)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", absl::CHexEscape(ShortenedText(name, kMaxWorkloadName)),
      "' is no name of a workload: give 1 to ", kMaxWorkloadName,
      " letters, digits, '.', '_', '-' and '/', a letter or digit first and "
      "behind each '/'"));
}

absl::StatusOr<ModelLayers> LayersOf(const Workload& workload) {
  RETURN_IF_ERROR(CheckWorkloadName(workload.name));
  if (workload.max_tokens < 1 || workload.max_tokens > kMostMaxTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-tokens is ", workload.max_tokens, ": give 1 to ",
                     kMostMaxTokens));
  }
  ASSIGN_OR_RETURN(const ModelConfig model, ParseModelConfig(workload.config));
  ASSIGN_OR_RETURN(ModelLayers layers,
                   SplitLayers(model, workload.parallelism));
  RETURN_IF_ERROR(CheckRouting(layers, workload.routing));
  layers.routing = workload.routing;
  layers.engine_launches = model.engine_launches;
  return layers;
}

}  // namespace wavetune
