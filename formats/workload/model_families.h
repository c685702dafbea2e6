// Families of models that are known, and what each means beyond the fields of
// its config.json.
//
// Thread safety: plain values, pure functions.
#ifndef WAVETUNE_FORMATS_WORKLOAD_MODEL_FAMILIES_H_
#define WAVETUNE_FORMATS_WORKLOAD_MODEL_FAMILIES_H_

#include <cstdint>
#include <map>
#include <string>

#include "nlohmann/json.hpp"

namespace wavetune {

// Models with layers of their own.
enum class ModelStyle {
  kDecoder,
  kLlama4,
  kQwenNext,  // Gated attention, and layers of a gated delta rule.
  kNemotronH,
  kGraniteHybrid,
  kDeepSeekV4,
  kGemma4,
  kMiMoV2,
  kMiniMaxM3,
  kErnie,
  kDeciLM,
};

struct ModelFamily {
  // Names of architectures without their head ("ForCausalLM"), and of
  // "model_type", in lower case without '_', '-' and '.', with blanks between.
  const char* names = "";
  ModelStyle style = ModelStyle::kDecoder;
  bool gated = true;              // The first product has two factors.
  bool own_expert_width = false;  // moe_intermediate_size is a must.
  bool window_by_flag = false;  // Only use_sliding_window turns the window on.
  // One layer in so many sees all keys, the others a window; 0: all have it.
  int64_t full_every = 0;
  // Fields that its files may leave out, as transformers' classes have them.
  std::map<std::string, int64_t> defaults = {};
  // Fields that change nothing here, though their names sound like it.
  const char* harmless = "";
};

// What a file says it is.
struct ModelIdentity {
  std::string name;                     // For people; empty: it says nothing.
  const ModelFamily* family = nullptr;  // Null: not known.
  bool has_logits = true;  // False for embedding models and classifiers.
};

// Returns it by "architectures" and "model_type" of the file and of its model
// of text. Cannot fail.
ModelIdentity IdentityOf(const nlohmann::json& config);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_MODEL_FAMILIES_H_
