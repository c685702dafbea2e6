#include "server/catalog/table_admission.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/table/kernel_match.h"
#include "server/catalog/rollback.h"
#include "server/catalog/wrong_tables.h"

namespace wavetune {
namespace {

int32_t LargestPortfolioOf(const Table& table) {
  size_t size = 0;
  for (const SubTable& sub : table.sub_tables)
    size = std::max(size, sub.portfolio.size());
  return static_cast<int32_t>(size);
}

// Whether something answers for the kernel on that silicon, or was withdrawn
// there: no older table takes the place of that.
bool HasOther(const TableSnapshot& snapshot, const TableRecord& record) {
  const auto is_other = [&](const ServingTable& table) {
    return table.record.key.kernel == record.key.kernel &&
           table.record.key.silicon_key == record.key.silicon_key;
  };
  return std::any_of(snapshot.tables.begin(), snapshot.tables.end(),
                     is_other) ||
         std::any_of(snapshot.withdrawn.begin(), snapshot.withdrawn.end(),
                     is_other);
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

void TableAdmission::LeaveOutIllegal(
    TableCatalog* tables,
    const std::function<void(const std::string&)>& warn) const {
  std::vector<TableRecord> left_out;
  for (const auto serving = tables->snapshot();
       const ServingTable& table : serving->tables) {
    const absl::Status legal = CheckAsKnown(table.table->table());
    if (legal.ok()) continue;
    tables->LeaveOut(table.record, legal);
    left_out.push_back(table.record);
  }
  // When all of them are out: what serves beside them is legal.
  for (const TableRecord& illegal : left_out) {
    if (HasOther(*tables->snapshot(), illegal)) continue;
    const absl::Status served = ServeTheOneBefore(illegal, tables);
    if (served.ok() || absl::IsNotFound(served)) continue;
    warn(absl::StrCat("what served before table ", illegal.digest,
                      " of kernel ", illegal.key.kernel,
                      " does not serve again: ", served.message()));
  }
}

absl::Status TableAdmission::ServeTheOneBefore(const TableRecord& illegal,
                                               TableCatalog* tables) const {
  ASSIGN_OR_RETURN(
      std::vector<TableRecord> history,
      tables->History(illegal.key.kernel, illegal.key.silicon_key));
  const auto forget = [&](const std::string& digest) {
    std::erase_if(history, [&](const TableRecord& entry) {
      return entry.digest == digest;
    });
  };
  forget(illegal.digest);
  while (true) {
    ASSIGN_OR_RETURN(const TableRecord target,
                     RollbackTarget(history, /*serving=*/{}, /*digest=*/""));
    if (CheckStored(target, *tables).ok()) {
      return tables
          ->RollBack(target, kDaemonUser,
                     absl::StrCat("table ", ShortDigest(illegal.digest),
                                  " must not serve"),
                     clock_->NowUs())
          .status();
    }
    forget(target.digest);
  }
}

absl::Status TableAdmission::CheckStored(const TableRecord& record,
                                         const TableCatalog& tables) const {
  ASSIGN_OR_RETURN(const ServingTable stored, tables.Get(record.digest));
  RETURN_IF_ERROR(CheckAsKnown(stored.table->table()));
  return CheckMayServeAgain(*samples_, record, stored.table->table());
}

}  // namespace wavetune
