// JsonReader: fields of launch.json, with the first fault kept.
//
// Reading goes on after a fault with empty values, so that code reads like the
// format; whoever reads asks status() in the end.
//
// Thread safety: none.
#ifndef WAVETUNE_LAUNCH_LAUNCH_JSON_READER_H_
#define WAVETUNE_LAUNCH_LAUNCH_JSON_READER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/kernel/argument.h"
#include "nlohmann/json.hpp"

namespace wavetune {

// A value, and the word or number that launch.json has for it.
template <typename Value, typename Word>
struct Named {
  Value value;
  Word word;
};

inline constexpr Named<ElementType, const char*> kElementTypes[] = {
    {ElementType::kFloat32, "float32"},
    {ElementType::kInt32, "int32"},
    {ElementType::kInt64, "int64"},
    {ElementType::kBfloat16, "bfloat16"}};

inline constexpr Named<ArgumentRole, const char*> kAccesses[] = {
    {ArgumentRole::kInput, "input"},
    {ArgumentRole::kOutput, "output"},
    {ArgumentRole::kInOut, "inout"},
    {ArgumentRole::kWorkspace, "workspace"}};

inline constexpr Named<Zeroed, const char*> kZeroed[] = {
    {Zeroed::kEveryLaunch, "every_launch"},
    {Zeroed::kOnce, "once"},
    {Zeroed::kNever, "never"}};

inline constexpr Named<TensorMap::Swizzle, int> kSwizzleBytes[] = {
    {TensorMap::Swizzle::kNone, 0},
    {TensorMap::Swizzle::k32Bytes, 32},
    {TensorMap::Swizzle::k64Bytes, 64},
    {TensorMap::Swizzle::k128Bytes, 128}};

// Returns the word of a value that the table has.
template <typename Value, typename Word, size_t kSize>
Word WordOf(const Named<Value, Word> (&table)[kSize], Value value) {
  const auto* const found = std::find_if(
      table, table + kSize - 1, [value](const Named<Value, Word>& known) {
        return known.value == value;
      });
  return found->word;
}

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
  // The value whose word the field has.
  template <typename Value, typename Word, size_t kSize>
  Value OneOf(const Json& json, const char* name,
              const Named<Value, Word> (&table)[kSize]) {
    const Json& given = Get(json, name);
    std::string words;
    for (const auto& [value, word] : table) {
      if (given == Json(word)) return value;
      absl::StrAppend(&words, words.empty() ? "" : ", ", word);
    }
    Check(false, name, absl::StrCat("is none of ", words));
    return table[0].value;
  }

  // The same of a value itself; `name` is where it is.
  std::string TextOf(const Json& value, absl::string_view name);
  int64_t NumberIn(const Json& value, absl::string_view name, int64_t min,
                   int64_t max);

  // An empty list, for going on.
  static const Json& nothing();

 private:
  absl::Status status_;
};

}  // namespace wavetune

#endif  // WAVETUNE_LAUNCH_LAUNCH_JSON_READER_H_
