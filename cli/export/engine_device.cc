#include "cli/export/engine_device.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "cli/export/engine_file_name.h"

namespace wavetune::cli {
namespace {

// Refuses a name of another device than the one that was measured.
absl::Status CheckDevice(const std::string& name, const ExportedTable& table) {
  const std::string& label = table.source.device;
  if (label.empty() || SameDeviceName(label, name)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the table was measured on \"", label, "\", not on \"", name,
      "\": profile the kernel there, choose another table with --device or "
      "--digest, or say --other-device to export it all the same"));
}

// "80GB" of "NVIDIA H100 80GB HBM3" in MiB; 0 where the name says nothing.
int64_t MemoryOfName(absl::string_view name) {
  for (absl::string_view word : absl::StrSplit(name, ' ')) {
    int32_t gigabytes = 0;
    if (absl::ConsumeSuffix(&word, "GB") && absl::SimpleAtoi(word, &gigabytes))
      return int64_t{gigabytes} * 1024;
  }
  return 0;
}

int64_t MemoryOfSilicon(absl::string_view silicon_key) {
  for (absl::string_view part : absl::StrSplit(silicon_key, ';')) {
    int32_t mib = 0;
    if (absl::ConsumePrefix(&part, "memory_mib=") &&
        absl::SimpleAtoi(part, &mib))
      return mib;
  }
  return 0;
}

// A file of a table has no label; but its key says how much memory there was,
// and many names do. Decimal and binary gigabytes differ by 7 %.
absl::Status CheckMemory(const std::string& name, const ExportedTable& table) {
  const std::string& silicon = table.table().silicon_key;
  const int64_t named = MemoryOfName(name);
  const int64_t measured = MemoryOfSilicon(silicon);
  if (named == 0 || measured == 0 ||
      (measured * 5 > named * 4 && measured * 5 < named * 6))
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the table was measured on another device than \"", name,
      "\": its silicon is ", silicon,
      ". Choose another table, or say --other-device to export it all the "
      "same"));
}

}  // namespace

absl::StatusOr<std::string> EngineDeviceName(const ExportOptions& options,
                                             const ExportedTable& table) {
  const std::string& name =
      options.device_name.empty() ? table.source.device : options.device_name;
  if (name.empty()) {
    return absl::InvalidArgumentError(
        "--device-name is missing: the file's name has the device's, as "
        "torch.cuda.get_device_name() says it where the engine runs, and a "
        "table in a file does not know it");
  }
  if (options.other_device) return name;
  RETURN_IF_ERROR(CheckDevice(name, table));
  RETURN_IF_ERROR(CheckMemory(name, table));
  return name;
}

}  // namespace wavetune::cli
