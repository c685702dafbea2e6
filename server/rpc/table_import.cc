// Tables from other nodes, and the end of one.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/kernel_space.h"
#include "server/catalog/wrong_tables.h"
#include "server/jobs/incumbent.h"
#include "server/rpc/table_admin.h"

namespace wavetune {
namespace {

// Whatever is the matter with it, it is the request that is wrong.
absl::StatusOr<std::shared_ptr<const CompiledTable>> DecodeImported(
    const std::string& payload) {
  absl::StatusOr<std::unique_ptr<const CompiledTable>> table =
      CompiledTable::Create(payload);
  if (table.ok()) return std::shared_ptr(*std::move(table));
  return absl::InvalidArgumentError(
      absl::StrCat("what was sent is no table: ", table.status().message(),
                   ". wavetune tables export writes one"));
}

// Whether every choice of the table is one that the kernel can launch.
absl::Status CheckChoices(const KernelSpec& spec, const Table& table) {
  if (!IsComparable(spec, table)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the table is of another version of kernel ", spec.name,
        ": its parameters or dimensions are not those of the manifest here"));
  }
  for (const SubTable& sub : table.sub_tables) {
    for (const TableCandidate& candidate : sub.portfolio) {
      if (HasDeclaredValues(spec, candidate.configuration)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the table chooses ",
                       FormatConfiguration(spec, candidate.configuration),
                       ", which the manifest of kernel ", spec.name,
                       " does not declare here"));
    }
  }
  return absl::OkStatus();
}

int32_t LargestPortfolioOf(const Table& table) {
  size_t size = 0;
  for (const SubTable& sub : table.sub_tables)
    size = std::max(size, sub.portfolio.size());
  return static_cast<int32_t>(size);
}

}  // namespace

absl::StatusOr<DeviceFacts> TableAdmin::DeviceOf(const Table& table) const {
  std::set<std::string> silicons;
  const std::vector<DeviceFacts> devices = AttachedElseSeen(
      options_.devices->List(), [&](const DeviceFacts& device) {
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

absl::Status TableAdmin::Import(const v1::ImportTableRequest& request,
                                const std::string& by,
                                v1::ImportTableResponse* response) {
  RETURN_IF_ERROR(CheckReason(request.reason()));
  ASSIGN_OR_RETURN(const std::shared_ptr<const CompiledTable> compiled,
                   DecodeImported(request.payload()));
  const Table& table = compiled->table();
  ASSIGN_OR_RETURN(const DeviceFacts device, DeviceOf(table));
  ASSIGN_OR_RETURN(const auto kernel,
                   options_.kernels->Get(table.kernel, device));
  RETURN_IF_ERROR(CheckChoices(kernel->spec, table));
  TableRecord record{.key = {table.kernel, table.fingerprint, table.silicon_key,
                             table.environment_key}};
  ASSIGN_OR_RETURN(const std::optional<std::string> wrong,
                   WhyWrong(*options_.samples, record.key, table));
  if (wrong) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the table must not serve: a profile here found its choice wrong: ",
        *wrong));
  }
  record.promoted_at_us = options_.clock->NowUs();
  record.portfolio_size = LargestPortfolioOf(table);
  record.device_label = device.label;
  record.how = PromotionKind::kImported;
  record.by = by;
  record.why = request.reason();
  record.unverified = !request.trust();
  ASSIGN_OR_RETURN(const TableCatalog::RolledBack result,
                   options_.tables->Import(record, request.payload()));
  *response->mutable_table() = InfoOf(result.table);
  for (const TableRecord& ended : result.ended) {
    *response->add_ended() = InfoOf(ended);
  }
  return absl::OkStatus();
}

absl::Status TableAdmin::Retire(const v1::RetireTableRequest& request,
                                const std::string& by,
                                v1::RetireTableResponse* response) {
  RETURN_IF_ERROR(CheckReason(request.reason()));
  ASSIGN_OR_RETURN(
      const std::vector<TableRecord> ended,
      options_.tables->RetireByDigest(request.digest(), by, request.reason()));
  for (const TableRecord& table : ended) {
    *response->add_ended() = InfoOf(table);
  }
  return absl::OkStatus();
}

}  // namespace wavetune
