#include "formats/workload/config_fields.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace wavetune {
namespace {

// Of a value that is shown in a message, and of faults.
constexpr size_t kMaxShownBytes = 40;
constexpr size_t kMostFaults = 16;
// Where a model of text lies in one that also sees or hears, and where in that
// the next.
constexpr const char* kTextModels[] = {"thinker_config", "text_config",
                                       "llm_config", "language_config", "llm"};
constexpr int kMostTextLevels = 2;

// What is inside of others is not shown: nested deeply enough, writing it would
// overflow the stack.
std::string Shown(const nlohmann::json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true,
                                nlohmann::json::error_handler_t::replace);
  if (text.size() > kMaxShownBytes) {
    text.resize(kMaxShownBytes);
    text += "...";
  }
  return text;
}

// Null, false, 0 and what is empty.
bool SaysNothing(const nlohmann::json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == 0;
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  return value.empty();
}

}  // namespace

const nlohmann::json& ConfigFields::TextModel(const nlohmann::json& config) {
  const nlohmann::json* text = &config;
  for (int level = 0; level < kMostTextLevels; ++level) {
    for (const char* name : kTextModels) {
      const auto found = text->find(name);
      if (found == text->end() || !found->is_object()) continue;
      text = &*found;
      break;
    }
  }
  return *text;
}

ConfigFields::ConfigFields(const nlohmann::json& config,
                           std::map<std::string, int64_t> defaults)
    : config_(config),
      text_(TextModel(config)),
      defaults_(std::move(defaults)) {}

const nlohmann::json* ConfigFields::Find(const char* name) const {
  for (const nlohmann::json* object : {&text_, &config_}) {
    const auto found = object->find(name);
    if (found != object->end() && !found->is_null()) return &*found;
  }
  return nullptr;
}

void ConfigFields::Fault(std::string text) {
  if (faults_.size() < kMostFaults)
    faults_.push_back(std::move(text));
  else if (faults_.size() == kMostFaults)
    faults_.push_back("and more");
}

const nlohmann::json* ConfigFields::Use(Names names, const char** found) {
  const nlohmann::json* first = nullptr;
  for (const char* name : names) {
    used_.insert(name);
    const nlohmann::json* value = first == nullptr ? Find(name) : nullptr;
    if (value == nullptr) continue;
    first = value;
    if (found != nullptr) *found = name;
  }
  return first;
}

const int64_t* ConfigFields::Default(Names names) const {
  for (const char* name : names) {
    const auto known = defaults_.find(name);
    if (known != defaults_.end()) return &known->second;
  }
  return nullptr;
}

int64_t ConfigFields::Number(const char* name, const nlohmann::json& value,
                             int64_t least, int64_t otherwise) {
  // Numbers above 2^63 - 1 are unsigned ones to the parser.
  const bool whole = value.is_number_integer() &&
                     (!value.is_number_unsigned() ||
                      value.get<uint64_t>() <= uint64_t{kMaxConfigNumber});
  const int64_t number = whole ? value.get<int64_t>() : -1;
  if (whole && number >= least && number <= kMaxConfigNumber) return number;
  Fault(absl::StrCat(name, " is ", Shown(value), ": give a whole number from ",
                     least, " to ", kMaxConfigNumber));
  return otherwise;
}

void ConfigFields::Missing(Names names) {
  std::string text = *names.begin();
  if (names.size() > 1) {
    const std::vector<const char*> others(names.begin() + 1, names.end());
    absl::StrAppend(&text, " (or ", absl::StrJoin(others, ", "), ")");
  }
  missing_.push_back(std::move(text));
}

int64_t ConfigFields::Required(Names names) {
  const char* name = nullptr;
  if (const nlohmann::json* value = Use(names, &name)) {
    return Number(name, *value, 1, 1);
  }
  if (const int64_t* known = Default(names)) return *known;
  Missing(names);
  return 1;
}

int64_t ConfigFields::Optional(Names names, int64_t otherwise) {
  const char* name = nullptr;
  if (const nlohmann::json* value = Use(names, &name)) {
    return Number(name, *value, 0, otherwise);
  }
  const int64_t* known = Default(names);
  return known != nullptr ? *known : otherwise;
}

ByLayer ConfigFields::OfLayers(Names names, int64_t layers, bool required,
                               int64_t otherwise) {
  const char* name = nullptr;
  const nlohmann::json* value = Use(names, &name);
  if (value == nullptr || !value->is_array()) {
    return ByLayer(required ? Required(names) : Optional(names, otherwise));
  }
  const int64_t least = required ? 1 : 0;
  // What follows the model's own layers is of draft models.
  if (value->size() < static_cast<size_t>(layers)) {
    Fault(absl::StrCat(name, " has ", value->size(), " values for ", layers,
                       " layers: give one of each, or a number"));
    return ByLayer(least);
  }
  std::vector<int64_t> values;
  for (int64_t i = 0; i < layers; ++i) {
    values.push_back(
        Number(name, (*value)[static_cast<size_t>(i)], least, least));
  }
  return ByLayer(std::move(values));
}

bool ConfigFields::Flag(const char* name, bool otherwise) {
  const nlohmann::json* value = Use({name});
  return value != nullptr && value->is_boolean() ? value->get<bool>()
                                                 : otherwise;
}

std::string ConfigFields::Text(Names names) {
  const nlohmann::json* value = Use(names);
  return value != nullptr && value->is_string() ? value->get<std::string>()
                                                : "";
}

std::vector<int64_t> ConfigFields::Numbers(const char* name) {
  std::vector<int64_t> numbers;
  const nlohmann::json* value = Use({name});
  if (value == nullptr || !value->is_array()) return numbers;
  for (const nlohmann::json& element : *value) {
    numbers.push_back(element.is_boolean() ? int64_t{element.get<bool>()}
                                           : Number(name, element, 0, 0));
  }
  return numbers;
}

std::vector<std::string> ConfigFields::Texts(const char* name) {
  std::vector<std::string> texts;
  const nlohmann::json* value = Use({name});
  if (value == nullptr || !value->is_array()) return texts;
  for (const nlohmann::json& element : *value) {
    if (element.is_string()) {
      texts.push_back(element.get<std::string>());
    } else {
      Fault(absl::StrCat(name, " has ", Shown(element), ": give texts alone"));
    }
  }
  return texts;
}

const nlohmann::json* ConfigFields::Structure(const char* name) {
  const nlohmann::json* value = Use({name});
  return value != nullptr && value->is_structured() ? value : nullptr;
}

void ConfigFields::Ignore(const char* names) {
  for (const absl::string_view name :
       absl::StrSplit(names, ' ', absl::SkipEmpty())) {
    used_.emplace(name);
  }
}

std::vector<std::string> ConfigFields::Unused() const {
  std::vector<std::string> unused;
  for (const auto& [name, value] : text_.items()) {
    if (!SaysNothing(value) && !used_.contains(name)) unused.push_back(name);
  }
  return unused;
}

absl::Status ConfigFields::Check(const std::string& architecture) const {
  if (missing_.empty() && faults_.empty()) return absl::OkStatus();
  std::vector<std::string> lines = faults_;
  if (!missing_.empty()) {
    lines.insert(lines.begin(),
                 absl::StrCat("it lacks ", absl::StrJoin(missing_, ", "),
                              ": add what the model has"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "config.json of ", architecture, ": ", absl::StrJoin(lines, "; ")));
}

}  // namespace wavetune
