#include "cli/commands/class_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "formats/types.h"
#include "model/kernel/device.h"

namespace wavetune::cli {
namespace {

// Returns the value of a part "name=value" of a key; empty: there is none.
absl::string_view PartOf(absl::string_view key, absl::string_view name) {
  for (absl::string_view part : absl::StrSplit(key, ';')) {
    if (absl::ConsumePrefix(&part, name) && absl::ConsumePrefix(&part, "="))
      return part;
  }
  return "";
}

}  // namespace

std::string EnvironmentText(absl::string_view environment_key) {
  const absl::string_view driver = PartOf(environment_key, "driver");
  if (driver.empty()) return std::string(environment_key);
  const absl::string_view power_w = PartOf(environment_key, "power_w");
  std::string text = absl::StrCat("driver ", driver);
  if (!power_w.empty() && power_w != "0")
    absl::StrAppend(&text, ", ", power_w, " W");
  return text;
}

ClassNames::ClassNames(const v1::ListDevicesResponse& devices,
                       const v1::ListTablesResponse& tables) {
  for (const v1::TableInfo& table : tables.tables()) {
    if (!table.device_label().empty())
      labels_[table.silicon_key()] = table.device_label();
  }
  for (const v1::DeviceStatus& device : devices.devices()) {
    const DeviceFacts facts = DeviceFactsFromProto(device.facts());
    if (!facts.label.empty()) labels_[SiliconKey(facts)] = facts.label;
  }
}

std::string ClassNames::Of(absl::string_view silicon_key,
                           absl::string_view environment_key) const {
  const auto known = labels_.find(std::string(silicon_key));
  const std::string label = known != labels_.end()
                                ? known->second
                                : std::string(PartOf(silicon_key, "arch"));
  const std::string environment = EnvironmentText(environment_key);
  return absl::StrCat(label, label.empty() || environment.empty() ? "" : ", ",
                      environment);
}

}  // namespace wavetune::cli
