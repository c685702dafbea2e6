// How FleetTables has another node's table serve here.
#include <algorithm>
#include <set>
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
  // One that may not serve here yet is not fetched with each try, nor is one
  // that served here before.
  if (Sha256Hex(state.fetched) == digest) return state.fetched;
  if (const auto known = options_.tables->Get(digest); known.ok())
    return std::string(known->table->payload());
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
    const FleetHead& head, const std::string& signer,
    const std::string& payload) const {
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
  record.by = signer;
  record.why = head.why;
  record.compiler = head.compiler;
  record.carried_from = head.carried_from;
  record.fit_residual = head.fit_residual;
  return record;
}

absl::StatusOr<TableCatalog::RolledBack> FleetTables::Serve(
    const std::string& key, const State& state, const EntryVerdict& judged,
    PromotionKind how) {
  const FleetHead& head = judged.head->head;
  RETURN_IF_ERROR(CheckNotWithdrawn(state, head));
  ASSIGN_OR_RETURN(const std::string payload, Fetch(key, state, head));
  absl::StatusOr<TableRecord> record = RecordOf(head, judged.signer, payload);
  if (absl::IsDataLoss(record.status()) ||
      absl::IsInvalidArgument(record.status()))
    RefuseFor(key, &Counts::refused_payload);
  RETURN_IF_ERROR(record.status());
  const bool on_trial = how == PromotionKind::kTrial;
  if (on_trial) {
    record->how = how;
    record->why = absl::StrCat("on trial: ", head.why);
  }
  // What it has under an environment that no device has any more serves on
  // under this one: one entry for each table. A trial may be taken back.
  const auto environments = EnvironmentsOf(head.key.silicon_key);
  const auto is_outdated = [&](const TableRecord& other) {
    return !on_trial && std::none_of(environments.begin(), environments.end(),
                                     [&](const std::string& environment) {
                                       return other.IsFor(environment) &&
                                              !record->IsFor(environment);
                                     });
  };
  const bool served = ServingOf(head).has_value();
  ASSIGN_OR_RETURN(const TableCatalog::RolledBack imported,
                   options_.tables->Import(*record, payload, is_outdated));
  if (served) return imported;  // On trial.
  Count(&Counts::adopted);
  const bool replaces = on_trial && state.accepted;
  options_.adopted(head.key, head.digest,
                   replaces ? state.accepted->head.digest : "");
  return imported;
}

absl::Status FleetTables::CheckNotWithdrawn(const State& state,
                                            const FleetHead& head) {
  if (!state.withdrawn_left_out) return absl::OkStatus();
  const std::string place = WithdrawalKey(head.key, head.digest);
  const auto entry = options_.registry->Get(place);
  if (absl::IsNotFound(entry.status())) return absl::OkStatus();
  RETURN_IF_ERROR(entry.status());
  const auto read = ReadWithdrawal(place, entry->value);
  if (!read.ok()) return absl::OkStatus();
  const auto withdrawal = Trusted(*read);
  if (!withdrawal.ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the fleet's table was withdrawn: ", TextOf(*withdrawal)));
}

absl::Status FleetTables::Adopt(const std::string& key, const State& state) {
  const FleetHead& head = state.judged.head->head;
  const std::string& bytes = state.registered->value;
  // Its own, or one that it had before it was restarted. What was on trial is
  // the class's from now on.
  if (const auto serves = ServingOf(head);
      serves && serves->how != PromotionKind::kTrial) {
    return Accept(key, *state.judged.head,
                  {.bytes = bytes, .table_epoch = serves->epoch});
  }
  ASSIGN_OR_RETURN(const TableCatalog::RolledBack imported,
                   Serve(key, state, state.judged, PromotionKind::kFleet));
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
  return Accept(key, *state.judged.head,
                {.bytes = bytes, .table_epoch = imported.table.epoch});
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
