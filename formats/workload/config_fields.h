// ConfigFields: values out of a model's config.json, with all that is missing
// or wrong said at once, and with what nobody asked for.
//
//   ConfigFields fields(json, {{"num_key_value_heads", 4}});
//   const int64_t hidden = fields.Required("hidden_size");
//   const ByLayer widths = fields.OfLayers("intermediate_size", layers);
//   RETURN_IF_ERROR(fields.Check("LlamaForCausalLM"));
//   for (const std::string& name : fields.Unused()) ...
//
// Why: a file of an architecture that nobody has seen should say in one go
// which fields it lacks, and none that changes its layers may pass unread.
//
// Thread safety: used by one thread.
#ifndef WAVETUNE_FORMATS_WORKLOAD_CONFIG_FIELDS_H_
#define WAVETUNE_FORMATS_WORKLOAD_CONFIG_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace wavetune {

// Largest number that a field may have: products of two stay far from 2^63.
inline constexpr int64_t kMaxConfigNumber = int64_t{1} << 24;

// A value that all layers have, or one of each.
class ByLayer {
 public:
  explicit ByLayer(int64_t of_all) : values_{of_all} {}
  explicit ByLayer(std::vector<int64_t> values) : values_(std::move(values)) {}

  int64_t operator[](int64_t layer) const {
    return values_.size() == 1 ? values_[0]
                               : values_[static_cast<size_t>(layer)];
  }
  bool IsList() const { return values_.size() != 1; }

 private:
  std::vector<int64_t> values_;
};

class ConfigFields {
 public:
  using Names = std::initializer_list<const char*>;

  // `config` must outlive this. What it has of a model of text (models that
  // also see or hear) goes before its own fields. `defaults` are what the
  // architecture means where a field is missing.
  explicit ConfigFields(const nlohmann::json& config,
                        std::map<std::string, int64_t> defaults = {});

  // Returns the object that holds the model of text; `config` itself where it
  // is of nothing else.
  static const nlohmann::json& TextModel(const nlohmann::json& config);

  // Returns the first of the names that is there, which must be a whole number
  // from 1 to kMaxConfigNumber; 1 and a fault otherwise.
  int64_t Required(Names names);
  int64_t Required(const char* name) { return Required({name}); }

  // As Required, with `otherwise` where no name is there. 0 is no fault.
  int64_t Optional(Names names, int64_t otherwise);
  int64_t Optional(const char* name, int64_t otherwise) {
    return Optional({name}, otherwise);
  }

  // As Required and Optional, of a number or a list with one of each layer.
  // Where `required`, 0 and a missing field are faults.
  ByLayer OfLayers(Names names, int64_t layers, bool required,
                   int64_t otherwise = 0);

  // Returns a field that is true or false; anything else counts as `otherwise`.
  bool Flag(const char* name, bool otherwise);

  // Returns a text; empty where it is none.
  std::string Text(Names names);

  // Returns a list of whole numbers, of flags as 0 and 1, or of texts; empty
  // where it is no list. Other elements are faults.
  std::vector<int64_t> Numbers(const char* name);
  std::vector<std::string> Texts(const char* name);

  // Returns an object or a list; null where it is none.
  const nlohmann::json* Structure(const char* name);

  // Returns whether a field is there, and not null.
  bool Has(const char* name) const { return Find(name) != nullptr; }

  // Adds a fault of the caller's own; of very many only the first are kept.
  void Fault(std::string text);

  // Says that fields, with blanks between them, change nothing.
  void Ignore(const char* names);

  // Returns the fields that say something (not null, false, 0 or empty) and
  // that nobody has asked for, by name.
  std::vector<std::string> Unused() const;

  // Errors: INVALID_ARGUMENT with all fields that `architecture` lacks and all
  // that have bad values.
  absl::Status Check(const std::string& architecture) const;

 private:
  const nlohmann::json* Find(const char* name) const;
  // As Find, of the first that is there; all of them count as asked for.
  const nlohmann::json* Use(Names names, const char** found = nullptr);
  const int64_t* Default(Names names) const;
  // The field's value; `otherwise` and a fault where it is no whole number from
  // `least` on.
  int64_t Number(const char* name, const nlohmann::json& value, int64_t least,
                 int64_t otherwise);
  void Missing(Names names);

  const nlohmann::json& config_;
  const nlohmann::json& text_;
  const std::map<std::string, int64_t> defaults_;
  std::set<std::string> used_;
  std::vector<std::string> missing_;
  std::vector<std::string> faults_;
};

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_CONFIG_FIELDS_H_
