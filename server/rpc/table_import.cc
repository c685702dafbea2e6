// Tables from other nodes, and the end of one.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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
