// Quantization: the type in which an engine computes each layer, out of
// "quantization_config" of a model's config.json.
//
//   Quantization quantization(config_object, &notes);
//   quantization.TypeOf({{"self_attn"}, {"q_proj", "k_proj"}}, 17);  // "fp8"
//
// Known methods: fp8 (also fbgemm), compressed-tensors, ModelOpt, mxfp4, GPTQ,
// AWQ, bitsandbytes. Any other's name is the type of all its layers.
//
// Thread safety: used by one thread.
#ifndef WAVETUNE_FORMATS_WORKLOAD_QUANTIZATION_H_
#define WAVETUNE_FORMATS_WORKLOAD_QUANTIZATION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace wavetune {

// The modules that one launched layer is made of, as files name them: any of
// `folders` with any of `leaves`. Files of different models name the same
// module differently.
struct Modules {
  std::vector<absl::string_view> folders;
  std::vector<absl::string_view> leaves;
  bool experts = false;  // In a mixture of experts.
};

class Quantization {
 public:
  // Nothing is quantised.
  Quantization() = default;

  // `config` is the object. Adds to `notes` what people should know.
  Quantization(const nlohmann::json& config, std::vector<std::string>* notes);

  // Returns the type of a layer's module; empty where it is not quantised.
  // `layer` is -1 outside of the decoder's layers.
  // Cost: what names say of all layers is looked up once for each of `modules`.
  std::string TypeOf(const Modules& modules, int64_t layer);

  // Says that experts run in this type, whatever the rest does.
  void SetExperts(std::string type) { experts_ = std::move(type); }

  bool IsQuantized() const { return !type_.empty() || !typed_.empty(); }

 private:
  // The part behind "layers.N." of a name, and its type, by N; -1: any layer.
  using Patterns = std::set<std::pair<std::string, std::string>>;
  using ByLayer = std::map<int64_t, Patterns>;
  // One module's names, and its type as said for any layer.
  struct Known {
    std::vector<std::string> names;
    const std::string* type = nullptr;
    bool is_plain = false;
  };

  void ReadModelOpt(const nlohmann::json& config);
  void ReadCompressedTensors(const nlohmann::json& config);
  void AddAll(const nlohmann::json& names, const std::string& type,
              ByLayer& to);
  void Add(absl::string_view name, const std::string& type, ByLayer& to);
  const Known& KnownOf(const Modules& modules);
  static const std::string* Matching(const ByLayer& patterns,
                                     const std::vector<std::string>& modules,
                                     int64_t layer);

  std::string type_;     // For modules without another; empty: none.
  std::string experts_;  // For experts; empty: as the rest.
  bool experts_only_ = false;
  ByLayer plain_;  // Not quantised.
  ByLayer typed_;  // Those of another type.
  size_t patterns_ = 0;
  bool too_many_ = false;
  std::map<std::string, Known> known_;
  std::string unread_;  // A pattern that is not understood.
};

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_QUANTIZATION_H_
