// How FleetTables writes heads and their payloads.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/fleet/fleet_tables.h"
#include "server/fleet/fleet_writes.h"

namespace wavetune {

absl::StatusOr<std::vector<FleetWrite>> FleetTables::PayloadWrites(
    const State& state, const FleetHead& head) {
  ASSIGN_OR_RETURN(
      FleetListing blobs,
      options_.registry->List(BlobsPrefix(head.key), {.entry_bytes = 0}));
  // The one that is replaced is first to be kept, then what came last.
  const std::string own = BlobKey(head.key, head.digest);
  const std::string before =
      state.judged.head ? BlobKey(head.key, state.judged.head->head.digest)
                        : "";
  std::sort(blobs.entries.begin(), blobs.entries.end(),
            [&](const FleetEntry& a, const FleetEntry& b) {
              return std::pair(a.key == before, a.revision) >
                     std::pair(b.key == before, b.revision);
            });
  bool there = false;
  size_t kept = 1;
  std::vector<FleetWrite> writes;
  for (const FleetEntry& blob : blobs.entries) {
    if (blob.key == own) {
      const auto payload =
          options_.registry->Get(own, FleetRegistry::kMaxValueBytes);
      there = payload.ok() && Sha256Hex(payload->value) == head.digest;
    } else if (kept < kPayloadsKept) {
      ++kept;
    } else if (writes.size() + 3 < FleetRegistry::kMaxWrites) {
      writes.push_back({.key = blob.key, .value = std::nullopt});
    }
  }
  if (there) return writes;
  ASSIGN_OR_RETURN(const ServingTable table, options_.tables->Get(head.digest));
  writes.push_back({.key = own, .value = std::string(table.table->payload())});
  return writes;
}

absl::Status FleetTables::LookAgain(const std::string& key,
                                    const State& state) {
  const auto now = options_.registry->Get(key, kMostHeadBytes);
  if (!now.ok() && !absl::IsNotFound(now.status())) return now.status();
  const int64_t revision = now.ok() ? now->revision : 0;
  if (revision == RevisionOf(state.registered)) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  SetRegistered(heads_[key], state,
                now.ok() ? std::optional(*now) : std::nullopt);
  return FleetEntryChanged(key);
}

void FleetTables::SetRegistered(State& now, const State& before,
                                std::optional<FleetEntry> entry) {
  if (RevisionOf(now.registered) == RevisionOf(before.registered))
    now.registered = std::move(entry);
}

absl::Status FleetTables::Write(const std::string& key, const State& state,
                                const FleetHead& head, const std::string& bytes,
                                std::optional<FleetWrite> order) {
  ASSIGN_OR_RETURN(std::vector<FleetWrite> writes, PayloadWrites(state, head));
  if (order) writes.push_back(*std::move(order));
  writes.push_back(
      {.key = key, .value = bytes, .expected = RevisionOf(state.registered)});
  // What is left of a rollout goes with the next head.
  if (IsHalted(state)) {
    writes.push_back(
        {.key = RolloutPlace(head.key), .expected = state.trial.revision});
  }
  const auto revision = options_.registry->Commit(writes);
  if (absl::IsAborted(revision.status()))
    RETURN_IF_ERROR(LookAgain(key, state));
  RETURN_IF_ERROR(revision.status());
  const std::lock_guard lock(mutex_);
  SetRegistered(heads_[key], state, FleetEntry{key, bytes, *revision});
  return absl::OkStatus();
}

absl::StatusOr<FleetTables::NewHead> FleetTables::MakeHead(
    const TableRecord& table, const HeadFacts& facts, const std::string& why,
    const std::vector<FleetHead>& before, bool rolled_back) const {
  RETURN_IF_ERROR(CheckHasKey());
  NewHead made{.head = {{.fleet = options_.fleet,
                         .key = table.key,
                         .digest = table.digest,
                         .epoch = NextFleetEpoch(facts),
                         .carried_from = table.carried_from,
                         .compiler = table.compiler,
                         .fit_residual = table.fit_residual,
                         .node = options_.node,
                         .published_at_us = options_.clock->NowUs(),
                         .why = why,
                         .rolled_back = rolled_back,
                         .before = before},
                        options_.key->public_key()}};
  if (made.head.head.epoch > kMostFleetEpoch) {
    return absl::FailedPreconditionError(
        "the fleet's head has the last epoch that there is: somebody's key was "
        "misused; revoke it (docs/fleet.md)");
  }
  RETURN_IF_ERROR(CheckMaySign(made.head.head));
  made.bytes = SignHead(made.head.head, *options_.key);
  return made;
}

absl::Status FleetTables::CheckHasKey() const {
  if (options_.key) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this node has no key to publish a table with (--fleet-key)");
}

absl::Status FleetTables::CheckMaySign(const FleetHead& head) const {
  RETURN_IF_ERROR(CheckHasKey());
  // Who is not trusted here would publish what this node itself refuses.
  return options_.trust
      .Check(options_.key->public_key(), options_.node, head.key.silicon_key)
      .status();
}

std::vector<FleetHead> FleetTables::BeforeIn(const HeadFacts& facts,
                                             const std::string& digest) {
  for (const auto* head : {&facts.registered, &facts.accepted}) {
    if (*head) return BeforeOf(**head, digest);
  }
  if (facts.lapsed && !facts.misused) return BeforeOf(*facts.lapsed, digest);
  return {};
}

absl::Status FleetTables::Publish(const std::string& key, const State& state,
                                  const HeadFacts& facts,
                                  const TableRecord& own) {
  ASSIGN_OR_RETURN(const NewHead made,
                   MakeHead(own, facts, own.why, BeforeIn(facts, own.digest),
                            /*rolled_back=*/false));
  ASSIGN_OR_RETURN(const RolloutPlan plan,
                   options_.rollout_of(own.key, own.digest));
  if (!plan.stages.empty())
    return BeginRollout(key, state, made.head.head, plan);
  const HeadPlace place = PlaceOf(key);
  RETURN_IF_ERROR(Write(key, state, made.head.head, made.bytes,
                        FreezeAbsent(place.fleet_class, place.kernel)));
  Count(&Counts::published);
  return Accept(key, made.head,
                {.bytes = made.bytes, .table_epoch = own.epoch});
}

absl::Status FleetTables::SignAnew(const std::string& key, const State& state,
                                   const HeadFacts& facts) {
  RETURN_IF_ERROR(LookAgain(key, state));
  const FleetHead& lapsed = *facts.lapsed;
  const std::optional<TableRecord> serving = ServingOf(lapsed);
  if (!serving) return absl::OkStatus();
  TableRecord table = *serving;
  table.key = lapsed.key;
  table.carried_from = lapsed.carried_from;
  ASSIGN_OR_RETURN(
      const NewHead made,
      MakeHead(table, facts, lapsed.why, lapsed.before, lapsed.rolled_back));
  RETURN_IF_ERROR(Write(key, state, made.head.head, made.bytes));
  Count(&Counts::restored);
  options_.log(
      false, absl::StrCat("table ", ShortDigest(table.digest), " of kernel ",
                          table.key.kernel, ", which key ",
                          ShortDigest(state.lapsed->public_key),
                          " had signed before it was revoked, is signed anew"));
  return Accept(key, made.head,
                {.bytes = made.bytes, .table_epoch = serving->epoch});
}

absl::Status FleetTables::Restore(const std::string& key, const State& state) {
  // Many nodes have it: what one wrote before is seen at once.
  RETURN_IF_ERROR(LookAgain(key, state));
  if (state.judged.verdict == HeadVerdict::kGood) {
    RefuseFor(key, &Counts::refused_replayed);
    SetBehind(key, absl::StrCat("the fleet's head has epoch ",
                                state.judged.head->head.epoch,
                                ", this node has accepted epoch ",
                                state.accepted->head.epoch));
  }
  const absl::Status written =
      Write(key, state, state.accepted->head, state.stored.bytes);
  // Without its payload nobody could adopt it: a node that has it does that.
  if (absl::IsNotFound(written)) return absl::OkStatus();
  RETURN_IF_ERROR(written);
  Count(&Counts::restored);
  return absl::OkStatus();
}

}  // namespace wavetune
