// ModelConfig: what a model's config.json (as Hugging Face has it) says of its
// layers.
//
//   ASSIGN_OR_RETURN(const ModelConfig model, ParseModelConfig(text));
//   // model.hidden, model.heads, model.experts ...
//
// Known architectures: Llama, Mistral (3), Qwen2 and Qwen3 with their mixtures
// of experts, Mixtral, Gemma (2, 3), Phi (2, 3), DeepSeek-V2 and V3, gpt-oss.
// Any other is read as a decoder with gated feed-forward layers, if it has the
// usual fields, and `notes` says so.
//
// Thread safety: plain values, pure functions.
#ifndef WAVETUNE_FORMATS_WORKLOAD_MODEL_CONFIG_H_
#define WAVETUNE_FORMATS_WORKLOAD_MODEL_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// Largest config.json that is read.
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;

// Attention with compressed keys and values (DeepSeek).
struct LatentAttention {
  int64_t query_rank = 0;  // 0: queries are not compressed.
  int64_t key_value_rank = 0;
  int64_t plain_head_dim = 0;   // Of queries and keys, without positions,
  int64_t rotary_head_dim = 0;  // and with.
  int64_t value_head_dim = 0;
};

struct Experts {
  int64_t count = 0;
  int64_t per_token = 0;
  int64_t intermediate = 0;
  int64_t shared_intermediate = 0;  // Of experts that every token has; 0: none.
  int64_t layers = 0;               // That have experts.
};

struct ModelConfig {
  std::string architecture;
  int64_t hidden = 0;
  int64_t vocabulary = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  std::optional<LatentAttention> latent;  // Then kv_heads and head_dim are 0.
  int64_t window = 0;                     // Keys that a query sees; 0: all.
  int64_t window_layers = 0;              // Layers with that window.
  int64_t full_layers = 0;                // Layers that see all keys.
  int64_t dense_layers = 0;               // With one feed-forward network
  int64_t intermediate = 0;               // of this width,
  bool gated = true;                      // and of two factors.
  std::optional<Experts> experts;
  int64_t positions = 0;  // Longest sequence; 0: not said.
  // What the reader should know, for people.
  std::vector<std::string> notes;
};

// Errors: INVALID_ARGUMENT: no JSON (with the place), no object, fields that
// are missing or out of range, all at once, with what to do;
// RESOURCE_EXHAUSTED above kMaxConfigBytes.
absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view text);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_MODEL_CONFIG_H_
