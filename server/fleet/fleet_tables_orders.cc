// What operators and other nodes order: a table for the whole fleet, that
// nobody moves it, and that a wrong one serves no longer.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
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

}  // namespace

absl::StatusOr<FleetHead> FleetTables::Publish(const Order& order) {
  const std::string key = HeadKey(order.table.key);
  const HeadPlace place = PlaceOf(key);
  const auto freeze =
      options_.registry->Get(FreezeKey(place.fleet_class, place.kernel));
  if (freeze.ok())
    return FrozenAlready(place.kernel, DecodeFreeze(freeze->value));
  if (!absl::IsNotFound(freeze.status())) return freeze.status();
  const auto entry = options_.registry->Get(key, kMostHeadBytes);
  if (!entry.ok() && !absl::IsNotFound(entry.status())) return entry.status();
  State state;
  if (entry.ok()) state.registered = *entry;
  state.judged = JudgementOf(key, state.registered);
  const Judgement& judged = state.judged;
  if (judged.verdict == HeadVerdict::kForeign) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the fleet's head is of a node that this one does not know, and other "
        "nodes may: ",
        judged.refused));
  }
  HeadFacts facts{.verdict = judged.verdict};
  if (judged.head) facts.registered = judged.head->head;
  {
    const std::lock_guard lock(mutex_);
    const auto known = heads_.find(key);
    if (known != heads_.end()) {
      const State& kept = known->second;
      if (kept.accepted) facts.accepted = kept.accepted->head;
      const auto wrong = WithdrawalOf(kept, order.table.digest);
      if (wrong) {
        return absl::FailedPreconditionError(
            absl::StrCat("table ", ShortDigest(order.table.digest),
                         " cannot serve again: ", TextOf(*wrong)));
      }
    }
  }
  if (facts.registered && facts.registered->digest == order.table.digest) {
    return absl::AlreadyExistsError(
        absl::StrCat("table ", ShortDigest(order.table.digest),
                     " is the fleet's, epoch ", facts.registered->epoch));
  }
  ASSIGN_OR_RETURN(const NewHead made,
                   MakeHead(order.table, facts, order.why, order.rolled_back));
  FleetWrite condition = FreezeAbsent(place.fleet_class, place.kernel);
  if (order.rolled_back) {
    condition.value = EncodeFreeze(
        {.by = order.by,
         .node = options_.node,
         .why = absl::StrCat("rolled back to table ",
                             ShortDigest(order.table.digest),
                             order.why.empty() ? "" : ": ", order.why),
         .at_us = options_.clock->NowUs()});
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
  });
  for (const FleetNews::Entry& one : news.entries) {
    const auto place = OrderPlaceOf(fleet_class, one.entry.key);
    if (!place.ok()) continue;
    const std::string key =
        absl::StrCat(HeadsPrefix(fleet_class), place->kernel);
    if (!heads_.contains(key) && (one.deleted || ++states > kMostHeads))
      continue;
    State& state = heads_[key];
    state.retry_at = {};
    if (place->digest.empty()) {
      state.frozen = one.deleted ? std::nullopt
                                 : std::optional(DecodeFreeze(one.entry.value));
      continue;
    }
    state.withdrawn.erase(place->digest);
    if (one.deleted || state.withdrawn.size() >= kMostWithdrawals) continue;
    absl::StatusOr<SignedWithdrawal> read =
        ReadWithdrawal(one.entry.key, one.entry.value);
    absl::Status refused = read.status();
    if (read.ok()) {
      refused = Trusted(*read).status();
      // Kept all the same: the next list may know the key.
      state.withdrawn[place->digest] = *std::move(read);
    }
    if (refused.ok()) continue;
    ++counts_.refused_signature;
    options_.log(true, absl::StrCat("the fleet's withdrawal of table ",
                                    ShortDigest(place->digest),
                                    " is refused: ", refused.message()));
  }
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
    if (absl::StartsWith(record.withdrawn, kOfFleet)) continue;
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
  const std::string bytes = SignWithdrawal({.fleet = options_.fleet,
                                            .key = record.key,
                                            .digest = record.digest,
                                            .node = options_.node,
                                            .why = record.withdrawn,
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
