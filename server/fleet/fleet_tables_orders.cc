// What operators and other nodes order: a table for the whole fleet, that
// nobody moves it, and that a wrong one serves no longer.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/catalog/rollback.h"
#include "server/fleet/fleet_tables.h"

namespace wavetune {
namespace {

// What a node writes into its own record of a table that another node found
// wrong, so that it does not tell of it as its own finding.
constexpr char kOfFleet[] = "withdrawn by the fleet: ";
// Between two tries to tell what was found wrong here.
constexpr std::chrono::seconds kTellAgain{15};

absl::Status FrozenAlready(const std::string& kernel,
                           const FleetFreeze& freeze) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the fleet's table of kernel ", kernel, " is ", TextOf(freeze),
      ". First: wavetune fleet unfreeze ", kernel));
}

// What an operator may choose from; empty: nothing.
std::string ListOf(const std::vector<FleetHead>& heads) {
  std::string text;
  for (const FleetHead& head : heads) {
    absl::StrAppend(
        &text, text.empty() ? ", of: " : "; ", ShortDigest(head.digest),
        head.epoch == 0
            ? ""
            : absl::StrCat(" (epoch ", head.epoch, ", node ", head.node, ")"));
  }
  return text;
}

// What the class had accepted before a table that it goes back to.
std::vector<FleetHead> BeforeThat(const FleetHead& serving,
                                  const std::string& digest) {
  const auto at = std::find_if(
      serving.before.begin(), serving.before.end(),
      [&](const FleetHead& head) { return head.digest == digest; });
  if (at == serving.before.end()) return BeforeOf(serving, digest);
  return {at + 1, serving.before.end()};
}

}  // namespace

absl::StatusOr<FleetTables::State> FleetTables::StateForOrder(
    const std::string& key) {
  const HeadPlace place = PlaceOf(key);
  const auto freeze =
      options_.registry->Get(FreezeKey(place.fleet_class, place.kernel));
  if (freeze.ok())
    return FrozenAlready(place.kernel, DecodeFreeze(freeze->value));
  if (!absl::IsNotFound(freeze.status())) return freeze.status();
  const auto entry = options_.registry->Get(key, kMostHeadBytes);
  if (!entry.ok() && !absl::IsNotFound(entry.status())) return entry.status();
  State state;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = heads_.find(key); known != heads_.end())
      state = known->second;
  }
  state.registered = entry.ok() ? std::optional(*entry) : std::nullopt;
  state.judged = VerdictOf(key, state.registered);
  if (state.judged.verdict == HeadVerdict::kForeign) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the fleet's head is of a node that this one does not know, and other "
        "nodes may: ",
        state.judged.refused));
  }
  return state;
}

HeadFacts FleetTables::FactsOf(const State& state) {
  HeadFacts facts{.verdict = state.judged.verdict,
                  .rollout_epoch = state.stored.halted_epoch};
  if (state.judged.head) facts.registered = state.judged.head->head;
  if (state.accepted) facts.accepted = state.accepted->head;
  if (state.lapsed) facts.lapsed = state.lapsed->head;
  if (state.trial.rollout) {
    facts.rollout_epoch =
        std::max(facts.rollout_epoch, state.trial.rollout->head.epoch);
  }
  return facts;
}

FleetFreeze FleetTables::FreezeOf(const Order& order,
                                  const std::string& what) const {
  return {.by = order.by,
          .node = options_.node,
          .why = absl::StrCat(what, order.why.empty() ? "" : ": ", order.why),
          .at_us = options_.clock->NowUs()};
}

absl::StatusOr<FleetHead> FleetTables::Publish(const Order& order) {
  const std::string key = HeadKey(order.table.key);
  const HeadPlace place = PlaceOf(key);
  ASSIGN_OR_RETURN(const State state, StateForOrder(key));
  if (const auto wrong = WithdrawalOf(state, order.table.digest)) {
    return absl::FailedPreconditionError(
        absl::StrCat("table ", ShortDigest(order.table.digest),
                     " cannot serve again: ", TextOf(*wrong)));
  }
  HeadFacts facts = FactsOf(state);
  AddLapsed(state, facts);
  if (facts.registered && facts.registered->digest == order.table.digest) {
    return absl::AlreadyExistsError(
        absl::StrCat("table ", ShortDigest(order.table.digest),
                     " is the fleet's, epoch ", facts.registered->epoch));
  }
  ASSIGN_OR_RETURN(
      const NewHead made,
      MakeHead(order.table, facts, order.why,
               order.rolled_back ? order.before
                                 : BeforeIn(facts, order.table.digest),
               order.rolled_back));
  FleetWrite condition = FreezeAbsent(place.fleet_class, place.kernel);
  if (order.rolled_back) {
    condition.value = EncodeFreeze(
        FreezeOf(order, absl::StrCat("rolled back to table ",
                                     ShortDigest(order.table.digest))));
  }
  RETURN_IF_ERROR(
      Write(key, state, made.head.head, made.bytes, std::move(condition)));
  Count(&Counts::published);
  const FleetHead& head = made.head.head;
  options_.log(
      false, absl::StrCat(order.by, " made table ", ShortDigest(head.digest),
                          " the fleet's, ", "kernel ", place.kernel,
                          " of class ", place.fleet_class, ", epoch ",
                          head.epoch, order.rolled_back ? ", and froze it" : "",
                          order.why.empty() ? "" : ": ", order.why));
  return head;
}

absl::StatusOr<FleetTables::Earlier> FleetTables::FindEarlier(
    const std::string& fleet_class, const std::string& kernel,
    const std::string& digest, const std::vector<TableRecord>& history) {
  const std::string key = absl::StrCat(HeadsPrefix(fleet_class), kernel);
  ASSIGN_OR_RETURN(const State state, StateForOrder(key));
  Earlier earlier;
  // What a misused key says of the past is nobody's word.
  const bool misused = !state.judged.head && state.lapsed &&
                       options_.trust.IsMisused(state.lapsed->public_key);
  if (state.judged.head) {
    earlier.serving = state.judged.head->head;
  } else if (state.lapsed) {
    earlier.serving = state.lapsed->head;
    if (misused) earlier.serving.before.clear();
  } else {
    return absl::NotFoundError(
        absl::StrCat("the fleet has no table of kernel ", kernel, " for class ",
                     fleet_class, ", so that there is nothing to roll back"));
  }
  const FleetHead& serving = earlier.serving;
  const bool of_serving =
      digest.empty() || (digest.size() >= kMinDigestPrefix &&
                         absl::StartsWith(serving.digest, digest));
  if (of_serving && state.trial.rollout && !IsHalted(state) &&
      state.trial.rollout->head.epoch > serving.epoch) {
    earlier.head = serving;
    earlier.halts = true;
    return earlier;
  }
  if (digest.empty() && state.stored.halted_epoch > serving.epoch) {
    return absl::AlreadyExistsError(absl::StrCat(
        "the rollout of table ", ShortDigest(state.stored.halted_digest),
        " was halted (", state.stored.halted_why, "), and the fleet serves ",
        "table ", ShortDigest(serving.digest),
        ": there is nothing to roll back. Further back: wavetune fleet "
        "rollback ",
        kernel, " --to DIGEST", ListOf(serving.before)));
  }
  if (digest.empty()) {
    for (const FleetHead& head : serving.before) {
      if (head.digest == serving.digest || WithdrawalOf(state, head.digest))
        continue;
      earlier.head = head;
      earlier.head.before = BeforeThat(serving, head.digest);
      return earlier;
    }
    return absl::NotFoundError(absl::StrCat(
        "the fleet knows of no table of kernel ", kernel,
        " that it served before ", ShortDigest(serving.digest),
        ". One that served on this node (wavetune tables history ", kernel,
        "): wavetune fleet rollback ", kernel, " --to DIGEST"));
  }
  if (digest.size() < kMinDigestPrefix) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", digest, "\" is too short for a digest: give at least ",
        kMinDigestPrefix, " digits"));
  }
  std::map<std::string, FleetHead> found;
  for (const FleetHead& head : serving.before) {
    if (absl::StartsWith(head.digest, digest)) found.emplace(head.digest, head);
  }
  bool halted = false;
  for (const TableRecord& record : history) {
    if (!absl::StartsWith(record.digest, digest) || !record.withdrawn.empty() ||
        record.digest == serving.digest ||
        FleetClass(record.key) != fleet_class)
      continue;
    const bool was_halted = record.digest == state.stored.halted_digest &&
                            state.stored.halted_epoch > 0;
    halted = halted || was_halted;
    if (was_halted || record.how == PromotionKind::kTrial) continue;
    found.emplace(record.digest, FleetHead{.fleet = options_.fleet,
                                           .key = record.key,
                                           .digest = record.digest,
                                           .carried_from = record.carried_from,
                                           .compiler = record.compiler,
                                           .fit_residual = record.fit_residual,
                                           .node = options_.node});
  }
  if (found.size() > 1) {
    std::vector<FleetHead> several;
    for (const auto& [one, head] : found) several.push_back(head);
    return absl::FailedPreconditionError(
        absl::StrCat("several tables begin with ", digest, ListOf(several)));
  }
  if (found.empty() && of_serving && !WithdrawalOf(state, serving.digest)) {
    return absl::AlreadyExistsError(
        absl::StrCat("table ", ShortDigest(serving.digest),
                     " is the fleet's, epoch ", serving.epoch));
  }
  if (found.empty() && of_serving) found.emplace(serving.digest, serving);
  if (found.empty() && halted) {
    return absl::FailedPreconditionError(
        absl::StrCat("table ", ShortDigest(state.stored.halted_digest),
                     " was never the fleet's: its rollout was halted (",
                     state.stored.halted_why, ")"));
  }
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no table ", digest, " of kernel ", kernel,
        " was the fleet's for this class, as far as this node knows",
        ListOf(serving.before)));
  }
  earlier.head = found.begin()->second;
  if (const auto wrong = WithdrawalOf(state, earlier.head.digest)) {
    return absl::FailedPreconditionError(
        absl::StrCat("table ", ShortDigest(earlier.head.digest),
                     " cannot serve again: ", TextOf(*wrong)));
  }
  if (!misused) earlier.head.before = BeforeThat(serving, earlier.head.digest);
  return earlier;
}

absl::StatusOr<TableRecord> FleetTables::RecordOf(const FleetHead& head) {
  std::string payload;
  if (const auto known = options_.tables->Get(head.digest); known.ok()) {
    payload = std::string(known->table->payload());
  } else {
    const auto blob = options_.registry->Get(BlobKey(head.key, head.digest),
                                             FleetRegistry::kMaxValueBytes);
    if (!blob.ok() && !absl::IsNotFound(blob.status())) return blob.status();
    if (blob.ok()) payload = blob->value;
  }
  if (Sha256Hex(payload) != head.digest) {
    return absl::NotFoundError(absl::StrCat(
        "neither this node nor the fleet's registry has the payload of table ",
        ShortDigest(head.digest),
        " any more: roll back on a node that has served it"));
  }
  ASSIGN_OR_RETURN(TableRecord record, RecordOf(head, head.node, payload));
  record.digest = head.digest;
  return record;
}

absl::Status FleetTables::Halt(const Order& order) {
  const std::string key = HeadKey(order.table.key);
  const HeadPlace place = PlaceOf(key);
  ASSIGN_OR_RETURN(const State state, StateForOrder(key));
  if (!state.trial.rollout || IsHalted(state)) {
    return absl::NotFoundError(absl::StrCat("no table of kernel ", place.kernel,
                                            " is on its way to the nodes"));
  }
  FleetRollout halted = *state.trial.rollout;
  halted.halted = absl::StrCat(order.by, " halted it on node ", options_.node,
                               order.why.empty() ? "" : ": ", order.why);
  ASSIGN_OR_RETURN(const std::string stage, StageOf(halted));
  const std::string what = absl::StrCat(
      "the rollout of table ", ShortDigest(halted.head.digest), " was halted");
  RETURN_IF_ERROR(
      options_.registry
          ->Commit({{.key = RolloutPlace(halted.head.key),
                     .value = stage,
                     .expected = state.trial.revision},
                    {.key = DriverPlace(halted.head.key)},
                    {.key = FreezeKey(place.fleet_class, place.kernel),
                     .value = EncodeFreeze(FreezeOf(order, what)),
                     .expected = 0}})
          .status());
  options_.log(
      true, absl::StrCat("kernel ", place.kernel, " of class ",
                         place.fleet_class, ": ", what, ", ", halted.halted));
  return absl::OkStatus();
}

absl::Status FleetTables::Freeze(const std::string& fleet_class,
                                 const std::string& kernel,
                                 const std::string& by,
                                 const std::string& why) {
  const std::string key = FreezeKey(fleet_class, kernel);
  const FleetFreeze freeze{.by = by,
                           .node = options_.node,
                           .why = why,
                           .at_us = options_.clock->NowUs()};
  const absl::Status frozen =
      options_.registry
          ->Commit({{.key = key, .value = EncodeFreeze(freeze), .expected = 0}})
          .status();
  if (absl::IsAborted(frozen)) {
    const auto there = options_.registry->Get(key);
    return absl::AlreadyExistsError(
        absl::StrCat("the fleet's table of kernel ", kernel, " is ",
                     there.ok() ? TextOf(DecodeFreeze(there->value)) : "frozen",
                     " already"));
  }
  RETURN_IF_ERROR(frozen);
  options_.log(false, absl::StrCat("kernel ", kernel, " of class ", fleet_class,
                                   " is ", TextOf(freeze)));
  return absl::OkStatus();
}

absl::Status FleetTables::Unfreeze(const std::string& fleet_class,
                                   const std::string& kernel) {
  const std::string key = FreezeKey(fleet_class, kernel);
  const auto there = options_.registry->Get(key);
  if (absl::IsNotFound(there.status())) {
    return absl::NotFoundError(absl::StrCat("the fleet's table of kernel ",
                                            kernel, " of class ", fleet_class,
                                            " is not frozen"));
  }
  RETURN_IF_ERROR(there.status());
  RETURN_IF_ERROR(
      options_.registry->Commit({{.key = key, .expected = there->revision}})
          .status());
  options_.log(false, absl::StrCat("kernel ", kernel, " of class ", fleet_class,
                                   " is not frozen any more"));
  return absl::OkStatus();
}

void FleetTables::TakeOrders(const std::string& fleet_class,
                             const FleetNews& news) {
  if (news.whole) classes_[fleet_class].orders_listed = true;
  size_t states = ForEachOf(fleet_class, [&](State& state) {
    if (!news.whole) return;
    state.frozen.reset();
    state.withdrawn.clear();
    state.lapsed_withdrawals.clear();
    state.withdrawn_left_out = false;
  });
  std::set<std::string> serving;
  std::set<std::string> obeyed;
  const auto now = options_.tables->snapshot();
  for (const ServingTable& table : now->tables)
    serving.insert(table.record.digest);
  for (const ServingTable& table : now->withdrawn) {
    if (absl::StartsWith(table.record.withdrawn, kOfFleet))
      obeyed.insert(table.record.digest);
  }
  int64_t refused = 0;
  std::string first_refused;
  for (const FleetNews::Entry& one : news.entries) {
    const auto place = OrderPlaceOf(fleet_class, one.entry.key);
    if (!place.ok()) continue;
    const std::string key =
        absl::StrCat(HeadsPrefix(fleet_class), place->kernel);
    std::optional<SignedWithdrawal> withdrawal;
    bool lapsed = false;
    if (!place->digest.empty() && !one.deleted) {
      absl::StatusOr<SignedWithdrawal> read =
          ReadWithdrawal(one.entry.key, one.entry.value);
      const absl::Status trusted =
          read.ok() ? Trusted(*read).status() : read.status();
      if (trusted.ok()) {
        withdrawal = *std::move(read);
      } else {
        // Not kept: who signs for nobody fills no places. With another list of
        // trusted keys all are heard again.
        lapsed = read.ok() && obeyed.contains(place->digest) && IsLapsed(*read);
        ++counts_.refused_signature;
        if (refused++ == 0) {
          first_refused = absl::StrCat("the fleet's withdrawal of table ",
                                       ShortDigest(place->digest),
                                       " is refused: ", trusted.message());
        }
      }
    }
    const bool serves =
        withdrawal.has_value() && serving.contains(place->digest);
    if (!heads_.contains(key)) {
      const bool says =
          place->digest.empty() ? !one.deleted : withdrawal.has_value();
      // Freezes, which nobody signs, are as many as there are places; what
      // serves here has one always.
      if (!says || (++states > kMostHeads && !serves)) continue;
    }
    State& state = heads_[key];
    state.retry_at = {};
    if (place->digest.empty()) {
      state.frozen = one.deleted ? std::nullopt
                                 : std::optional(DecodeFreeze(one.entry.value));
      continue;
    }
    state.withdrawn.erase(place->digest);
    state.lapsed_withdrawals.erase(place->digest);
    if (lapsed) state.lapsed_withdrawals.insert(place->digest);
    if (!withdrawal.has_value()) continue;
    if (state.withdrawn.size() >= kMostWithdrawals && !serves) {
      state.withdrawn_left_out = true;
      continue;
    }
    state.withdrawn[place->digest] = *std::move(withdrawal);
  }
  if (refused == 0) return;
  options_.log(
      true,
      absl::StrCat(
          first_refused,
          refused == 1 ? "" : absl::StrCat("; and ", refused - 1, " others")));
}

absl::StatusOr<FleetWithdrawal> FleetTables::Trusted(
    const SignedWithdrawal& read) const {
  FleetWithdrawal withdrawal = read.withdrawal;
  if (withdrawal.fleet != options_.fleet) {
    return absl::PermissionDeniedError(
        absl::StrCat("it is of fleet ", withdrawal.fleet));
  }
  ASSIGN_OR_RETURN(withdrawal.node,
                   options_.trust.Check(read.public_key, withdrawal.node,
                                        withdrawal.key.silicon_key));
  return withdrawal;
}

bool FleetTables::IsLapsed(const SignedWithdrawal& read) const {
  return read.withdrawal.fleet == options_.fleet &&
         options_.trust.IsRevoked(read.public_key) &&
         !options_.trust.IsMisused(read.public_key);
}

std::optional<FleetWithdrawal> FleetTables::WithdrawalOf(
    const State& state, const std::string& digest) const {
  const auto found = state.withdrawn.find(digest);
  if (found == state.withdrawn.end()) return std::nullopt;
  absl::StatusOr<FleetWithdrawal> withdrawal = Trusted(found->second);
  if (!withdrawal.ok()) return std::nullopt;
  return *std::move(withdrawal);
}

void FleetTables::ObeyWithdrawals() {
  const auto snapshot = options_.tables->snapshot();
  for (const ServingTable& serving : snapshot->tables) {
    const TableRecord& record = serving.record;
    std::optional<FleetWithdrawal> wrong;
    {
      const std::lock_guard lock(mutex_);
      const auto state = heads_.find(HeadKey(record.key));
      if (state == heads_.end()) continue;
      wrong = WithdrawalOf(state->second, record.digest);
    }
    if (!wrong) continue;
    // Where the store cannot take it, the catalog tries again.
    options_.tables
        ->Withdraw(record.key, record, absl::StrCat(kOfFleet, TextOf(*wrong)),
                   options_.clock->NowUs())
        .IgnoreError();
    Count(&Counts::withdrawn);
    options_.log(true, absl::StrCat("table ", ShortDigest(record.digest),
                                    " of kernel ", record.key.kernel,
                                    " serves no longer: ", TextOf(*wrong)));
  }
}

void FleetTables::TellWithdrawals() {
  if (options_.key == nullptr) return;
  const auto snapshot = options_.tables->snapshot();
  for (const ServingTable& wrong : snapshot->withdrawn) {
    const TableRecord& record = wrong.record;
    const bool obeyed = absl::StartsWith(record.withdrawn, kOfFleet);
    const std::string key = HeadKey(record.key);
    {
      const std::lock_guard lock(mutex_);
      const auto watched = classes_.find(PlaceOf(key).fleet_class);
      if (stopping_ || !outage_.empty() || watched == classes_.end() ||
          !watched->second.listed() ||
          std::chrono::steady_clock::now() < tell_withdrawals_at_) {
        continue;
      }
      const auto state = heads_.find(key);
      // What others found is theirs to tell, as long as their keys count.
      if (obeyed && (state == heads_.end() ||
                     !state->second.lapsed_withdrawals.contains(record.digest)))
        continue;
      if (state != heads_.end() && WithdrawalOf(state->second, record.digest)) {
        continue;
      }
    }
    const absl::Status told = TellWithdrawal(record);
    if (told.ok() || absl::IsAborted(told)) continue;
    options_.log(true,
                 absl::StrCat("table ", ShortDigest(record.digest),
                              " was found wrong here, and the fleet is not "
                              "told: ",
                              told.message()));
    const std::lock_guard lock(mutex_);
    tell_withdrawals_at_ = std::chrono::steady_clock::now() + kTellAgain;
  }
}

absl::Status FleetTables::TellWithdrawal(const TableRecord& record) {
  RETURN_IF_ERROR(options_.trust
                      .Check(options_.key->public_key(), options_.node,
                             record.key.silicon_key)
                      .status());
  const std::string key = WithdrawalKey(record.key, record.digest);
  const std::string why(absl::StripPrefix(record.withdrawn, kOfFleet));
  const std::string bytes = SignWithdrawal({.fleet = options_.fleet,
                                            .key = record.key,
                                            .digest = record.digest,
                                            .node = options_.node,
                                            .why = why,
                                            .at_us = options_.clock->NowUs()},
                                           *options_.key);
  // What is there and does not count, as of a revoked key, is written over.
  const auto there = options_.registry->Get(key);
  if (there.ok()) {
    const auto read = ReadWithdrawal(key, there->value);
    if (read.ok() && Trusted(*read).ok()) return absl::OkStatus();
  }
  if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
  return options_.registry
      ->Commit({{.key = key,
                 .value = bytes,
                 .expected = there.ok() ? there->revision : 0}})
      .status();
}

}  // namespace wavetune
