// JsonReader: fields of launch.json, with the first fault kept.
//
// Reading goes on after a fault with empty values, so that code reads like the
// format; whoever reads asks status() in the end.
//
// Thread safety: none.
#ifndef WAVETUNE_LAUNCH_LAUNCH_JSON_READER_H_
#define WAVETUNE_LAUNCH_LAUNCH_JSON_READER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/kernel/argument.h"
#include "nlohmann/json.hpp"

namespace wavetune {

// The words of launch.json: "float32", "bfloat16", ...; "input", "inout", ...;
// "every_launch", "once" or "never"; 0, 32, 64 or 128.
const char* ElementTypeName(ElementType type);
const char* AccessName(ArgumentRole role);
const char* ZeroedName(Zeroed zeroed);
int64_t SwizzleBytes(TensorMap::Swizzle swizzle);

class JsonReader {
 public:
  using Json = nlohmann::ordered_json;

  // OK, or INVALID_ARGUMENT for the first fault.
  const absl::Status& status() const { return status_; }

  // Notes a fault of field `name` unless `sound`.
  void Check(bool sound, absl::string_view name, absl::string_view fault);

  // Return the field; what is missing or of another kind is a fault, and an
  // empty value is returned.
  const Json& Get(const Json& json, const char* name);
  const Json& List(const Json& json, const char* name);
  std::string Text(const Json& json, const char* name);
  bool Flag(const Json& json, const char* name);
  int64_t Number(const Json& json, const char* name, int64_t min);
  ElementType Type(const Json& json, const char* name);
  ArgumentRole Access(const Json& json, const char* name);
  Zeroed ZeroedWhen(const Json& json, const char* name);
  TensorMap::Swizzle Swizzle(const Json& json, const char* name);

  // The same of a value itself; `name` is where it is.
  std::string TextOf(const Json& value, absl::string_view name);
  int64_t NumberIn(const Json& value, absl::string_view name, int64_t min,
                   int64_t max);

  // Returns the value, or notes why there is none.
  template <typename Value>
  Value Take(absl::string_view name, absl::StatusOr<Value> value) {
    if (value.ok()) return *std::move(value);
    Check(false, name, value.status().message());
    return Value();
  }

  // An empty list, for going on.
  static const Json& nothing();

 private:
  absl::Status status_;
};

}  // namespace wavetune

#endif  // WAVETUNE_LAUNCH_LAUNCH_JSON_READER_H_
