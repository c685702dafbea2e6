#include "launch/launch_json_reader.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

using Json = JsonReader::Json;

struct TypeName {
  ElementType type;
  const char* name;
};
constexpr TypeName kTypes[] = {{ElementType::kFloat32, "float32"},
                               {ElementType::kInt32, "int32"},
                               {ElementType::kInt64, "int64"},
                               {ElementType::kBfloat16, "bfloat16"}};

struct AccessWord {
  ArgumentRole role;
  const char* name;
};
constexpr AccessWord kAccesses[] = {{ArgumentRole::kInput, "input"},
                                    {ArgumentRole::kOutput, "output"},
                                    {ArgumentRole::kInOut, "inout"},
                                    {ArgumentRole::kWorkspace, "workspace"}};

struct ZeroedWord {
  Zeroed zeroed;
  const char* name;
};
constexpr ZeroedWord kZeroed[] = {{Zeroed::kEveryLaunch, "every_launch"},
                                  {Zeroed::kOnce, "once"},
                                  {Zeroed::kNever, "never"}};

struct SwizzleWidth {
  TensorMap::Swizzle swizzle;
  int64_t bytes;
};
constexpr SwizzleWidth kSwizzles[] = {{TensorMap::Swizzle::kNone, 0},
                                      {TensorMap::Swizzle::k32Bytes, 32},
                                      {TensorMap::Swizzle::k64Bytes, 64},
                                      {TensorMap::Swizzle::k128Bytes, 128}};

}  // namespace

const char* ElementTypeName(ElementType type) {
  for (const TypeName& known : kTypes) {
    if (known.type == type) return known.name;
  }
  return "";
}

const char* AccessName(ArgumentRole role) {
  for (const AccessWord& known : kAccesses) {
    if (known.role == role) return known.name;
  }
  return "";
}

const char* ZeroedName(Zeroed zeroed) {
  for (const ZeroedWord& known : kZeroed) {
    if (known.zeroed == zeroed) return known.name;
  }
  return "";
}

int64_t SwizzleBytes(TensorMap::Swizzle swizzle) {
  for (const SwizzleWidth& known : kSwizzles) {
    if (known.swizzle == swizzle) return known.bytes;
  }
  return 0;
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
  for (const TypeName& known : kTypes) {
    if (text == known.name) return known.type;
  }
  Check(false, name, absl::StrCat("'", text, "' is unknown"));
  return ElementType::kFloat32;
}

ArgumentRole JsonReader::Access(const Json& json, const char* name) {
  const std::string text = Text(json, name);
  for (const AccessWord& known : kAccesses) {
    if (text == known.name) return known.role;
  }
  Check(false, name, "is none of input, output, inout and workspace");
  return ArgumentRole::kInput;
}

Zeroed JsonReader::ZeroedWhen(const Json& json, const char* name) {
  const std::string text = Text(json, name);
  for (const ZeroedWord& known : kZeroed) {
    if (text == known.name) return known.zeroed;
  }
  Check(false, name, "is none of every_launch, once and never");
  return Zeroed::kEveryLaunch;
}

TensorMap::Swizzle JsonReader::Swizzle(const Json& json, const char* name) {
  const int64_t bytes = Number(json, name, 0);
  for (const SwizzleWidth& known : kSwizzles) {
    if (known.bytes == bytes) return known.swizzle;
  }
  Check(false, name, "is none of 0, 32, 64 and 128");
  return TensorMap::Swizzle::kNone;
}

}  // namespace wavetune
