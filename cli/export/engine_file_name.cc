#include "cli/export/engine_file_name.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/printable_text.h"
#include "base/status_macros.h"

namespace wavetune::cli {
namespace {

constexpr size_t kMaxFileName = 255;  // Bytes; of every common file system.

// A character of UTF-8 text and the bytes that it takes.
struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
};

// Returns the character at the beginning of UTF-8 text that is not empty.
Character FirstCharacter(absl::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  uint32_t code = first & (uint32_t{0xff} >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  return {code, bytes};
}

// What Python's \s takes.
bool IsSpace(uint32_t code) {
  return (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x20) ||
         code == 0x85 || code == 0xa0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
         code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

absl::Status NameFault(absl::string_view device_name, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("device name \"", absl::string_view(device_name), "\" ", why,
                   "; give the name that the engine's process sees "
                   "(torch.cuda.get_device_name()) with --device-name"));
}

absl::Status CheckDeviceName(absl::string_view name) {
  if (name.empty()) return NameFault(name, "is empty");
  if (!IsUtf8(name)) return NameFault(PrintableText(name), "is not UTF-8");
  for (absl::string_view rest = name; !rest.empty();) {
    const Character character = FirstCharacter(rest);
    const uint32_t code = character.code;
    if ((code < 0x20 || code == 0x7f) && !IsSpace(code))
      return NameFault(name, "has control characters");
    rest.remove_prefix(character.bytes);
  }
  return absl::OkStatus();
}

// Blanks and slashes, however many in a row, become one underscore.
std::string WithoutBlanksAndSlashes(absl::string_view name) {
  std::string result;
  bool replaced = false;
  while (!name.empty()) {
    const Character character = FirstCharacter(name);
    const bool replace = IsSpace(character.code) || character.code == '/';
    if (!replace) {
      absl::StrAppend(&result, name.substr(0, character.bytes));
    } else if (!replaced) {
      result += '_';
    }
    replaced = replace;
    name.remove_prefix(character.bytes);
  }
  return result;
}

std::string WithoutBlanks(absl::string_view name) {
  return absl::StrReplaceAll(name, {{" ", "_"}});
}

// Every board of the H200 family has one file; a GH200 is none.
std::string WithH200Folded(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '_');
  const bool h200 =
      std::find(parts.begin(), parts.end(), "H200") != parts.end();
  return h200 ? "NVIDIA_H200" : name;
}

// `width`: of a row of the second product's weights as the engine counts it;
// `separator`: between the numbers of a block shape.
std::string NameWith(const EngineFileKey& key, int64_t width,
                     absl::string_view device, absl::string_view separator) {
  std::string name =
      absl::StrCat("E=", key.experts, ",N=", width, ",device_name=", device);
  if (!key.dtype.empty()) absl::StrAppend(&name, ",dtype=", key.dtype);
  if (!key.block_shape.empty()) {
    absl::StrAppend(&name, ",block_shape=[",
                    absl::StrJoin(key.block_shape, separator), "]");
  }
  return name;
}

absl::Status CheckLength(const std::string& path) {
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.size() <= kMaxFileName) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the engine would look for a file whose name has ",
                     part.size(), " bytes, and file systems allow ",
                     kMaxFileName, ": the device name is too long"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Checked(std::string path) {
  RETURN_IF_ERROR(CheckLength(path));
  return path;
}

// SGLang looks through all folders of other versions, and sorts them as
// numbers: one that is none is an exception of the engine.
absl::Status CheckTritonVersion(absl::string_view version) {
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  const bool numbers =
      std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
        return !part.empty() && part.size() < 9 &&
               part.find_first_not_of("0123456789") == std::string::npos;
      });
  if (numbers) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", version,
      "\" is no version of Triton as SGLang takes it: numbers with dots, as "
      "`python -c 'import triton; print(triton.__version__)'` prints. SGLang "
      "sorts the folders of versions as numbers, so that a suffix (3.6.0+git) "
      "in one of them would stop it"));
}

}  // namespace

absl::StatusOr<std::string> VllmFileName(const EngineFileKey& key) {
  RETURN_IF_ERROR(CheckDeviceName(key.device_name));
  return Checked(absl::StrCat(
      NameWith(key, key.intermediate,
               WithH200Folded(WithoutBlanksAndSlashes(key.device_name)), ","),
      ".json"));
}

absl::StatusOr<std::vector<std::string>> OlderVllmFileNames(
    const EngineFileKey& key) {
  ASSIGN_OR_RETURN(const std::string present, VllmFileName(key));
  const std::string blanks = WithoutBlanks(key.device_name);
  std::vector<std::string> names;
  for (const std::string& device : {WithH200Folded(blanks), blanks}) {
    const std::string name =
        absl::StrCat(NameWith(key, key.intermediate, device, ","), ".json");
    if (name != present &&
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  return names;
}

absl::StatusOr<std::string> SglangFilePath(const EngineFileKey& key,
                                           absl::string_view triton_version) {
  RETURN_IF_ERROR(CheckDeviceName(key.device_name));
  RETURN_IF_ERROR(CheckTritonVersion(triton_version));
  const std::string device = WithoutBlanks(key.device_name);
  const std::vector<std::string> folders = absl::StrSplit(device, '/');
  if (std::find(folders.begin(), folders.end(), "..") != folders.end())
    return NameFault(key.device_name, "leads out of the folder");
  // Two numbers of four bits are one element, and SGLang counts elements; vLLM
  // counts them twice.
  const int64_t width =
      key.dtype == "int4_w4a16" ? key.intermediate / 2 : key.intermediate;
  return Checked(absl::StrCat(
      "configs/triton_", absl::StrReplaceAll(triton_version, {{".", "_"}}), "/",
      NameWith(key, width, device, ", "),
      key.per_channel_quant ? ",per_channel_quant=True" : "",
      key.down ? "_down" : "", ".json"));
}

bool SameDeviceName(absl::string_view a, absl::string_view b) {
  return WithH200Folded(WithoutBlanksAndSlashes(a)) ==
         WithH200Folded(WithoutBlanksAndSlashes(b));
}

}  // namespace wavetune::cli
