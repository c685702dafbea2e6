#include "launch/launch_json_reader.h"

#include <cstddef>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

using Json = JsonReader::Json;

// A value and what launch.json calls it.
template <typename Value, typename Name>
struct Named {
  Value value;
  Name name;
};

constexpr Named<ElementType, const char*> kTypes[] = {
    {ElementType::kFloat32, "float32"},
    {ElementType::kInt32, "int32"},
    {ElementType::kInt64, "int64"},
    {ElementType::kBfloat16, "bfloat16"}};

constexpr Named<ArgumentRole, const char*> kAccesses[] = {
    {ArgumentRole::kInput, "input"},
    {ArgumentRole::kOutput, "output"},
    {ArgumentRole::kInOut, "inout"},
    {ArgumentRole::kWorkspace, "workspace"}};

constexpr Named<Zeroed, const char*> kZeroed[] = {
    {Zeroed::kEveryLaunch, "every_launch"},
    {Zeroed::kOnce, "once"},
    {Zeroed::kNever, "never"}};

constexpr Named<TensorMap::Swizzle, int64_t> kSwizzles[] = {
    {TensorMap::Swizzle::kNone, 0},
    {TensorMap::Swizzle::k32Bytes, 32},
    {TensorMap::Swizzle::k64Bytes, 64},
    {TensorMap::Swizzle::k128Bytes, 128}};

// Returns `otherwise` where the table has no such value.
template <typename Value, typename Name, size_t kSize>
Name NameIn(const Named<Value, Name> (&table)[kSize], Value value,
            Name otherwise) {
  for (const Named<Value, Name>& known : table) {
    if (known.value == value) return known.name;
  }
  return otherwise;
}

// Returns nothing where the table has no such name.
template <typename Value, typename Name, size_t kSize, typename Wanted>
std::optional<Value> ValueIn(const Named<Value, Name> (&table)[kSize],
                             const Wanted& name) {
  for (const Named<Value, Name>& known : table) {
    if (name == known.name) return known.value;
  }
  return std::nullopt;
}

}  // namespace

const char* ElementTypeName(ElementType type) {
  return NameIn(kTypes, type, "");
}

const char* AccessName(ArgumentRole role) {
  return NameIn(kAccesses, role, "");
}

const char* ZeroedName(Zeroed zeroed) { return NameIn(kZeroed, zeroed, ""); }

int64_t SwizzleBytes(TensorMap::Swizzle swizzle) {
  return NameIn(kSwizzles, swizzle, int64_t{0});
}

void JsonReader::Check(bool sound, absl::string_view name,
                       absl::string_view fault) {
  if (sound || !status_.ok()) return;
  status_ = absl::InvalidArgumentError(
      absl::StrCat("launch.json: ", name, ": ", fault));
}

const Json& JsonReader::nothing() {
  static const Json* const nothing = new Json(Json::array());
  return *nothing;
}

const Json& JsonReader::Get(const Json& json, const char* name) {
  if (json.is_object()) {
    const auto found = json.find(name);
    if (found != json.end()) return *found;
  }
  Check(false, name, "is missing");
  return nothing();
}

const Json& JsonReader::List(const Json& json, const char* name) {
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

ElementType JsonReader::Type(const Json& json, const char* name) {
  const std::string text = Text(json, name);
  const auto type = ValueIn(kTypes, text);
  Check(type.has_value(), name, absl::StrCat("'", text, "' is unknown"));
  return type.value_or(ElementType::kFloat32);
}

ArgumentRole JsonReader::Access(const Json& json, const char* name) {
  const auto role = ValueIn(kAccesses, Text(json, name));
  Check(role.has_value(), name,
        "is none of input, output, inout and workspace");
  return role.value_or(ArgumentRole::kInput);
}

Zeroed JsonReader::ZeroedWhen(const Json& json, const char* name) {
  const auto zeroed = ValueIn(kZeroed, Text(json, name));
  Check(zeroed.has_value(), name, "is none of every_launch, once and never");
  return zeroed.value_or(Zeroed::kEveryLaunch);
}

TensorMap::Swizzle JsonReader::Swizzle(const Json& json, const char* name) {
  const auto swizzle = ValueIn(kSwizzles, Number(json, name, 0));
  Check(swizzle.has_value(), name, "is none of 0, 32, 64 and 128");
  return swizzle.value_or(TensorMap::Swizzle::kNone);
}

}  // namespace wavetune
