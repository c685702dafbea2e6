// ConfigFields: whole numbers out of a model's config.json, with all that is
// missing or wrong said at once.
//
//   ConfigFields fields(json, {{"num_key_value_heads", 4}});
//   const int64_t hidden = fields.Required("hidden_size");
//   const int64_t window = fields.Optional("sliding_window", 0);
//   RETURN_IF_ERROR(fields.Check("LlamaForCausalLM"));
//
// Why: a file of an architecture that nobody has seen should say in one go
// which fields it lacks.
//
// Thread safety: used by one thread.
#ifndef WAVETUNE_FORMATS_WORKLOAD_CONFIG_FIELDS_H_
#define WAVETUNE_FORMATS_WORKLOAD_CONFIG_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace wavetune {

// Largest number that a field may have: products of two stay far from 2^63.
inline constexpr int64_t kMaxConfigNumber = int64_t{1} << 24;

class ConfigFields {
 public:
  // `config` must outlive this. What `config` has under "text_config" (models
  // that also see or hear) goes before its own fields. `defaults` are what the
  // architecture means where a field is missing.
  explicit ConfigFields(const nlohmann::json& config,
                        std::map<std::string, int64_t> defaults = {});

  // Returns the first of the names that is there, which must be a whole number
  // from 1 to kMaxConfigNumber; 1 and a fault otherwise.
  int64_t Required(std::initializer_list<const char*> names);
  int64_t Required(const char* name) { return Required({name}); }

  // As Required, with `otherwise` where no name is there. 0 is no fault.
  int64_t Optional(std::initializer_list<const char*> names, int64_t otherwise);
  int64_t Optional(const char* name, int64_t otherwise) {
    return Optional({name}, otherwise);
  }

  // Returns a field that is true or false; anything else counts as `otherwise`.
  bool Flag(const char* name, bool otherwise) const;

  // Returns a list of whole numbers or of texts; empty where it is none.
  std::vector<int64_t> Numbers(const char* name) const;
  std::vector<std::string> Texts(const char* name) const;

  // Returns whether a field is there, and not null.
  bool Has(const char* name) const { return Find(name) != nullptr; }

  // Adds a fault of the caller's own.
  void Fault(std::string text) { faults_.push_back(std::move(text)); }

  // Errors: INVALID_ARGUMENT with all fields that `architecture` lacks and all
  // that have bad values.
  absl::Status Check(const std::string& architecture) const;

 private:
  const nlohmann::json* Find(const char* name) const;
  // The field's value; `otherwise` and a fault where it is no whole number from
  // `least` on.
  int64_t Number(const char* name, const nlohmann::json& value, int64_t least,
                 int64_t otherwise);

  const nlohmann::json& config_;
  const nlohmann::json* text_ = nullptr;
  const std::map<std::string, int64_t> defaults_;
  std::vector<std::string> missing_;
  std::vector<std::string> faults_;
};

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_CONFIG_FIELDS_H_
