// How FleetTables has another node's table serve here.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/decide/compiled_table.h"
#include "server/fleet/fleet_tables.h"

namespace wavetune {
namespace {

// Clocks of a cluster that differ so much are worth a word.
constexpr std::chrono::minutes kClockSlack{5};

}  // namespace

absl::StatusOr<std::string> FleetTables::Fetch(const std::string& key,
                                               const State& state,
                                               const FleetHead& head) {
  const std::string& digest = head.digest;
  // One that may not serve here yet is not fetched with each try.
  if (Sha256Hex(state.fetched) == digest) return state.fetched;
  const auto blob = options_.registry->Get(BlobKey(head.key, digest),
                                           FleetRegistry::kMaxValueBytes);
  if (absl::IsNotFound(blob.status())) {
    // It may have gone since, with a head that is the fleet's no longer.
    RETURN_IF_ERROR(LookAgain(key, state));
    RefuseFor(key, &Counts::refused_payload);
    return absl::NotFoundError(absl::StrCat(
        "the fleet's registry has no payload of table ", ShortDigest(digest)));
  }
  RETURN_IF_ERROR(blob.status());
  if (Sha256Hex(blob->value) != digest) {
    RefuseFor(key, &Counts::refused_payload);
    return absl::DataLossError(
        absl::StrCat("the payload of table ", ShortDigest(digest),
                     " in the fleet's registry does not have that digest"));
  }
  const std::lock_guard lock(mutex_);
  heads_[key].fetched = blob->value;
  return blob->value;
}

absl::StatusOr<TableRecord> FleetTables::RecordOf(
    const Judgement& judged, const std::string& payload) const {
  const FleetHead& head = judged.head->head;
  ASSIGN_OR_RETURN(const auto table, CompiledTable::Create(payload));
  const Table& content = table->table();
  ProfileKey measured = head.key;
  if (!head.carried_from.empty()) measured.environment_key = head.carried_from;
  if (ProfileKey{content.kernel, content.fingerprint, content.silicon_key,
                 content.environment_key} != measured) {
    return absl::DataLossError(
        absl::StrCat("table ", ShortDigest(head.digest),
                     " is of another kernel or class than its head says"));
  }
  ASSIGN_OR_RETURN(TableRecord record,
                   options_.admission->RecordOf(content, head.key));
  record.how =
      head.rolled_back ? PromotionKind::kRolledBack : PromotionKind::kFleet;
  record.by = judged.signer;
  record.why = head.why;
  record.compiler = head.compiler;
  record.carried_from = head.carried_from;
  record.fit_residual = head.fit_residual;
  return record;
}

absl::StatusOr<TableCatalog::RolledBack> FleetTables::Serve(
    const std::string& key, const State& state, const Judgement& judged) {
  const FleetHead& head = judged.head->head;
  ASSIGN_OR_RETURN(const std::string payload, Fetch(key, state, head));
  absl::StatusOr<TableRecord> record = RecordOf(judged, payload);
  if (absl::IsDataLoss(record.status()) ||
      absl::IsInvalidArgument(record.status()))
    RefuseFor(key, &Counts::refused_payload);
  RETURN_IF_ERROR(record.status());
  ASSIGN_OR_RETURN(const TableCatalog::RolledBack imported,
                   options_.tables->Import(*record, payload));
  Count(&Counts::adopted);
  options_.adopted(head.key, head.digest);
  return imported;
}

absl::Status FleetTables::Adopt(const std::string& key, const State& state) {
  const FleetHead& head = state.judged.head->head;
  const std::string& bytes = state.registered->value;
  // Its own, or one that it had before it was restarted.
  if (const auto serves = ServingOf(head))
    return Accept(key, *state.judged.head, {bytes, serves->epoch});
  ASSIGN_OR_RETURN(const TableCatalog::RolledBack imported,
                   Serve(key, state, state.judged));
  // Heads are in order without clocks; what people read of times is not.
  const std::chrono::microseconds ahead(head.published_at_us -
                                        options_.clock->NowUs());
  if (ahead > kClockSlack) {
    options_.log(
        true,
        absl::StrCat(
            "node ", head.node, " published kernel ", head.key.kernel, " ",
            std::chrono::duration_cast<std::chrono::minutes>(ahead).count(),
            " minutes from now: its clock is wrong, or this node's is"));
  }
  // What a job here promoted since, also while this was under way.
  std::vector<TableRecord> lost = imported.ended;
  for (const auto current = options_.tables->snapshot();
       const ServingTable& table : current->tables) {
    if (HeadKey(table.record.key) == key) lost.push_back(table.record);
  }
  for (const TableRecord& table : lost) {
    if (table.measured_here() && table.epoch > state.stored.table_epoch &&
        table.epoch < imported.table.epoch)
      RETURN_IF_ERROR(KeepAsCandidate(table, head));
  }
  return Accept(key, *state.judged.head, {bytes, imported.table.epoch});
}

absl::Status FleetTables::KeepAsCandidate(const TableRecord& own,
                                          const FleetHead& winner) {
  ASSIGN_OR_RETURN(const ServingTable table, options_.tables->Get(own.digest));
  RETURN_IF_ERROR(options_.tables->Reject(
      {.record = own,
       .reason =
           absl::StrCat("node ", winner.node, " published table ",
                        ShortDigest(winner.digest), " for the fleet before it"),
       .at_us = options_.clock->NowUs()},
      std::string(table.table->payload())));
  Count(&Counts::lost);
  options_.lost(own, winner);
  return absl::OkStatus();
}

}  // namespace wavetune
