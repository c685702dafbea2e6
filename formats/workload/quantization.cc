#include "formats/workload/quantization.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/printable_text.h"

namespace wavetune {
namespace {

// Of more patterns than these none is used: each is tried on each module.
constexpr size_t kMostGeneralPatterns = 256;
constexpr size_t kMostPatterns = 16384;
constexpr size_t kMaxPatternBytes = 256;
constexpr size_t kMaxShownMethod = 64;

std::string LowerText(const nlohmann::json& config, const char* field) {
  const auto found = config.find(field);
  if (found == config.end() || !found->is_string()) return "";
  return absl::AsciiStrToLower(
      ShortenedText(found->get<std::string>(), kMaxShownMethod));
}

int64_t WholeNumber(const nlohmann::json& config, const char* field) {
  const auto found = config.find(field);
  return found != config.end() && found->is_number_integer()
             ? found->get<int64_t>()
             : 0;
}

// "W4A16_NVFP4" and "NVFP4_AWQ" are nvfp4.
std::string TypeOfAlgorithm(absl::string_view lower) {
  for (const char* type : {"nvfp4", "mxfp4", "mxfp8", "fp8", "int8", "int4"}) {
    if (absl::StrContains(lower, type)) return type;
  }
  if (absl::StrContains(lower, "w4a16") || absl::StrContains(lower, "w4a8")) {
    return "int4";
  }
  return std::string(lower);
}

// Of compressed-tensors: {"num_bits": 4, "type": "float", "group_size": 16}.
std::string TypeOfGroup(const nlohmann::json& group,
                        const std::string& format) {
  const std::string own = LowerText(group, "format");
  const std::string& packed = own.empty() ? format : own;
  for (const char* type : {"nvfp4", "mxfp4", "mxfp8"}) {
    if (absl::StrContains(packed, type)) return type;
  }
  const auto weights = group.find("weights");
  if (weights == group.end() || !weights->is_object()) return "";
  const int64_t bits = WholeNumber(*weights, "num_bits");
  if (bits <= 0) return "";
  if (LowerText(*weights, "type") != "float") return absl::StrCat("int", bits);
  return bits == 4
             ? WholeNumber(*weights, "group_size") == 32 ? "mxfp4" : "nvfp4"
             : absl::StrCat("fp", bits);
}

// Whether `text` is what `pattern` says, '*' being any characters and '?' one.
bool Globs(absl::string_view pattern, absl::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = absl::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() &&
               (pattern[p] == text[t] || pattern[p] == '?')) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// Returns what a regular expression of plain names, ".*" and one choice
// "(a|b)" is as patterns; none where it is another.
std::vector<std::string> GlobsOfExpression(absl::string_view expression) {
  absl::ConsumePrefix(&expression, "^");
  absl::ConsumeSuffix(&expression, "$");
  std::string glob;
  std::vector<absl::string_view> choices = {""};
  std::string before;
  bool chosen = false;
  for (size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    const bool last = i + 1 == expression.size();
    if (c == '\\' && !last) {
      glob += expression[++i];
    } else if (c == '.' && !last && expression[i + 1] == '*') {
      glob += '*';
      ++i;
    } else if (c == '.') {
      glob += '?';
    } else if (c == '(' && !chosen) {
      const size_t end = expression.find(')', i);
      if (end == absl::string_view::npos) return {};
      choices = absl::StrSplit(expression.substr(i + 1, end - i - 1), '|');
      before = std::exchange(glob, "");
      chosen = true;
      i = end;
    } else if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
               c == '-') {
      glob += c;
    } else {
      return {};
    }
  }
  std::vector<std::string> globs;
  for (const absl::string_view choice : choices) {
    globs.push_back(absl::StrCat(before, choice, glob));
  }
  return globs;
}

// Whether `text` begins with `prefix` and a dot.
bool BeginsWithName(absl::string_view text, absl::string_view prefix) {
  return text.size() > prefix.size() && absl::StartsWith(text, prefix) &&
         text[prefix.size()] == '.';
}

// Whether `name` is the module, holds it, or is in it ("experts.0.up_proj").
bool Names(absl::string_view name, absl::string_view module,
           bool of_any_layer) {
  if (absl::StrContains(name, '*') || absl::StrContains(name, '?')) {
    return Globs(name, module) ||
           (of_any_layer &&
            (Globs(name, absl::StrCat("model.layers.0.", module)) ||
             Globs(name, absl::StrCat("model.layers.0.", module, ".0"))));
  }
  if (name.empty()) return false;
  if (name == module || BeginsWithName(module, name) ||
      BeginsWithName(name, module)) {
    return true;
  }
  return of_any_layer && absl::StrContains(absl::StrCat(".", module, "."),
                                           absl::StrCat(".", name, "."));
}

const nlohmann::json* Member(const nlohmann::json& config, const char* name) {
  const auto found = config.find(name);
  return found != config.end() && found->is_structured() ? &*found : nullptr;
}

}  // namespace

void Quantization::Add(absl::string_view name, const std::string& type,
                       ByLayer& to) {
  // Draft models have layers of their own.
  if (name.size() > kMaxPatternBytes || absl::StartsWith(name, "mtp")) return;
  // Experts of a layer are alike.
  constexpr absl::string_view kExperts = ".experts.";
  if (const size_t found = name.find(kExperts);
      found != absl::string_view::npos && !absl::StartsWith(name, "re:")) {
    name = name.substr(0, found + kExperts.size() - 1);
  }
  if (absl::ConsumePrefix(&name, "re:")) {
    const std::vector<std::string> globs = GlobsOfExpression(name);
    if (globs.empty()) unread_ = absl::CHexEscape(name);
    for (const std::string& glob : globs) to[-1].emplace(glob, type);
  } else {
    constexpr absl::string_view kLayers = "layers.";
    int64_t layer = -1;
    const size_t found = name.rfind(kLayers);
    if (found != absl::string_view::npos) {
      absl::string_view rest = name.substr(found + kLayers.size());
      size_t digits = 0;
      while (digits < rest.size() &&
             absl::ascii_isdigit(static_cast<unsigned char>(rest[digits]))) {
        ++digits;
      }
      if (digits > 0 && absl::SimpleAtoi(rest.substr(0, digits), &layer)) {
        // "layers.3*" is layer 3 (of those that there are, hardly also 30).
        name = rest.substr(digits);
        absl::ConsumePrefix(&name, ".");
        if (name.empty()) name = "*";
      } else if (absl::ConsumePrefix(&rest, "*.")) {
        name = rest;
      }
    }
    const bool is_new = to[layer].emplace(std::string(name), type).second;
    patterns_ += is_new ? 1 : 0;
  }
  if (to[-1].size() > kMostGeneralPatterns || patterns_ > kMostPatterns) {
    too_many_ = true;
  }
  if (too_many_) to.clear();
}

void Quantization::AddAll(const nlohmann::json& names, const std::string& type,
                          ByLayer& to) {
  for (const auto& name : names) {
    if (name.is_string()) Add(name.get<std::string>(), type, to);
  }
}

void Quantization::ReadModelOpt(const nlohmann::json& config) {
  type_ = TypeOfAlgorithm(LowerText(config, "quant_algo"));
  if (const nlohmann::json* layers = Member(config, "quantized_layers")) {
    for (const auto& [name, how] : layers->items()) {
      if (!how.is_object()) continue;
      Add(name, TypeOfAlgorithm(LowerText(how, "quant_algo")), typed_);
    }
  }
  if (type_ == "mixed_precision") type_.clear();
}

void Quantization::ReadCompressedTensors(const nlohmann::json& config) {
  const std::string format = LowerText(config, "format");
  const nlohmann::json* groups = Member(config, "config_groups");
  if (groups == nullptr) return;
  for (const nlohmann::json& group : *groups) {
    if (!group.is_object()) continue;
    const std::string type = TypeOfGroup(group, format);
    const nlohmann::json* targets = Member(group, "targets");
    if (targets == nullptr) {
      type_ = type;
      continue;
    }
    for (const nlohmann::json& target : *targets) {
      if (target == "Linear") {
        type_ = type;
      } else if (target.is_string()) {
        Add(target.get<std::string>(), type, typed_);
      }
    }
  }
}

Quantization::Quantization(const nlohmann::json& config,
                           std::vector<std::string>* notes) {
  std::string method = LowerText(config, "quant_method");
  if (method.empty()) {
    method = config.contains("quant_algo")      ? "modelopt"
             : config.contains("config_groups") ? "compressed-tensors"
                                                : "a method without name";
  }
  std::vector<const char*> plain = {"modules_to_not_convert"};
  if (absl::StartsWith(method, "modelopt")) {
    ReadModelOpt(config);
    plain = {"ignore", "exclude_modules"};
  } else if (method == "compressed-tensors" || method == "sparseml") {
    ReadCompressedTensors(config);
    plain = {"ignore"};
  } else if (absl::StrContains(method, "fp8")) {
    type_ = "fp8";
    plain.push_back("ignored_layers");
    if (const nlohmann::json* layers = Member(config, "quantized_layers");
        layers != nullptr && config.contains("moe_quant_algo")) {
      SetExperts(TypeOfAlgorithm(LowerText(config, "moe_quant_algo")));
    }
  } else if (absl::StrContains(method, "mxfp4")) {
    type_ = "mxfp4";
    experts_only_ = true;
  } else if (method == "bitsandbytes") {
    const auto eight = config.find("load_in_8bit");
    type_ = eight != config.end() && *eight == true ? "int8" : "nf4";
    plain.push_back("llm_int8_skip_modules");
  } else if (const int64_t bits = WholeNumber(
                 config, config.contains("bits") ? "bits" : "w_bit");
             bits > 0 && bits <= 16) {
    type_ = absl::StrCat("int", bits);  // GPTQ, AWQ and their like.
  } else if (absl::StrContains(method, "awq") ||
             absl::StrContains(method, "gptq")) {
    type_ = "int4";
  } else {
    type_ = absl::CHexEscape(method);
  }
  for (const char* field : plain) {
    if (const nlohmann::json* names = Member(config, field)) {
      AddAll(*names, "", plain_);
    }
  }
  if (!IsQuantized()) {
    type_ = absl::CHexEscape(method);
    notes->push_back(absl::StrCat(
        "quantization_config (", type_,
        ") does not say which types it has: all its layers count as ", type_));
  }
  if (too_many_ || !unread_.empty()) {
    notes->push_back(absl::StrCat(
        "quantization_config (", absl::CHexEscape(method), ") has ",
        too_many_ ? std::string("more patterns of names than are read")
                  : absl::StrCat("a pattern that is not read (",
                                 ShortenedText(unread_, kMaxShownMethod), ")"),
        ": layers that they leave as they are count as quantised"));
  }
}

const std::string* Quantization::Matching(
    const ByLayer& patterns, const std::vector<std::string>& modules,
    int64_t layer) {
  const auto found = patterns.find(layer);
  if (found == patterns.end()) return nullptr;
  for (const auto& [name, type] : found->second) {
    for (const std::string& module : modules) {
      if (Names(name, module, layer == -1)) return &type;
    }
  }
  return nullptr;
}

const Quantization::Known& Quantization::KnownOf(const Modules& modules) {
  const auto [place, is_new] =
      known_.try_emplace(absl::StrCat(absl::StrJoin(modules.folders, " "), "|",
                                      absl::StrJoin(modules.leaves, " ")));
  Known& known = place->second;
  if (!is_new) return known;
  for (const absl::string_view folder : modules.folders) {
    for (const absl::string_view leaf : modules.leaves) {
      known.names.push_back(folder.empty() ? std::string(leaf)
                                           : absl::StrCat(folder, ".", leaf));
    }
  }
  known.type = Matching(typed_, known.names, -1);
  known.is_plain = Matching(plain_, known.names, -1) != nullptr;
  return known;
}

std::string Quantization::TypeOf(const Modules& modules, int64_t layer) {
  if (modules.experts && !experts_.empty()) return experts_;
  if (!IsQuantized()) return "";
  const Known& known = KnownOf(modules);
  if (layer >= 0) {
    if (const auto* type = Matching(typed_, known.names, layer)) return *type;
  }
  if (known.type != nullptr) return *known.type;
  // Logits are computed as they are unless a list names them.
  if (layer == -1 || known.is_plain ||
      Matching(plain_, known.names, layer) != nullptr) {
    return "";
  }
  return experts_only_ && !modules.experts ? "" : type_;
}

}  // namespace wavetune
