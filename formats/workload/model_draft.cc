#include "formats/workload/model_draft.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "formats/workload/changing_fields.h"

namespace wavetune {

ModelDraft::ModelDraft(const nlohmann::json& config, ModelIdentity who)
    : identity(std::move(who)),
      family(identity.family != nullptr ? *identity.family : ModelFamily{}),
      fields(config, family.defaults) {
  model.architecture = identity.name.empty()
                           ? "an architecture that it does not name"
                           : ShownName(identity.name);
  fields.Ignore(family.harmless);
}

bool ModelDraft::Any(Mixer mixer) const {
  return std::any_of(layers.begin(), layers.end(),
                     [&](const LayerShape& one) { return one.mixer == mixer; });
}

bool ModelDraft::Any(FeedForward kind) const {
  return std::any_of(layers.begin(), layers.end(), [&](const LayerShape& one) {
    return one.feed_forward == kind;
  });
}

bool ModelDraft::HasExperts(int64_t layer) const {
  const FeedForward kind = layers[static_cast<size_t>(layer)].feed_forward;
  return kind == FeedForward::kExperts || kind == FeedForward::kBoth;
}

void ModelDraft::LeaveOut(unsigned kinds, absl::string_view why) {
  left_out |= kinds;
  Note(absl::StrCat("left out: ", KindsText(kinds), ", ", why));
}

void ModelDraft::AddOfMixer(int64_t i, absl::string_view name,
                            std::vector<Units> outputs, Units inputs,
                            std::vector<absl::string_view> leaves,
                            std::vector<absl::string_view> folders) {
  Add(Projection{
      .name = std::string(name),
      .kind = kAttentionProjections,
      .outputs = std::move(outputs),
      .inputs = std::move(inputs),
      .type = quantization.TypeOf({std::move(folders), std::move(leaves)}, i)});
}

std::string ShownName(absl::string_view name) {
  constexpr size_t kMost = 128;
  return absl::CHexEscape(ShortenedText(name, kMost));
}

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace wavetune
