// Tables from other nodes, and the end of one.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/decide/compiled_table.h"
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

}  // namespace

absl::Status TableAdmin::Import(const v1::ImportTableRequest& request,
                                const std::string& by,
                                v1::ImportTableResponse* response) {
  RETURN_IF_ERROR(CheckReason(request.reason()));
  ASSIGN_OR_RETURN(const std::shared_ptr<const CompiledTable> compiled,
                   DecodeImported(request.payload()));
  ASSIGN_OR_RETURN(TableRecord record, admission_.RecordOf(compiled->table()));
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

std::string TableAdmin::AnswersFor(const TableRecord& table) const {
  const std::vector<DeviceFacts> devices = AttachedElseSeen(
      options_.devices->List(), [&](const DeviceFacts& device) {
        return SiliconKey(device) == table.key.silicon_key;
      });
  for (const DeviceFacts& device : devices) {
    const auto match = lookup_.Find(table.key.kernel, device.uuid, "");
    if (match.ok() && match->serving.record.key == table.key)
      return device.uuid;
  }
  return "";
}

absl::StatusOr<std::vector<TableRecord>> TableAdmin::ToRetire(
    const v1::RetireTableRequest& request,
    std::vector<TableRecord> tables) const {
  const std::string name =
      absl::StrCat("table ", ShortDigest(tables.front().digest), " of kernel ",
                   tables.front().key.kernel);
  if (!request.device_uuid().empty()) {
    ASSIGN_OR_RETURN(const DeviceFacts device,
                     options_.devices->Facts(request.device_uuid()));
    std::erase_if(tables, [&](const TableRecord& table) {
      return table.key.silicon_key != SiliconKey(device) ||
             !table.IsFor(EnvironmentKey(device));
    });
    if (tables.empty()) {
      return absl::NotFoundError(
          absl::StrCat(name, " does not serve for device ", device.uuid));
    }
  }
  if (request.although_it_serves()) return tables;
  std::string device;
  std::erase_if(tables, [&](const TableRecord& table) {
    const std::string answers_for = AnswersFor(table);
    if (device.empty()) device = answers_for;
    return !answers_for.empty();
  });
  if (!tables.empty()) return tables;
  return absl::FailedPreconditionError(absl::StrCat(
      name, " is what answers for device ", device,
      ": without it an older one does, or the default. wavetune tables retire "
      "--although-it-serves ends it all the same"));
}

absl::Status TableAdmin::Retire(const v1::RetireTableRequest& request,
                                const std::string& by,
                                v1::RetireTableResponse* response) {
  RETURN_IF_ERROR(CheckReason(request.reason()));
  ASSIGN_OR_RETURN(const std::vector<TableRecord> ended,
                   options_.tables->RetireByDigest(
                       request.digest(), by, request.reason(),
                       [&](std::vector<TableRecord> tables) {
                         return ToRetire(request, std::move(tables));
                       }));
  for (const TableRecord& table : ended) {
    *response->add_ended() = InfoOf(table);
  }
  return absl::OkStatus();
}

}  // namespace wavetune
