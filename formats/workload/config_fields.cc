#include "formats/workload/config_fields.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace wavetune {
namespace {

// Of a value that is shown in a message.
constexpr size_t kMaxShownBytes = 40;

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

}  // namespace

ConfigFields::ConfigFields(const nlohmann::json& config,
                           std::map<std::string, int64_t> defaults)
    : config_(config), defaults_(std::move(defaults)) {
  const auto text = config.find("text_config");
  if (text != config.end() && text->is_object()) text_ = &*text;
}

const nlohmann::json* ConfigFields::Find(const char* name) const {
  for (const nlohmann::json* object : {text_, &config_}) {
    if (object == nullptr) continue;
    const auto found = object->find(name);
    if (found != object->end() && !found->is_null()) return &*found;
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

int64_t ConfigFields::Required(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const nlohmann::json* value = Find(name)) {
      return Number(name, *value, 1, 1);
    }
  }
  for (const char* name : names) {
    const auto known = defaults_.find(name);
    if (known != defaults_.end()) return known->second;
  }
  missing_.push_back(absl::StrJoin(names, " (or "));
  for (size_t i = 1; i < names.size(); ++i) missing_.back() += ")";
  return 1;
}

int64_t ConfigFields::Optional(std::initializer_list<const char*> names,
                               int64_t otherwise) {
  for (const char* name : names) {
    if (const nlohmann::json* value = Find(name)) {
      return Number(name, *value, 0, otherwise);
    }
  }
  for (const char* name : names) {
    const auto known = defaults_.find(name);
    if (known != defaults_.end()) return known->second;
  }
  return otherwise;
}

bool ConfigFields::Flag(const char* name, bool otherwise) const {
  const nlohmann::json* value = Find(name);
  return value != nullptr && value->is_boolean() ? value->get<bool>()
                                                 : otherwise;
}

std::vector<int64_t> ConfigFields::Numbers(const char* name) const {
  std::vector<int64_t> numbers;
  const nlohmann::json* value = Find(name);
  if (value == nullptr || !value->is_array()) return numbers;
  for (const nlohmann::json& element : *value) {
    if (element.is_number_integer()) numbers.push_back(element.get<int64_t>());
  }
  return numbers;
}

std::vector<std::string> ConfigFields::Texts(const char* name) const {
  std::vector<std::string> texts;
  const nlohmann::json* value = Find(name);
  if (value == nullptr || !value->is_array()) return texts;
  for (const nlohmann::json& element : *value) {
    if (element.is_string()) texts.push_back(element.get<std::string>());
  }
  return texts;
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
