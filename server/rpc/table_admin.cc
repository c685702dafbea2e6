#include "server/rpc/table_admin.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/catalog/rollback.h"
#include "server/catalog/wrong_tables.h"
#include "server/rpc/record_proto.h"

namespace wavetune {
namespace {

// What serves for a kernel on one silicon.
std::vector<TableRecord> ServingOn(const TableSnapshot& snapshot,
                                   const std::string& kernel,
                                   const std::string& silicon_key) {
  std::vector<TableRecord> serving;
  for (const ServingTable& table : snapshot.tables) {
    if (table.record.key.kernel == kernel &&
        table.record.key.silicon_key == silicon_key) {
      serving.push_back(table.record);
    }
  }
  return serving;
}

}  // namespace

absl::Status TableAdmin::CheckReason(const std::string& reason) {
  if (reason.size() <= kMaxReasonBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a reason has at most ", kMaxReasonBytes, " bytes, not ", reason.size()));
}

TableAdmin::TableAdmin(Options options)
    : options_(std::move(options)),
      lookup_(options_.tables, options_.devices, options_.kernels,
              /*default_faults=*/nullptr),
      staleness_(options_.devices, options_.kernels),
      admission_(options_.devices, options_.kernels, options_.samples,
                 options_.clock) {}

absl::Status TableAdmin::RollBack(const v1::RollBackRequest& request,
                                  const std::string& by,
                                  v1::RollBackResponse* response) {
  RETURN_IF_ERROR(CheckReason(request.reason()));
  ASSIGN_OR_RETURN(const std::string silicon_key,
                   lookup_.SiliconFor(request.kernel(), request.device_uuid(),
                                      request.silicon_key()));
  ASSIGN_OR_RETURN(const std::vector<TableRecord> history,
                   options_.tables->History(request.kernel(), silicon_key));
  ASSIGN_OR_RETURN(const TableRecord target,
                   RollbackTarget(history,
                                  ServingOn(*options_.tables->snapshot(),
                                            request.kernel(), silicon_key),
                                  request.digest(), options_.why_halted));
  ASSIGN_OR_RETURN(const ServingTable table,
                   options_.tables->Get(target.digest));
  RETURN_IF_ERROR(
      CheckMayServeAgain(*options_.samples, target, table.table->table()));
  if (const absl::Status legal = admission_.CheckAsKnown(table.table->table());
      !legal.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("table ", ShortDigest(target.digest),
                     " cannot serve again: ", legal.message()));
  }
  ASSIGN_OR_RETURN(const TableCatalog::RolledBack result,
                   options_.tables->RollBack(target, by, request.reason(),
                                             options_.clock->NowUs()));
  // A job may have found it wrong since the first look.
  ASSIGN_OR_RETURN(
      const std::optional<std::string> wrong_since,
      WhyWrong(*options_.samples, target.key, table.table->table()));
  if (wrong_since) {
    RETURN_IF_ERROR(options_.tables->Withdraw(
        result.table.key, result.table, *wrong_since, options_.clock->NowUs()));
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", ShortDigest(target.digest),
        " was found wrong meanwhile and is withdrawn: ", *wrong_since,
        ": roll back further, or profile"));
  }
  *response->mutable_table() = InfoOf(result.table);
  for (const TableRecord& ended : result.ended) {
    *response->add_ended() = InfoOf(ended);
  }
  return absl::OkStatus();
}

absl::Status TableAdmin::Pin(const v1::PinTableRequest& request,
                             const std::string& by,
                             v1::PinTableResponse* response) {
  RETURN_IF_ERROR(CheckReason(request.reason()));
  ASSIGN_OR_RETURN(std::string silicon_key,
                   lookup_.SiliconFor(request.kernel(), request.device_uuid(),
                                      request.silicon_key()));
  ASSIGN_OR_RETURN(const TableRecord kept,
                   options_.tables->Pin({.kernel = request.kernel(),
                                         .silicon_key = std::move(silicon_key),
                                         .by = by,
                                         .why = request.reason(),
                                         .at_us = options_.clock->NowUs()}));
  *response->mutable_table() = InfoOf(kept);
  options_.events->Record(
      {.kind = EventKind::kPinned,
       .kernel = kept.key.kernel,
       .silicon_key = kept.key.silicon_key,
       .digest = kept.digest,
       .by = by,
       .text = absl::StrCat("table ", ShortDigest(kept.digest), " of kernel ",
                            kept.key.kernel, " is pinned",
                            request.reason().empty() ? "" : ": ",
                            request.reason())});
  return absl::OkStatus();
}

absl::Status TableAdmin::Unpin(const v1::UnpinTableRequest& request,
                               const std::string& by) {
  ASSIGN_OR_RETURN(const std::string silicon_key,
                   lookup_.SiliconFor(request.kernel(), request.device_uuid(),
                                      request.silicon_key()));
  RETURN_IF_ERROR(options_.tables->Unpin(request.kernel(), silicon_key));
  options_.events->Record({.kind = EventKind::kUnpinned,
                           .kernel = request.kernel(),
                           .silicon_key = silicon_key,
                           .by = by,
                           .text = absl::StrCat("kernel ", request.kernel(),
                                                " is not pinned any more")});
  return absl::OkStatus();
}

v1::TableInfo TableAdmin::InfoOf(const TableRecord& table) const {
  v1::TableInfo info = TableRecordToProto(table, staleness_.StaleReason(table));
  info.set_store_id(options_.store_id);
  info.set_pinned(PinText(*options_.tables->snapshot(), table));
  return info;
}

}  // namespace wavetune
