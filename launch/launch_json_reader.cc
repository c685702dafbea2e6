#include "launch/launch_json_reader.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace wavetune {

void JsonReader::Check(bool sound, absl::string_view name,
                       absl::string_view fault) {
  if (sound || !status_.ok()) return;
  status_ = absl::InvalidArgumentError(
      absl::StrCat("launch.json: ", name, ": ", fault));
}

const JsonReader::Json& JsonReader::nothing() {
  static const Json* const nothing = new Json(Json::array());
  return *nothing;
}

const JsonReader::Json& JsonReader::Get(const Json& json, const char* name) {
  if (json.is_object()) {
    const auto found = json.find(name);
    if (found != json.end()) return *found;
  }
  Check(false, name, "is missing");
  return nothing();
}

const JsonReader::Json& JsonReader::List(const Json& json, const char* name) {
  const Json& value = Get(json, name);
  Check(value.is_array(), name, "is no list");
  return value.is_array() ? value : nothing();
}

std::string JsonReader::Text(const Json& json, const char* name) {
  return TextOf(Get(json, name), name);
}

std::string JsonReader::TextOf(const Json& value, absl::string_view name) {
  Check(value.is_string(), name, "is no text");
  return value.is_string() ? value.get<std::string>() : "";
}

bool JsonReader::Flag(const Json& json, const char* name) {
  const Json& value = Get(json, name);
  Check(value.is_boolean(), name, "is neither true nor false");
  return value.is_boolean() && value.get<bool>();
}

int64_t JsonReader::Number(const Json& json, const char* name, int64_t min) {
  return NumberIn(Get(json, name), name, min,
                  std::numeric_limits<int64_t>::max());
}

int64_t JsonReader::NumberIn(const Json& value, absl::string_view name,
                             int64_t min, int64_t max) {
  // Beyond 63 bits it reads as negative.
  const int64_t number = value.is_number_integer() ? value.get<int64_t>() : 0;
  const bool sound =
      value.is_number_integer() && number >= min && number <= max &&
      !(value.is_number_unsigned() &&
        value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()});
  Check(sound, name, absl::StrCat("is no number from ", min, " to ", max));
  return sound ? number : min;
}

}  // namespace wavetune
