// Layers that keep a state instead of keys: Mamba 2, and the gated delta rule.
// Their projections are derived, what lies between them is not.
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "formats/workload/model_draft.h"

namespace wavetune {
namespace {

// Granite gives the width of all heads by `expand` alone.
AddLayer ReadMamba(ModelDraft& draft, const char* heads, const char* size,
                   const char* groups, const char* state) {
  ConfigFields& fields = draft.fields;
  if (!draft.Any(Mixer::kMamba)) {
    fields.Ignore(size);
    return nullptr;
  }
  const int64_t count = fields.Required(heads);
  const int64_t given = fields.Required(size);
  const bool by_expand = draft.Is(ModelStyle::kGraniteHybrid);
  const int64_t all = given * draft.hidden;
  if (by_expand && all % count != 0) {
    fields.Fault(absl::StrCat(heads, " is ", count, ", which does not divide ",
                              size, " times hidden_size (", all, ")"));
  }
  const Units of_heads{
      .field = heads, .count = count, .width = by_expand ? all / count : given};
  const Units of_groups{.field = groups,
                        .count = fields.Required(groups),
                        .width = fields.Required(state),
                        .copied = true};
  const Units steps{.field = heads, .count = count};
  return [=, &draft](int64_t i) {
    draft.AddOfMixer(i, "mamba.in_proj",
                     {of_heads, of_heads, of_groups, of_groups, steps},
                     draft.Hidden(), {"in_proj"}, {"mixer", "mamba"});
    draft.AddOfMixer(i, "mamba.out_proj", {draft.Hidden()}, of_heads,
                     {"out_proj"}, {"mixer", "mamba"});
  };
}

// Keys (and queries) and values have their own heads.
AddLayer ReadDelta(ModelDraft& draft) {
  if (!draft.Any(Mixer::kDelta)) return nullptr;
  ConfigFields& fields = draft.fields;
  const Units keys{.field = "linear_num_key_heads",
                   .count = fields.Required("linear_num_key_heads"),
                   .width = fields.Required("linear_key_head_dim")};
  const Units values{.field = "linear_num_value_heads",
                     .count = fields.Required("linear_num_value_heads"),
                     .width = fields.Required("linear_value_head_dim")};
  const Units gates{.field = values.field, .count = values.count};
  draft.Note(
      "layers of the gated delta rule: their projections are derived, the "
      "rule itself is not");
  return [=, &draft](int64_t i) {
    draft.AddOfMixer(i, "linear_attn.in_proj_qkvz",
                     {keys, keys, values, values}, draft.Hidden(),
                     {"in_proj_qkv", "in_proj_z", "in_proj_qkvz"},
                     {"linear_attn"});
    draft.AddOfMixer(i, "linear_attn.in_proj_ba", {gates, gates},
                     draft.Hidden(), {"in_proj_b", "in_proj_a", "in_proj_ba"},
                     {"linear_attn"});
    draft.AddOfMixer(i, "linear_attn.out_proj", {draft.Hidden()}, values,
                     {"out_proj"}, {"linear_attn"});
  };
}

}  // namespace

AddLayer ReadRecurrence(ModelDraft& draft) {
  switch (draft.family.style) {
    case ModelStyle::kQwenNext:
      return ReadDelta(draft);
    case ModelStyle::kNemotronH:
      return ReadMamba(draft, "mamba_num_heads", "mamba_head_dim", "n_groups",
                       "ssm_state_size");
    case ModelStyle::kGraniteHybrid:
      return ReadMamba(draft, "mamba_n_heads", "mamba_expand", "mamba_n_groups",
                       "mamba_d_state");
    default:
      return nullptr;
  }
}

}  // namespace wavetune
