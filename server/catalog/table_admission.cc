#include "server/catalog/table_admission.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "model/table/kernel_match.h"
#include "server/catalog/wrong_tables.h"

namespace wavetune {
namespace {

int32_t LargestPortfolioOf(const Table& table) {
  size_t size = 0;
  for (const SubTable& sub : table.sub_tables)
    size = std::max(size, sub.portfolio.size());
  return static_cast<int32_t>(size);
}

}  // namespace

absl::StatusOr<DeviceFacts> TableAdmission::DeviceOf(const Table& table) const {
  std::set<std::string> silicons;
  const std::vector<DeviceFacts> devices =
      AttachedElseSeen(devices_->List(), [&](const DeviceFacts& device) {
        silicons.insert(SiliconKey(device));
        return SiliconKey(device) == table.silicon_key;
      });
  if (!devices.empty()) return devices.front();
  return absl::NotFoundError(absl::StrCat(
      "the table is of ", table.silicon_key,
      ", and no device of that was ever attached here; there ",
      silicons.empty()
          ? "was none at all"
          : absl::StrCat("were:\n  ", absl::StrJoin(silicons, "\n  "))));
}

absl::StatusOr<TableRecord> TableAdmission::RecordOf(const Table& table) const {
  return RecordOf(table, {table.kernel, table.fingerprint, table.silicon_key,
                          table.environment_key});
}

absl::StatusOr<TableRecord> TableAdmission::RecordOf(
    const Table& table, const ProfileKey& key) const {
  ASSIGN_OR_RETURN(const DeviceFacts device, DeviceOf(table));
  ASSIGN_OR_RETURN(const auto kernel, kernels_->Get(table.kernel, device));
  RETURN_IF_ERROR(CheckChoices(kernel->spec, table, &device));
  TableRecord record{.key = key};
  ProfileKey measured = key;
  measured.environment_key = table.environment_key;
  for (const ProfileKey& samples : {key, measured}) {
    ASSIGN_OR_RETURN(const std::optional<std::string> wrong,
                     WhyWrong(*samples_, samples, table));
    if (!wrong) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the table must not serve: a profile here found its choice wrong: ",
        *wrong));
  }
  record.promoted_at_us = clock_->NowUs();
  record.portfolio_size = LargestPortfolioOf(table);
  record.device_label = device.label;
  return record;
}

absl::Status TableAdmission::CheckAsKnown(const Table& table) const {
  const absl::StatusOr<DeviceFacts> device = DeviceOf(table);
  if (!device.ok()) return absl::OkStatus();
  const auto kernel = kernels_->Get(table.kernel, *device);
  if (!kernel.ok() || !IsComparable((*kernel)->spec, table))
    return absl::OkStatus();
  return CheckChoices((*kernel)->spec, table, &*device);
}

}  // namespace wavetune
