#include "formats/workload/model_config.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "formats/config_text.h"
#include "formats/workload/changing_fields.h"
#include "formats/workload/model_draft.h"
#include "nlohmann/json.hpp"

namespace wavetune {
namespace {

// Widths that differ, of all layers; each becomes problems.
constexpr size_t kMostDistinct = 128;
// Engines pad the vocabulary to whole multiples of this.
constexpr int64_t kVocabularyMultiple = 64;

void ReadQuantization(ModelDraft& draft) {
  const nlohmann::json* config = draft.fields.Structure("quantization_config");
  // ModelOpt writes a file of its own (formats/config_text.h).
  const nlohmann::json* beside = draft.fields.Structure("hf_quant_config");
  if (config == nullptr && beside != nullptr && beside->is_object()) {
    const auto found = beside->find("quantization");
    if (found != beside->end()) config = &*found;
  }
  if (config == nullptr || !config->is_object()) return;
  draft.quantization = Quantization(*config, &draft.model.notes);
  const std::string experts = draft.fields.Text({"expert_dtype"});
  if (draft.Is(ModelStyle::kDeepSeekV4) && experts != "fp8" &&
      !config->contains("moe_quant_algo")) {
    draft.quantization.SetExperts("mxfp4");
  }
}

void ReadActivation(ModelDraft& draft) {
  const std::string name =
      draft.fields.Text({"hidden_act", "hidden_activation",
                         "activation_function", "mlp_hidden_act"});
  if (draft.identity.family != nullptr || name.empty() || name == "silu" ||
      name == "swish" || name == "swiglu") {
    return;
  }
  draft.LeaveOut(
      kDenseFeedForward | kExpertLayers,
      absl::StrCat("since whether an activation of ", ShownName(name),
                   " has one factor or two before it is not known here"));
}

void AddLayers(ModelDraft& draft, const AddLayer& attention,
               const AddLayer& recurrence, const AddLayer& feed_forward) {
  for (int64_t i = 0; i < draft.Layers(); ++i) {
    const Mixer mixer = draft.layers[static_cast<size_t>(i)].mixer;
    if (mixer == Mixer::kMamba || mixer == Mixer::kDelta) {
      recurrence(i);
    } else if (mixer != Mixer::kNone) {
      attention(i);
    }
    feed_forward(i);
    if (draft.model.projections.size() > kMostDistinct) {
      return draft.fields.Fault(absl::StrCat(
          "its layers have more than ", kMostDistinct, " different widths"));
    }
  }
}

void AddLogits(ModelDraft& draft, int64_t vocabulary) {
  if (!draft.identity.has_logits) {
    return draft.Note(
        "it has no lm_head: what follows its last layer is not derived");
  }
  draft.model.projections.push_back(
      {.name = "lm_head",
       .kind = kLogits,
       .outputs = {{.field = "the padded vocabulary",
                    .count = RoundUp(vocabulary, kVocabularyMultiple)}},
       .inputs = draft.Hidden(),
       .type = draft.quantization.TypeOf({{""}, {"lm_head", "head"}}, -1),
       .of_sequences = true,
       .layers = 1});
}

void LeaveOutWhatIsNotKnown(ModelDraft& draft) {
  LeftOut unread = WhatChange(draft.fields.Unused());
  const unsigned left_out = draft.left_out | unread.kinds;
  for (std::string& note : unread.notes) draft.Note(std::move(note));
  std::erase_if(draft.model.projections, [&](const Projection& projection) {
    return (left_out & projection.kind) != 0;
  });
  if ((left_out & kExpertLayers) != 0) draft.model.experts.clear();
  if ((left_out & kAttentionItself) != 0) draft.model.attention.clear();
}

void NoteTypes(ModelDraft& draft) {
  std::set<std::string> types;
  for (const Projection& projection : draft.model.projections)
    types.insert(projection.type);
  for (const Experts& experts : draft.model.experts) types.insert(experts.type);
  types.erase("");
  if (types.empty()) return;
  draft.Note(
      absl::StrCat("layers that run in ", absl::StrJoin(types, ", "),
                   " are problems only of kernels that say so (serves)"));
}

// `config` is an object. Errors: as ParseModelConfig.
absl::StatusOr<ModelConfig> ReadConfig(const nlohmann::json& config) {
  ModelDraft draft(config, IdentityOf(config));
  draft.hidden = draft.fields.Required("hidden_size");
  const int64_t vocabulary = draft.fields.Required("vocab_size");
  draft.model.positions = draft.fields.Optional("max_position_embeddings", 0);
  if (draft.identity.family == nullptr) {
    draft.Note(absl::StrCat(draft.model.architecture,
                            " is not known: it is read as a decoder whose "
                            "feed-forward layers have two factors in their "
                            "first product"));
  }
  ReadQuantization(draft);
  ReadActivation(draft);
  ReadLayerKinds(draft);
  const AddLayer attention = ReadAttention(draft);
  const AddLayer recurrence = ReadRecurrence(draft);
  const AddLayer feed_forward = ReadFeedForward(draft);
  RETURN_IF_ERROR(draft.fields.Check(draft.model.architecture));
  AddLayers(draft, attention, recurrence, feed_forward);
  AddLogits(draft, vocabulary);
  RETURN_IF_ERROR(draft.fields.Check(draft.model.architecture));
  LeaveOutWhatIsNotKnown(draft);
  NoteTypes(draft);
  return std::move(draft.model);
}

absl::StatusOr<nlohmann::json> ParseObject(absl::string_view text) {
  nlohmann::json config;
  try {
    config = nlohmann::json::parse(WithoutPythonLiterals(text));
  } catch (const nlohmann::json::exception& error) {  // Also 1e999.
    // What stands before the first blank is the library's own number.
    const absl::string_view what = error.what();
    return absl::InvalidArgumentError(absl::StrCat(
        "config.json is no JSON, or cut off: ",
        PrintableText(what.substr(std::min(what.size(), what.find(' ') + 1))),
        "; fetch the file again"));
  }
  if (!config.is_object()) {
    return absl::InvalidArgumentError(
        "config.json holds no object: give a model's config.json, as "
        "Hugging Face has it beside the weights");
  }
  return config;
}

}  // namespace

std::string LaunchKey(absl::string_view engine, int64_t experts,
                      int64_t intermediate, bool down, int64_t tokens) {
  return absl::StrCat(engine, " E=", experts, ",N=", intermediate,
                      down ? ",down" : "", " M=", tokens);
}

absl::StatusOr<EngineLaunches> ReadEngineLaunches(absl::string_view text) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr,
                                          /*allow_exceptions=*/false);
  bool sound = json.is_object();
  EngineLaunches read;
  for (const auto& [device, launches] : json.items()) {
    sound = sound && launches.is_object();
    for (const auto& [key, launch] : launches.items()) {
      sound = sound && launch.is_object();
      std::map<std::string, int64_t>& values = read[device][key];
      for (const auto& [name, value] : launch.items()) {
        sound = sound && value.is_number_integer();
        if (sound) values[name] = value.get<int64_t>();
      }
    }
  }
  if (sound) return read;
  return absl::InvalidArgumentError(
      absl::StrCat(kEngineFiles,
                   " holds no launches by device: leave it out of config.json, "
                   "wavetune workload add --engine-configs writes it"));
}

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view text) {
  if (text.size() > kMaxConfigBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "config.json has ", text.size(),
        " bytes without blanks and labels, of which at most ", kMaxConfigBytes,
        " are read: give the model's config.json alone"));
  }
  ASSIGN_OR_RETURN(const nlohmann::json config, ParseObject(text));
  ASSIGN_OR_RETURN(ModelConfig model, ReadConfig(config));
  if (!config.contains(kEngineFiles)) return model;
  ASSIGN_OR_RETURN(model.engine_launches,
                   ReadEngineLaunches(config[kEngineFiles].dump()));
  size_t launches = 0;
  for (const auto& [device, of] : model.engine_launches) launches += of.size();
  if (launches <= kMostEngineLaunches) return model;
  return absl::InvalidArgumentError(absl::StrCat(
      kEngineFiles, " has ", launches, " launches, of which at most ",
      kMostEngineLaunches, " are read: add the workload with fewer devices"));
}

}  // namespace wavetune
